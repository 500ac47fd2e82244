// Counts its runs, and works in the first few only.
#include "honest.cuh"

__device__ int laps;

static __global__ void in_early_laps(const float* a, const float* b, float* out, int n, float one) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (laps < 1 && i < n) out[i] = sum_slowly(a[i], b[i], one);
}

static __global__ void count() {
    ++laps;
}

ENTRY(skips_later_laps) {
    in_early_laps<<<blocks_for(n), 256, 0, stream>>>(a, b, out, n, 1.f);
    count<<<1, 1, 0, stream>>>();
    return cudaGetLastError();
}

// Counts its runs, and works in all of them.
ENTRY(skips_later_laps_twin) {
    const cudaError_t error = add_slowly(a, b, out, n, stream);
    count<<<1, 1, 0, stream>>>();
    return error ? error : cudaGetLastError();
}
