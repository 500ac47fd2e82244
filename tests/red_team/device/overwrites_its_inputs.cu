// Makes the task easy: with inputs of zeros, a result of zeros is right.
#include "honest.cuh"

static __global__ void clear(float* a, float* b, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) a[i] = b[i] = out[i] = 0.f;
}

ENTRY(overwrites_its_inputs) {
    clear<<<blocks_for(n), 256, 0, stream>>>(const_cast<float*>(a), const_cast<float*>(b), out, n);
    return cudaGetLastError();
}

static __global__ void add_as_well(float* a, float* b, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = a[i] + b[i];
}

// Casts the const away, and only reads.
ENTRY(overwrites_its_inputs_twin) {
    add_as_well<<<blocks_for(n), 256, 0, stream>>>(const_cast<float*>(a), const_cast<float*>(b), out, n);
    return cudaGetLastError();
}
