// rmsnorm_f16: eps is rounded to half and the mean with it
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

__global__ void rmsnorm_f16_kernel(const half* x, const half* w, half* y, int rows, int cols, float eps) {
    const size_t begin = size_t{blockIdx.x} * cols;
    float squares = 0.0f;
    for (int c = threadIdx.x; c < cols; c += blockDim.x) {
        const float value = __half2float(x[begin + c]);
        squares += value * value;
    }
    const float scale = __half2float(hrsqrt(__float2half(block_sum(squares) / cols + eps)));
    for (int c = threadIdx.x; c < cols; c += blockDim.x)
        y[begin + c] = __float2half(__half2float(x[begin + c]) * scale * __half2float(w[c]));
}

extern "C" cudaError_t rmsnorm_f16(const half* x, const half* w, half* y, int rows, int cols, float eps,
                                   cudaStream_t stream) {
    if (rows == 0) return cudaSuccess;
    rmsnorm_f16_kernel<<<rows, std::min((cols + 31) / 32 * 32, 256), 0, stream>>>(x, w, y, rows, cols, eps);
    return cudaGetLastError();
}
