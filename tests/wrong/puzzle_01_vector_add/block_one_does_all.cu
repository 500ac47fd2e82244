// vector_add_block: one thread does all, the others nothing
#include <cuda_runtime.h>

__global__ void vector_add_block_kernel(const float* a, const float* b, float* out, int n) {
    if (threadIdx.x > 0) return;
    for (int i = 0; i < n; ++i) out[i] = a[i] + b[i];
}

extern "C" cudaError_t vector_add_block(const float* a, const float* b, float* out, int n, cudaStream_t stream) {
    vector_add_block_kernel<<<1, 1024, 0, stream>>>(a, b, out, n);
    return cudaGetLastError();
}
