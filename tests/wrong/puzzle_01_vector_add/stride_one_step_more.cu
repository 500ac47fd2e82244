// vector_add_stride: steps by one thread too many
#include <cuda_runtime.h>

#include <algorithm>

__global__ void vector_add_stride_kernel(const float* a, const float* b, float* out, int n) {
    const unsigned stride = blockDim.x * gridDim.x + 1;
    const unsigned first = blockIdx.x * blockDim.x + threadIdx.x;
    for (unsigned i = first; i < n; i += stride) out[i] = a[i] + b[i];
}

extern "C" cudaError_t vector_add_stride(const float* a, const float* b, float* out, int n, cudaStream_t stream) {
    if (n == 0) return cudaSuccess;
    vector_add_stride_kernel<<<std::min((n + 255) / 256, 1056), 256, 0, stream>>>(a, b, out, n);
    return cudaGetLastError();
}
