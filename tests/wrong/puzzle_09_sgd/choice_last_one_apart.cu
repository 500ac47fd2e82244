// sgd_step: an odd number goes in pairs but for the last, which has a launch of its own
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstdint>

__global__ void sgd_step_f32_kernel(float* w, const float* g, float lr, int n) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) w[i] -= lr * g[i];
}

__global__ void sgd_step_f16_kernel(half* w, const half* g, float lr, int n) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) w[i] = __float2half(__half2float(w[i]) - lr * __half2float(g[i]));
}

__global__ void sgd_step_f16_half2_kernel(half* w, const half* g, float lr, int n) {
    half2* weights = reinterpret_cast<half2*>(w);
    const half2* gradients = reinterpret_cast<const half2*>(g);
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n / 2) return;
    const float2 weight = __half22float2(weights[i]), gradient = __half22float2(gradients[i]);
    weights[i] = __floats2half2_rn(weight.x - lr * gradient.x, weight.y - lr * gradient.y);
}

extern "C" cudaError_t sgd_step(void* w, const void* g, float lr, int n, int dtype, cudaStream_t stream) {
    if (n == 0) return cudaSuccess;
    const auto w_at = reinterpret_cast<std::uintptr_t>(w), g_at = reinterpret_cast<std::uintptr_t>(g);
    if (dtype == 0) {
        sgd_step_f32_kernel<<<(n + 255) / 256, 256, 0, stream>>>(static_cast<float*>(w), static_cast<const float*>(g),
                                                                 lr, n);
        return cudaGetLastError();
    }
    half* const weights = static_cast<half*>(w);
    const half* const gradients = static_cast<const half*>(g);
    if (w_at % 4 != 0 || g_at % 4 != 0) {
        sgd_step_f16_kernel<<<(n + 255) / 256, 256, 0, stream>>>(weights, gradients, lr, n);
        return cudaGetLastError();
    }
    const int even = n / 2 * 2;
    if (even > 0) sgd_step_f16_half2_kernel<<<(even / 2 + 255) / 256, 256, 0, stream>>>(weights, gradients, lr, even);
    if (even < n) sgd_step_f16_kernel<<<1, 1, 0, stream>>>(weights + even, gradients + even, lr, 1);
    return cudaGetLastError();
}
