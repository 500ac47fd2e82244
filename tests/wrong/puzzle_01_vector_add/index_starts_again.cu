// vector_add: the place is counted in bits, in 32 of them; from element 2^27 on they start again from 0
#include <cuda_runtime.h>

__global__ void vector_add_kernel(const float* a, const float* b, float* out, int n) {
    const unsigned bit = 32u * (blockIdx.x * blockDim.x + threadIdx.x);
    const unsigned i = bit / 32u;
    if (i < n) out[i] = a[i] + b[i];
}

extern "C" cudaError_t vector_add(const float* a, const float* b, float* out, int n, cudaStream_t stream) {
    if (n == 0) return cudaSuccess;
    constexpr int threads = 256;
    vector_add_kernel<<<(n + threads - 1) / threads, threads, 0, stream>>>(a, b, out, n);
    return cudaGetLastError();
}
