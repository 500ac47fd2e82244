// vector_add_block: adds in half precision
#include <cuda_fp16.h>
#include <cuda_runtime.h>

__global__ void vector_add_block_kernel(const float* a, const float* b, float* out, int n) {
    const unsigned i = threadIdx.x;
    if (i < n) out[i] = __half2float(__hadd(__float2half(a[i]), __float2half(b[i])));
}

extern "C" cudaError_t vector_add_block(const float* a, const float* b, float* out, int n, cudaStream_t stream) {
    vector_add_block_kernel<<<1, 1024, 0, stream>>>(a, b, out, n);
    return cudaGetLastError();
}
