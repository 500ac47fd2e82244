// What attacks and twins share: the signature of their entries, and the honest way to out = a + b.
#pragma once

#include <cuda_runtime.h>

#define ENTRY(name) extern "C" cudaError_t name(const float* a, const float* b, float* out, int n, cudaStream_t stream)
#define UNUSED (void)a, (void)b, (void)out, (void)n, (void)stream

static __global__ void add_kernel(const float* a, const float* b, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = a[i] + b[i];
}

static inline int blocks_for(int n) {
    return (n + 255) / 256;
}

static inline cudaError_t add(const float* a, const float* b, float* out, int n, cudaStream_t stream) {
    if (n > 0) add_kernel<<<blocks_for(n), 256, 0, stream>>>(a, b, out, n);
    return cudaGetLastError();
}
