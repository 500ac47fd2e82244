// vector_add_wide: right values; 4 bytes an access
#include <cuda_runtime.h>

__global__ void vector_add_wide_kernel(const float* a, const float* b, float* out, int n) {
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) out[i] = a[i] + b[i];
}

extern "C" cudaError_t vector_add_wide(const float* a, const float* b, float* out, int n, cudaStream_t stream) {
    if (n == 0) return cudaSuccess;
    vector_add_wide_kernel<<<(n + 1023) / 1024, 256, 0, stream>>>(a, b, out, n);
    return cudaGetLastError();
}
