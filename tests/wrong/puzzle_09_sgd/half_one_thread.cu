// sgd_f16: one thread of the grid goes over all weights
#include <cuda_fp16.h>
#include <cuda_runtime.h>

__global__ void sgd_step_f16_kernel(half* w, const half* g, float lr, int n) {
    if (blockIdx.x + threadIdx.x == 0)
        for (int i = 0; i < n; ++i) w[i] = __float2half(__half2float(w[i]) - lr * __half2float(g[i]));
}

extern "C" cudaError_t sgd_f16(half* w, const half* g, float lr, int n, cudaStream_t stream) {
    if (n == 0) return cudaSuccess;
    sgd_step_f16_kernel<<<(n + 255) / 256, 256, 0, stream>>>(w, g, lr, n);
    return cudaGetLastError();
}
