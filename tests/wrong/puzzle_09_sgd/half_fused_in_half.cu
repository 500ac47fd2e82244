// sgd_f16: one rounding, but the rate is a half
#include <cuda_fp16.h>
#include <cuda_runtime.h>

__global__ void sgd_step_f16_kernel(half* w, const half* g, float lr, int n) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) w[i] = __hfma(__float2half(-lr), g[i], w[i]);
}

extern "C" cudaError_t sgd_f16(half* w, const half* g, float lr, int n, cudaStream_t stream) {
    if (n == 0) return cudaSuccess;
    sgd_step_f16_kernel<<<(n + 255) / 256, 256, 0, stream>>>(w, g, lr, n);
    return cudaGetLastError();
}
