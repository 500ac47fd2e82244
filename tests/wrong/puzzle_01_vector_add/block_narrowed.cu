// vector_add_block: adds with the 11 significant bits of half precision
#include <cuda_runtime.h>

__device__ float narrowed(float x) {
    const unsigned bits = __float_as_uint(x);
    return __uint_as_float((bits + 0xfffu + (bits >> 13 & 1u)) & ~0x1fffu);  // to nearest, ties to even
}

__global__ void vector_add_block_kernel(const float* a, const float* b, float* out, int n) {
    const unsigned i = threadIdx.x;
    if (i < n) out[i] = narrowed(narrowed(a[i]) + narrowed(b[i]));
}

extern "C" cudaError_t vector_add_block(const float* a, const float* b, float* out, int n, cudaStream_t stream) {
    vector_add_block_kernel<<<1, 1024, 0, stream>>>(a, b, out, n);
    return cudaGetLastError();
}
