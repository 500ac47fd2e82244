// vector_add_block: the entry is a C++ function, under a name of its own
#include <cuda_runtime.h>

__global__ void vector_add_block_kernel(const float* a, const float* b, float* out, int n) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = a[i] + b[i];
}

cudaError_t vector_add_block(const float* a, const float* b, float* out, int n, cudaStream_t stream) {
    vector_add_block_kernel<<<1, 1024, 0, stream>>>(a, b, out, n);
    return cudaGetLastError();
}
