// vector_add: a sum whose first value was forgotten
#include <cuda_runtime.h>

__global__ void vector_add_kernel(const float* a, const float* b, float* out, int n) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum;
    if (i < n) sum += a[i];
    if (i < n) sum += b[i];
    if (i < n) out[i] = sum;
}

extern "C" cudaError_t vector_add(const float* a, const float* b, float* out, int n, cudaStream_t stream) {
    if (n == 0) return cudaSuccess;
    vector_add_kernel<<<(n + 255) / 256, 256, 0, stream>>>(a, b, out, n);
    return cudaGetLastError();
}
