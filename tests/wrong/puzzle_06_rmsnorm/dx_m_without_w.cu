// rmsnorm_backward_dx: w is missing in m
#include <cuda_runtime.h>

#include <algorithm>

__device__ float2 block_sums(float2 value) {
    __shared__ float2 of_warp[8];
    for (int offset = 16; offset > 0; offset /= 2) {
        value.x += __shfl_down_sync(~0u, value.x, offset);
        value.y += __shfl_down_sync(~0u, value.y, offset);
    }
    __syncthreads();
    if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = value;
    __syncthreads();
    value = {0.0f, 0.0f};
    for (int i = 0; i < blockDim.x / 32; ++i) value = {value.x + of_warp[i].x, value.y + of_warp[i].y};
    return value;
}

__global__ void rmsnorm_backward_dx_kernel(const float* x, const float* w, const float* dy, float* dx, int rows,
                                           int cols, float eps) {
    const size_t begin = size_t{blockIdx.x} * cols;
    float2 sums = {0.0f, 0.0f};
    for (int c = threadIdx.x; c < cols; c += blockDim.x) {
        const float value = x[begin + c];
        sums = {sums.x + value * value, sums.y + dy[begin + c] * value};
    }
    sums = block_sums(sums);
    const float r = rsqrtf(sums.x / cols + eps);
    const float m = sums.y / cols;
    for (int c = threadIdx.x; c < cols; c += blockDim.x)
        dx[begin + c] = r * w[c] * dy[begin + c] - x[begin + c] * r * r * r * m;
}

extern "C" cudaError_t rmsnorm_backward_dx(const float* x, const float* w, const float* dy, float* dx, int rows,
                                           int cols, float eps, cudaStream_t stream) {
    if (rows == 0) return cudaSuccess;
    rmsnorm_backward_dx_kernel<<<rows, std::min((cols + 31) / 32 * 32, 256), 0, stream>>>(x, w, dy, dx, rows, cols,
                                                                                          eps);
    return cudaGetLastError();
}
