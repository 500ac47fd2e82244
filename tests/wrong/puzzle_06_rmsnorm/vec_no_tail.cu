// rmsnorm_vec: rows whose width is no multiple of 4 are not thought of
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

__global__ void rmsnorm_vec_kernel(const float* x, const float* w, float* y, int rows, int cols, float eps) {
    const float4* from = reinterpret_cast<const float4*>(x + size_t{blockIdx.x} * cols);
    const float4* factor = reinterpret_cast<const float4*>(w);
    float4* to = reinterpret_cast<float4*>(y + size_t{blockIdx.x} * cols);
    float sum = 0.0f;
    for (int i = threadIdx.x; i < cols / 4; i += blockDim.x) {
        const float4 four = from[i];
        sum += four.x * four.x + four.y * four.y + four.z * four.z + four.w * four.w;
    }
    const float by = rsqrtf(block_sum(sum) / cols + eps);
    for (int i = threadIdx.x; i < cols / 4; i += blockDim.x) {
        const float4 four = from[i], f = factor[i];
        to[i] = {four.x * by * f.x, four.y * by * f.y, four.z * by * f.z, four.w * by * f.w};
    }
}

extern "C" cudaError_t rmsnorm_vec(const float* x, const float* w, float* y, int rows, int cols, float eps,
                                   cudaStream_t stream) {
    if (rows == 0) return cudaSuccess;
    rmsnorm_vec_kernel<<<rows, std::min((cols + 31) / 32 * 32, 256), 0, stream>>>(x, w, y, rows, cols, eps);
    return cudaGetLastError();
}
