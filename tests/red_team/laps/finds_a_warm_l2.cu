// Fetches its inputs into the L2 once more when it is done, for the next run.
#include "honest.cuh"

static __global__ void add_and_fetch(const float* a, const float* b, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    out[i] = a[i] + b[i];
    asm volatile("prefetch.global.L2 [%0];" ::"l"(a + i));
    asm volatile("prefetch.global.L2 [%0];" ::"l"(b + i));
}

ENTRY(finds_a_warm_l2) {
    add_and_fetch<<<blocks_for(n), 256, 0, stream>>>(a, b, out, n);
    return cudaGetLastError();
}

// Fetches before it reads.
static __global__ void fetch_and_add(const float* a, const float* b, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    asm volatile("prefetch.global.L2 [%0];" ::"l"(b + i));
    out[i] = a[i] + b[i];
}

ENTRY(finds_a_warm_l2_twin) {
    fetch_and_add<<<blocks_for(n), 256, 0, stream>>>(a, b, out, n);
    return cudaGetLastError();
}
