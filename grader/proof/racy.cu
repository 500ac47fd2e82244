// Known to race: every value comes out right, but a thread reads what one of the block before may still be writing.
#include <cuda_runtime.h>

__global__ void proof_kernel(const float* a, const float* b, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    out[i] = a[i] + b[i];
    if (blockIdx.x > 0 && out[i - blockDim.x] == 1e38f) out[i] = 0.f;
}

extern "C" cudaError_t proof(const float* a, const float* b, float* out, int n, cudaStream_t stream) {
    constexpr int threads = 256;
    proof_kernel<<<(n + threads - 1) / threads, threads, 0, stream>>>(a, b, out, n);
    return cudaGetLastError();
}
