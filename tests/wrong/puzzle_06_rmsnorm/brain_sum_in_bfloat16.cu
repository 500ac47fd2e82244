// rmsnorm_bf16: the squares are added up in bfloat16, which stops at 256
#include <cuda_bf16.h>
#include <cuda_runtime.h>

__device__ float block_sum(float value) {
    __shared__ float of_warp[32];
    for (int offset = 16; offset > 0; offset /= 2) value += __shfl_down_sync(~0u, value, offset);
    if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = value;
    __syncthreads();
    value = 0.0f;
    for (int i = 0; i < blockDim.x / 32; ++i) value += of_warp[i];
    return value;
}

__global__ void rmsnorm_bf16_kernel(const __nv_bfloat16* x, const __nv_bfloat16* w, __nv_bfloat16* y, int rows,
                                    int cols, float eps) {
    const size_t begin = size_t{blockIdx.x} * cols;
    __nv_bfloat16 squares = __float2bfloat16(0.0f);
    for (int c = threadIdx.x; c < cols; c += blockDim.x)
        squares = __float2bfloat16(__bfloat162float(squares) +
                                   __bfloat162float(x[begin + c]) * __bfloat162float(x[begin + c]));
    const float scale = rsqrtf(block_sum(__bfloat162float(squares)) / cols + eps);
    for (int c = threadIdx.x; c < cols; c += blockDim.x)
        y[begin + c] = __float2bfloat16(__bfloat162float(x[begin + c]) * scale * __bfloat162float(w[c]));
}

extern "C" cudaError_t rmsnorm_bf16(const __nv_bfloat16* x, const __nv_bfloat16* w, __nv_bfloat16* y, int rows,
                                    int cols, float eps, cudaStream_t stream) {
    if (rows == 0) return cudaSuccess;
    rmsnorm_bf16_kernel<<<rows, 32, 0, stream>>>(x, w, y, rows, cols, eps);
    return cudaGetLastError();
}
