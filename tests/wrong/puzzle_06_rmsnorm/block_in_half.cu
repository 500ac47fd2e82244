// rmsnorm: the squares are added up in half
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <algorithm>

__device__ float block_sum(float value) {
    __shared__ float of_warp[32];
    for (int offset = 16; offset > 0; offset /= 2) value += __shfl_down_sync(~0u, value, offset);
    if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = value;
    __syncthreads();
    value = 0.0f;
    for (int i = 0; i < blockDim.x / 32; ++i) value += of_warp[i];
    return value;
}

__global__ void rmsnorm_kernel(const float* x, const float* w, float* y, int rows, int cols, float eps) {
    const size_t begin = size_t{blockIdx.x} * cols;
    half squares = __float2half(0.0f);
    for (int c = threadIdx.x; c < cols; c += blockDim.x)
        squares = __hadd(squares, __float2half(x[begin + c] * x[begin + c]));
    const float scale = rsqrtf(block_sum(__half2float(squares)) / cols + eps);
    for (int c = threadIdx.x; c < cols; c += blockDim.x) y[begin + c] = x[begin + c] * scale * w[c];
}

extern "C" cudaError_t rmsnorm(const float* x, const float* w, float* y, int rows, int cols, float eps,
                               cudaStream_t stream) {
    if (rows == 0) return cudaSuccess;
    rmsnorm_kernel<<<rows, std::min((cols + 31) / 32 * 32, 256), 0, stream>>>(x, w, y, rows, cols, eps);
    return cudaGetLastError();
}
