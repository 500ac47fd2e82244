// sgd_f16: w = w - lr · g, for half, computed in float
//
// Why    Weights in half are half the bytes. But a half has 11 significant bits and nothing between 0 and 6 · 10⁻⁸: a
//        learning rate of 10⁻⁸ is 0 in it. So: half in memory, float in registers, rounded once.
// Given  w and g, n halves each, in device memory; lr, a float, which may be far too small for a half; the launcher.
// Write  the kernel's body, about 2 lines: as in 9.1, with both values turned into floats first, and the result turned
//        into a half at the very end.
// Goal   Loads and stores are coalesced, none is done twice.
#include <cuda_fp16.h>
#include <cuda_runtime.h>

__global__ void sgd_step_f16_kernel(half* w, const half* __restrict__ g, float lr, int n) {
    // --- your code ---
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        w[i] = __float2half(__half2float(w[i]) - lr * __half2float(g[i]));  // lr · g may pass 65,504 and come back
    // --- end ---
}

extern "C" cudaError_t sgd_f16(half* w, const half* g, float lr, int n, cudaStream_t stream) {
    if (n == 0) return cudaSuccess;
    constexpr unsigned threads = 256;
    sgd_step_f16_kernel<<<(n + threads - 1) / threads, threads, 0, stream>>>(w, g, lr, n);
    return cudaGetLastError();
}
