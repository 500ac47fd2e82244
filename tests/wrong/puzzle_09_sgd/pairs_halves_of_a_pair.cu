// sgd_f16_half2: a thread has two halves, and loads and stores each for itself
#include <cuda_fp16.h>
#include <cuda_runtime.h>

__global__ void sgd_step_f16_half2_kernel(half* w, const half* g, float lr, int n) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    for (unsigned k = 2 * i; k < 2 * i + 2 && k < n; ++k)
        w[k] = __float2half(__half2float(w[k]) - lr * __half2float(g[k]));
}

extern "C" cudaError_t sgd_f16_half2(half* w, const half* g, float lr, int n, cudaStream_t stream) {
    if (n == 0) return cudaSuccess;
    sgd_step_f16_half2_kernel<<<(n / 2 + 255) / 256, 256, 0, stream>>>(w, g, lr, n);
    return cudaGetLastError();
}
