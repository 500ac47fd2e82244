// sgd_f16: the halves are taken for floats
#include <cuda_fp16.h>
#include <cuda_runtime.h>

__global__ void sgd_step_f16_kernel(half* w, const half* g, float lr, int n) {
    float* weights = reinterpret_cast<float*>(w);
    const float* gradients = reinterpret_cast<const float*>(g);
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) weights[i] -= lr * gradients[i];
}

extern "C" cudaError_t sgd_f16(half* w, const half* g, float lr, int n, cudaStream_t stream) {
    if (n == 0) return cudaSuccess;
    sgd_step_f16_kernel<<<(n + 255) / 256, 256, 0, stream>>>(w, g, lr, n);
    return cudaGetLastError();
}
