// rmsnorm_backward: the partial sums of dw are kept in half
#include <cuda_fp16.h>
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

__global__ void rmsnorm_backward_kernel(const float* x, const float* w, const float* dy, float* dx, float* dw,
                                        float* workspace, int rows, int cols, float eps) {
    float* partial = workspace + size_t{blockIdx.x} * cols;
    for (int row = blockIdx.x; row < rows; row += gridDim.x) {
        const size_t begin = size_t(row) * cols;
        float2 sums = {0.0f, 0.0f};
        for (int c = threadIdx.x; c < cols; c += 256) {
            const float value = x[begin + c];
            sums = {sums.x + value * value, sums.y + w[c] * dy[begin + c] * value};
        }
        sums = block_sums(sums);
        const float r = rsqrtf(sums.x / cols + eps), back = r * r * (sums.y / cols);
        for (int c = threadIdx.x; c < cols; c += 256) {
            const float value = x[begin + c], gradient = dy[begin + c];
            dx[begin + c] = r * (w[c] * gradient - value * back);
            partial[c] = __half2float(__float2half((row == blockIdx.x ? 0.0f : partial[c]) + gradient * value * r));
        }
    }
}

__global__ void column_sum_kernel(const float* partial, float* dw, int blocks, int cols) {
    const int column = blockIdx.x * 256 + threadIdx.x;
    if (column >= cols) return;
    float sum = 0.0f;
    for (int i = 0; i < blocks; ++i) sum += partial[size_t(i) * cols + column];
    dw[column] = sum;
}

extern "C" cudaError_t rmsnorm_backward(const float* x, const float* w, const float* dy, float* dx, float* dw,
                                        float* workspace, int rows, int cols, float eps, cudaStream_t stream) {
    const int blocks = std::min(rows, 256);
    if (blocks > 0) rmsnorm_backward_kernel<<<blocks, 256, 0, stream>>>(x, w, dy, dx, dw, workspace, rows, cols, eps);
    column_sum_kernel<<<(cols + 255) / 256, 256, 0, stream>>>(workspace, dw, blocks, cols);
    return cudaGetLastError();
}
