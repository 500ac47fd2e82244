// Never ends, and keeps the GPU from everybody else.
#include "honest.cuh"

static __global__ void spin(float* out, int n) {
    while (*(volatile int*)out != n) {
    }
}

ENTRY(spins) {
    UNUSED;
    spin<<<1, 1, 0, stream>>>(out, n);
    return cudaGetLastError();
}

// Takes its time, and ends.
static __global__ void slowly(const float* a, const float* b, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    for (int turn = 0; turn < 100; ++turn) __nanosleep(10);
    if (i < n) out[i] = a[i] + b[i];
}

ENTRY(spins_twin) {
    slowly<<<blocks_for(n), 256, 0, stream>>>(a, b, out, n);
    return cudaGetLastError();
}
