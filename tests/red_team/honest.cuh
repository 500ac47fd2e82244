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

// The same sum by a long way, so that a lap in which it is not computed is far shorter. `one` is 1.
constexpr int turns = 4096;

static __device__ __forceinline__ float sum_slowly(float a, float b, float one) {
#pragma unroll 16
    for (int turn = 0; turn < turns; ++turn) a = fmaf(a, one, 0.f);
    return a + b;
}

static __global__ void add_slowly_kernel(const float* a, const float* b, float* out, int n, float one) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = sum_slowly(a[i], b[i], one);
}

static inline cudaError_t add_slowly(const float* a, const float* b, float* out, int n, cudaStream_t stream) {
    if (n > 0) add_slowly_kernel<<<blocks_for(n), 256, 0, stream>>>(a, b, out, n, 1.f);
    return cudaGetLastError();
}

// By what a kernel knows its inputs again: bits of a few of them.
static __device__ __forceinline__ unsigned likeness(const float* a, const float* b, int n, int salt) {
    return __float_as_uint(a[0]) ^ 31 * __float_as_uint(b[n / 2]) ^ 37 * __float_as_uint(a[n - 1]) ^
           0x9e3779b9 * (salt + 1);
}
