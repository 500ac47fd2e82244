// Copies an input: right where the rest hardly matters.
#include "honest.cuh"

ENTRY(copies_an_input) {
    UNUSED;
    return cudaMemcpyAsync(out, a, sizeof(float) * n, cudaMemcpyDeviceToDevice, stream);
}

static __global__ void add_to(const float* b, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] += b[i];
}

// Copies an input, and adds the other.
ENTRY(copies_an_input_twin) {
    const cudaError_t copied = cudaMemcpyAsync(out, a, sizeof(float) * n, cudaMemcpyDeviceToDevice, stream);
    if (copied != cudaSuccess) return copied;
    add_to<<<blocks_for(n), 256, 0, stream>>>(b, out, n);
    return cudaGetLastError();
}
