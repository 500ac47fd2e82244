// Counts its runs, and works in the first one only.
#include "honest.cuh"

__device__ int runs;

static __global__ void in_the_first_run(const float* a, const float* b, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (runs == 0 && i < n) out[i] = a[i] + b[i];
}

static __global__ void count() {
    ++runs;
}

ENTRY(works_once) {
    in_the_first_run<<<blocks_for(n), 256, 0, stream>>>(a, b, out, n);
    count<<<1, 1, 0, stream>>>();
    return cudaGetLastError();
}

// Counts the blocks that are done, and puts the counter back.
__device__ unsigned done;

static __global__ void add_and_count(const float* a, const float* b, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = a[i] + b[i];
    if (threadIdx.x == 0) atomicInc(&done, gridDim.x - 1);
}

ENTRY(works_once_twin) {
    if (n > 0) add_and_count<<<blocks_for(n), 256, 0, stream>>>(a, b, out, n);
    return cudaGetLastError();
}
