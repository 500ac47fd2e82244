// vector_add_stride: the loop counts in float; past 2^24 several threads have the same place
#include <cuda_runtime.h>

__global__ void vector_add_stride_kernel(const float* a, const float* b, float* out, int n) {
    const float stride = blockDim.x * gridDim.x;
    for (float place = blockIdx.x * blockDim.x + threadIdx.x; place < n; place += stride) {
        const int i = place;
        if (i < n) out[i] = a[i] + b[i];
    }
}

extern "C" cudaError_t vector_add_stride(const float* a, const float* b, float* out, int n, cudaStream_t stream) {
    if (n == 0) return cudaSuccess;
    vector_add_stride_kernel<<<1024, 256, 0, stream>>>(a, b, out, n);
    return cudaGetLastError();
}
