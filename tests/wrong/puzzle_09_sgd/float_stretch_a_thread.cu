// sgd_f32: a thread takes 32 weights that lie side by side
#include <cuda_runtime.h>

__global__ void sgd_step_f32_kernel(float* w, const float* g, float lr, int n) {
    const unsigned first = 32 * (blockIdx.x * blockDim.x + threadIdx.x);
    for (unsigned i = first; i < first + 32 && i < n; ++i) w[i] -= lr * g[i];
}

extern "C" cudaError_t sgd_f32(float* w, const float* g, float lr, int n, cudaStream_t stream) {
    if (n == 0) return cudaSuccess;
    sgd_step_f32_kernel<<<(n + 8191) / 8192, 256, 0, stream>>>(w, g, lr, n);
    return cudaGetLastError();
}
