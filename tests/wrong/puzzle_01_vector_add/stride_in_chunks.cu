// vector_add_stride: right values; each thread takes a stretch of its own
#include <cuda_runtime.h>

#include <algorithm>

__global__ void vector_add_stride_kernel(const float* a, const float* b, float* out, int n) {
    const unsigned threads = blockDim.x * gridDim.x;
    const unsigned each = (n + threads - 1) / threads;
    const unsigned first = (blockIdx.x * blockDim.x + threadIdx.x) * each;
    for (unsigned i = first; i < first + each && i < n; ++i) out[i] = a[i] + b[i];
}

extern "C" cudaError_t vector_add_stride(const float* a, const float* b, float* out, int n, cudaStream_t stream) {
    if (n == 0) return cudaSuccess;
    vector_add_stride_kernel<<<std::min((n + 255) / 256, 1056), 256, 0, stream>>>(a, b, out, n);
    return cudaGetLastError();
}
