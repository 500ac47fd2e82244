// row_sum: out[r] = the sum of row r of x
//
// Why    A norm, a softmax and a loss reduce row by row, and rows are independent: many small sums at once instead of
//        one large one. A warp for each row needs neither shared memory nor a barrier, however wide the row is.
// Given  x, rows × cols floats in row-major order, and out, rows floats, in device memory; warp_sum, which is 5.2 as a
//        function; the number of your lane and of your row; a launcher with a warp for each row, 8 warps a block.
// Write  the kernel's body, about 6 lines: a warp without a row leaves; a lane adds up every 32nd element of the row;
//        then the warp adds up its lanes, and lane 0 writes.
// Goal   Loads are coalesced, and none is done twice.
#include <cuda_runtime.h>

constexpr int warp = 32;

// Lane 0 returns the sum of the 32 values of its warp. All 32 lanes must call it together.
__device__ inline float warp_sum(float value) {
    for (int offset = warp / 2; offset > 0; offset /= 2) value += __shfl_down_sync(0xffffffff, value, offset);
    return value;
}

__global__ void row_sum_kernel(const float* __restrict__ x, float* __restrict__ out, int rows, int cols) {
    [[maybe_unused]] const int lane = threadIdx.x % warp;
    [[maybe_unused]] const unsigned row = blockIdx.x * (blockDim.x / warp) + threadIdx.x / warp;
    // --- your code ---
    // --- end ---
}

extern "C" cudaError_t row_sum(const float* x, float* out, int rows, int cols, cudaStream_t stream) {
    if (rows == 0) return cudaSuccess;
    constexpr unsigned threads = 256;
    constexpr unsigned rows_of_a_block = threads / warp;
    row_sum_kernel<<<(rows + rows_of_a_block - 1) / rows_of_a_block, threads, 0, stream>>>(x, out, rows, cols);
    return cudaGetLastError();
}
