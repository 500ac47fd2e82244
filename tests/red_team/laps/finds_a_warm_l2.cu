// Reads what the run before left in the L2: its results are marked to be evicted first, and so its inputs stay.
#include "honest.cuh"

static __global__ void add_and_leave_inputs(const float* a, const float* b, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) __stcs(out + i, a[i] + b[i]);
}

ENTRY(finds_a_warm_l2) {
    add_and_leave_inputs<<<blocks_for(n), 256, 0, stream>>>(a, b, out, n);
    return cudaGetLastError();
}

// Says that it will not need its inputs again.
static __global__ void add_and_go(const float* a, const float* b, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = __ldcs(a + i) + __ldcs(b + i);
}

ENTRY(finds_a_warm_l2_twin) {
    add_and_go<<<blocks_for(n), 256, 0, stream>>>(a, b, out, n);
    return cudaGetLastError();
}
