// row_softmax: y[r][c] = exp(x[r][c]) / (exp(x[r][0]) + … + exp(x[r][cols - 1])), row by row
//
// Why    Scores become weights that add up to 1: in attention, and in front of every loss of a classifier. exp(89) is
//        more than a float holds. exp(x - largest) / (the sum of these) is the same number, and no exponent is above 0.
// Given  x and y, rows × cols floats each in row-major order, cols at least 1, in device memory; block_max and
//        block_sum, which give every thread of a block the result; a launcher with a block for each row: a thread for
//        each column, in whole warps, and 256 at most.
// Write  the kernel's body, about 8 lines: the row's maximum, the sum of exp(x - largest), the quotients.
// Goal   x is read three times at most (twice, or once, is better); loads and stores are coalesced.
#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>  // INFINITY

constexpr int warp = 32;
constexpr int most_threads = 256;

// Every thread returns the maximum of the values of its block. All must call it together, and once.
__device__ inline float block_max(float value) {
    __shared__ float of_warp[most_threads / warp];
    for (int offset = warp / 2; offset > 0; offset /= 2) value = fmaxf(value, __shfl_down_sync(~0u, value, offset));
    if (threadIdx.x % warp == 0) of_warp[threadIdx.x / warp] = value;
    __syncthreads();
    value = of_warp[0];
    for (int i = 1; i < blockDim.x / warp; ++i) value = fmaxf(value, of_warp[i]);
    return value;
}

// The same for the sum.
__device__ inline float block_sum(float value) {
    __shared__ float of_warp[most_threads / warp];
    for (int offset = warp / 2; offset > 0; offset /= 2) value += __shfl_down_sync(~0u, value, offset);
    if (threadIdx.x % warp == 0) of_warp[threadIdx.x / warp] = value;
    __syncthreads();
    value = of_warp[0];
    for (int i = 1; i < blockDim.x / warp; ++i) value += of_warp[i];
    return value;
}

__global__ void row_softmax_kernel(const float* __restrict__ x, float* __restrict__ y, int cols) {
    [[maybe_unused]] const float* from = x + size_t{blockIdx.x} * cols;
    [[maybe_unused]] float* to = y + size_t{blockIdx.x} * cols;
    [[maybe_unused]] const int threads = blockDim.x;
    // --- your code ---
    // --- end ---
}

extern "C" cudaError_t row_softmax(const float* x, float* y, int rows, int cols, cudaStream_t stream) {
    if (rows == 0) return cudaSuccess;
    const int threads = std::min((cols + warp - 1) / warp * warp, most_threads);
    row_softmax_kernel<<<rows, threads, 0, stream>>>(x, y, cols);
    return cudaGetLastError();
}
