// layernorm_backward: the mean does not depend on x
#include <cuda_runtime.h>

#include <algorithm>

__device__ float2 warp_sums(float2 value) {
    for (int offset = 16; offset > 0; offset /= 2) {
        value.x += __shfl_xor_sync(~0u, value.x, offset);
        value.y += __shfl_xor_sync(~0u, value.y, offset);
    }
    return value;
}

__device__ float2 block_sums(float2 value) {
    __shared__ float2 of_warp[32];
    value = warp_sums(value);
    __syncthreads();
    if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = value;
    __syncthreads();
    return warp_sums(threadIdx.x % 32 < blockDim.x / 32 ? of_warp[threadIdx.x % 32] : float2{0.0f, 0.0f});
}

__global__ void layernorm_backward_kernel(const float* dy, const float* x, const float* gamma, const float* mean,
                                          const float* rstd, float* dx, float* workspace, int rows, int cols) {
    float* sums = workspace + 2 * size_t{blockIdx.x} * cols;
    for (int c = threadIdx.x; c < cols; c += blockDim.x) sums[c] = sums[cols + c] = 0.0f;
    for (int row = blockIdx.x; row < rows; row += gridDim.x) {
        const size_t begin = size_t(row) * cols;
        const float shift = mean[row], scale = rstd[row];
        float2 means = {0.0f, 0.0f};
        for (int c = threadIdx.x; c < cols; c += blockDim.x) {
            const float g = gamma[c] * dy[begin + c], n = (x[begin + c] - shift) * scale;
            means = {means.x + g, means.y + g * n};
        }
        means = block_sums({means.x / cols, means.y / cols});
        for (int c = threadIdx.x; c < cols; c += blockDim.x) {
            const float gradient = dy[begin + c], n = (x[begin + c] - shift) * scale, g = gamma[c] * gradient;
            dx[begin + c] = scale * (g - n * means.y);
            sums[c] += gradient * n;
            sums[cols + c] += gradient;
        }
    }
}

__global__ void column_sum_kernel(const float* partial, float* dgamma, float* dbeta, int blocks, int cols) {
    const int column = blockIdx.x * blockDim.x + threadIdx.x;
    if (column >= 2 * cols) return;
    float sum = 0.0f;
    for (int i = 0; i < blocks; ++i) sum += partial[2 * size_t(i) * cols + column];
    (column < cols ? dgamma[column] : dbeta[column - cols]) = sum;
}

extern "C" cudaError_t layernorm_backward(const float* dy, const float* x, const float* gamma, const float* mean,
                                          const float* rstd, float* dx, float* dgamma, float* dbeta, float* workspace,
                                          int rows, int cols, cudaStream_t stream) {
    const int blocks = std::min(rows, 256), threads = std::min((cols + 31) / 32 * 32, 1024);
    if (blocks > 0)
        layernorm_backward_kernel<<<blocks, threads, 0, stream>>>(dy, x, gamma, mean, rstd, dx, workspace, rows, cols);
    column_sum_kernel<<<(2 * cols + 31) / 32, 32, 0, stream>>>(workspace, dgamma, dbeta, blocks, cols);
    return cudaGetLastError();
}
