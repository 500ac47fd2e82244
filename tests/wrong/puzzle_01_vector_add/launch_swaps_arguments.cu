// vector_add_launch: b and out have changed places
#include <cuda_runtime.h>

__global__ void vector_add_launch_kernel(const float* a, const float* b, float* out, int n) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = a[i] + b[i];
}

extern "C" cudaError_t vector_add_launch(const float* a, const float* b, float* out, int n, cudaStream_t stream) {
    if (n == 0) return cudaSuccess;
    vector_add_launch_kernel<<<(n + 255) / 256, 256, 0, stream>>>(a, out, const_cast<float*>(b), n);
    return cudaGetLastError();
}
