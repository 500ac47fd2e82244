// vector_add_block: element 0 has no thread
#include <cuda_runtime.h>

__global__ void vector_add_block_kernel(const float* a, const float* b, float* out, int n) {
    const unsigned i = threadIdx.x + 1;
    if (i < n) out[i] = a[i] + b[i];
}

extern "C" cudaError_t vector_add_block(const float* a, const float* b, float* out, int n, cudaStream_t stream) {
    vector_add_block_kernel<<<1, 1024, 0, stream>>>(a, b, out, n);
    return cudaGetLastError();
}
