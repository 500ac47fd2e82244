// vector_add, and one thread, far from the ends, writes 64 GiB past its element: to where nothing is mapped.
#include <cuda_runtime.h>

#ifndef ASTRAY
#define ASTRAY 100000
#endif

__global__ void vector_add_kernel(const float* a, const float* b, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    out[i] = a[i] + b[i];
    if (i == ASTRAY) out[i + (1LL << 34)] = 0.0f;
}

extern "C" cudaError_t vector_add(const float* a, const float* b, float* out, int n, cudaStream_t stream) {
    if (n == 0) return cudaSuccess;
    vector_add_kernel<<<(n + 255) / 256, 256, 0, stream>>>(a, b, out, n);
    return cudaGetLastError();
}
