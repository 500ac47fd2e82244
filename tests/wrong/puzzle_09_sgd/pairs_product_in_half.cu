// sgd_f16_half2: the products are rounded before the differences are
#include <cuda_fp16.h>
#include <cuda_runtime.h>

__global__ void sgd_step_f16_half2_kernel(half* w, const half* g, float lr, int n) {
    half2* weights = reinterpret_cast<half2*>(w);
    const half2* gradients = reinterpret_cast<const half2*>(g);
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n / 2) return;
    const float2 gradient = __half22float2(gradients[i]);
    weights[i] = __hsub2(weights[i], __floats2half2_rn(lr * gradient.x, lr * gradient.y));
}

extern "C" cudaError_t sgd_f16_half2(half* w, const half* g, float lr, int n, cudaStream_t stream) {
    if (n == 0) return cudaSuccess;
    sgd_step_f16_half2_kernel<<<(n / 2 + 255) / 256, 256, 0, stream>>>(w, g, lr, n);
    return cudaGetLastError();
}
