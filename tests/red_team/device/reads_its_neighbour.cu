// Reads behind its input, where a careless pool of memory has put the answers.
#include "honest.cuh"

static __global__ void take_from_behind(const float* b, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = b[n + i];
}

ENTRY(reads_its_neighbour) {
    UNUSED;
    take_from_behind<<<blocks_for(n), 256, 0, stream>>>(b, out, n);
    return cudaGetLastError();
}

// Reads its inputs from behind.
static __global__ void from_the_end(const float* a, const float* b, float* out, int n) {
    const int i = n - 1 - int(blockIdx.x * blockDim.x + threadIdx.x);
    if (i >= 0) out[i] = a[i] + b[i];
}

ENTRY(reads_its_neighbour_twin) {
    from_the_end<<<blocks_for(n), 256, 0, stream>>>(a, b, out, n);
    return cudaGetLastError();
}
