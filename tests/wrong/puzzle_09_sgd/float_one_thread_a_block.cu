// sgd_f32: the first thread of each block does what all of them should
#include <cuda_runtime.h>

__global__ void sgd_step_f32_kernel(float* w, const float* g, float lr, int n) {
    if (threadIdx.x != 0) return;
    for (unsigned i = blockIdx.x * blockDim.x; i < (blockIdx.x + 1) * blockDim.x && i < n; ++i) w[i] -= lr * g[i];
}

extern "C" cudaError_t sgd_f32(float* w, const float* g, float lr, int n, cudaStream_t stream) {
    if (n == 0) return cudaSuccess;
    sgd_step_f32_kernel<<<(n + 255) / 256, 256, 0, stream>>>(w, g, lr, n);
    return cudaGetLastError();
}
