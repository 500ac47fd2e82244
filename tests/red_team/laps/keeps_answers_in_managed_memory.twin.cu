// Keeps a table in constant memory.
#include "honest.cuh"

__constant__ float ones[2] = {1.f, 1.f};

static __global__ void with_table(const float* a, const float* b, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = sum_slowly(a[i], b[i], ones[i % 2]);
}

ENTRY(keeps_answers_in_managed_memory_twin) {
    with_table<<<blocks_for(n), 256, 0, stream>>>(a, b, out, n);
    return cudaGetLastError();
}
