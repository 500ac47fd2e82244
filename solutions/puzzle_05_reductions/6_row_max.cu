// row_max: out[r] = the largest value of row r of x
//
// Why    The softmax of 5.7 subtracts it, so that no exponential overflows. A reduction by another operation: what
//        changes are the operation and its neutral element, the value that leaves every other one as it is.
// Given  x, rows × cols floats in row-major order, and out, rows floats, in device memory; the lane, the row, its
//        beginning; a launcher with a warp for each row, 8 warps a block.
// Write  about 4 lines: begin with the neutral element of the maximum; take in every 32nd element of the row, then what
//        the lanes 16, 8, 4, 2, 1 further up have; lane 0 writes. The largest of no values is −∞.
// Goal   Loads are coalesced, and none is done twice.
#include <cuda_runtime.h>

#include <cmath>  // INFINITY

constexpr int warp = 32;

__global__ void row_max_kernel(const float* __restrict__ x, float* __restrict__ out, int rows, int cols) {
    [[maybe_unused]] const int lane = threadIdx.x % warp;
    const unsigned row = blockIdx.x * (blockDim.x / warp) + threadIdx.x / warp;
    if (row >= rows) return;
    [[maybe_unused]] const float* mine = x + size_t{row} * cols;
    // --- your code ---
    float largest = -INFINITY;  // not 0, which is larger than all of a row that is negative
#pragma unroll 8
    for (int column = lane; column < cols; column += warp) largest = fmaxf(largest, mine[column]);
    for (int offset = warp / 2; offset > 0; offset /= 2)
        largest = fmaxf(largest, __shfl_down_sync(0xffffffff, largest, offset));
    if (lane == 0) out[row] = largest;
    // --- end ---
}

extern "C" cudaError_t row_max(const float* x, float* out, int rows, int cols, cudaStream_t stream) {
    if (rows == 0) return cudaSuccess;
    constexpr unsigned threads = 256;
    constexpr unsigned rows_of_a_block = threads / warp;
    row_max_kernel<<<(rows + rows_of_a_block - 1) / rows_of_a_block, threads, 0, stream>>>(x, out, rows, cols);
    return cudaGetLastError();
}
