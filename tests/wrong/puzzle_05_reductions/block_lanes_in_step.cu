// block_sum: takes the lanes of the last warp to move in step
#include <cuda_runtime.h>

__global__ void block_sum_kernel(const float* x, float* out, int n) {
    __shared__ float partial[1024];
    const unsigned t = threadIdx.x;
    partial[t] = t < n ? x[t] : 0.0f;
    __syncthreads();
    for (unsigned half = 512; half >= 64; half /= 2) {
        if (t < half) partial[t] += partial[t + half];
        __syncthreads();
    }
    if (t < 32)
        for (unsigned half = 32; half > 0; half /= 2) partial[t] += partial[t + half];
    if (t == 0) *out = partial[0];
}

extern "C" cudaError_t block_sum(const float* x, float* out, int n, cudaStream_t stream) {
    block_sum_kernel<<<1, 1024, 0, stream>>>(x, out, n);
    return cudaGetLastError();
}
