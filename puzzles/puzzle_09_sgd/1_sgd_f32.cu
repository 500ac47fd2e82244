// sgd_f32: w = w - lr · g, in place
//
// Why    Training is this line, over and over: each weight goes a small step against its gradient. 12 bytes are moved
//        for two operations, so memory decides how long it takes.
// Given  w, the weights, and g, their gradients, n floats each, in device memory; lr, the learning rate, a float; a
//        launcher that starts enough blocks of 256 threads.
// Write  the kernel's body, about 2 lines: which weight is mine, and, if there is one, its step. The result replaces
//        what was there.
// Goal   Loads and stores are coalesced, none is done twice.
#include <cuda_runtime.h>

__global__ void sgd_step_f32_kernel(float* w, const float* __restrict__ g, float lr, int n) {
    // --- your code ---
    // --- end ---
}

extern "C" cudaError_t sgd_f32(float* w, const float* g, float lr, int n, cudaStream_t stream) {
    if (n == 0) return cudaSuccess;
    constexpr unsigned threads = 256;
    sgd_step_f32_kernel<<<(n + threads - 1) / threads, threads, 0, stream>>>(w, g, lr, n);
    return cudaGetLastError();
}
