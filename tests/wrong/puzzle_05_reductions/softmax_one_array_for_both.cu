// row_softmax: the sums go where maxima may still be read
#include <cuda_runtime.h>

#include <algorithm>

__shared__ float of_warp[8];

__device__ float block_max(float value) {
    for (int offset = 16; offset > 0; offset /= 2) value = fmaxf(value, __shfl_down_sync(~0u, value, offset));
    if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = value;
    __syncthreads();
    value = of_warp[0];
    for (int i = 1; i < blockDim.x / 32; ++i) value = fmaxf(value, of_warp[i]);
    return value;
}

__device__ float block_sum(float value) {
    for (int offset = 16; offset > 0; offset /= 2) value += __shfl_down_sync(~0u, value, offset);
    if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = value;
    __syncthreads();
    value = of_warp[0];
    for (int i = 1; i < blockDim.x / 32; ++i) value += of_warp[i];
    return value;
}

__global__ void row_softmax_kernel(const float* x, float* y, int cols) {
    const float* from = x + size_t{blockIdx.x} * cols;
    float* to = y + size_t{blockIdx.x} * cols;
    float largest = -INFINITY, sum = 0.0f;
    for (int column = threadIdx.x; column < cols; column += blockDim.x) largest = fmaxf(largest, from[column]);
    largest = block_max(largest);
    for (int column = threadIdx.x; column < cols; column += blockDim.x) sum += expf(from[column] - largest);
    sum = block_sum(sum);
    for (int column = threadIdx.x; column < cols; column += blockDim.x) to[column] = expf(from[column] - largest) / sum;
}

extern "C" cudaError_t row_softmax(const float* x, float* y, int rows, int cols, cudaStream_t stream) {
    if (rows == 0) return cudaSuccess;
    row_softmax_kernel<<<rows, std::min((cols + 31) / 32 * 32, 256), 0, stream>>>(x, y, cols);
    return cudaGetLastError();
}
