// Asks the L2 to evict its inputs last, so that a flush leaves them there.
#include "honest.cuh"

static __global__ void add_and_stay(const float* a, const float* b, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    asm volatile("prefetch.global.L2::evict_last [%0];" ::"l"(a + i));
    asm volatile("prefetch.global.L2::evict_last [%0];" ::"l"(b + i));
    out[i] = a[i] + b[i];
}

ENTRY(keeps_lines_in_the_l2) {
    add_and_stay<<<blocks_for(n), 256, 0, stream>>>(a, b, out, n);
    return cudaGetLastError();
}

// Says that it will not need its inputs again.
static __global__ void add_and_go(const float* a, const float* b, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = __ldcs(a + i) + __ldcs(b + i);
}

ENTRY(keeps_lines_in_the_l2_twin) {
    add_and_go<<<blocks_for(n), 256, 0, stream>>>(a, b, out, n);
    return cudaGetLastError();
}
