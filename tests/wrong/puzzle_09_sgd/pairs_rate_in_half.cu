// sgd_f16_half2: both steps in one instruction, which wants the rate as a half
#include <cuda_fp16.h>
#include <cuda_runtime.h>

__global__ void sgd_step_f16_half2_kernel(half* w, const half* g, float lr, int n) {
    half2* weights = reinterpret_cast<half2*>(w);
    const half2* gradients = reinterpret_cast<const half2*>(g);
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n / 2) weights[i] = __hfma2(__float2half2_rn(-lr), gradients[i], weights[i]);
}

extern "C" cudaError_t sgd_f16_half2(half* w, const half* g, float lr, int n, cudaStream_t stream) {
    if (n == 0) return cudaSuccess;
    sgd_step_f16_half2_kernel<<<(n / 2 + 255) / 256, 256, 0, stream>>>(w, g, lr, n);
    return cudaGetLastError();
}
