// block_sum: right values; every element is loaded by one and the same thread
#include <cuda_runtime.h>

__global__ void block_sum_kernel(const float* x, float* out, int n) {
    const unsigned t = threadIdx.x;
    if (t > 0) return;
    float sum = 0.0f;
    for (unsigned i = 0; i < n; ++i) sum += x[i];
    *out = sum;
}

extern "C" cudaError_t block_sum(const float* x, float* out, int n, cudaStream_t stream) {
    block_sum_kernel<<<1, 1024, 0, stream>>>(x, out, n);
    return cudaGetLastError();
}
