// warp_sum: out[r] = the sum of row r of x, 32 floats a row
//
// Why    The 32 lanes of a warp can read each other's registers: no shared memory, no barrier, five additions. Every
//        fast softmax, norm and attention kernel ends in these lines.
// Given  x, rows × 32 floats, and out, rows floats, in device memory; the number of your lane and of your row; a
//        launcher with a warp for each row, 8 warps a block, rounded up.
// Write  the kernel's body, about 4 lines: a warp without a row leaves; each lane loads its element; five times it adds
//        what the lane 16, 8, 4, 2, 1 further up has; lane 0 writes.
// Goal   Registers only: no shared memory, no barrier, no atomics. Loads are coalesced, and none is done twice.
#include <cuda_runtime.h>

constexpr unsigned warp = 32;

__global__ void warp_sum_kernel(const float* __restrict__ x, float* __restrict__ out, int rows) {
    [[maybe_unused]] const unsigned lane = threadIdx.x % warp;
    [[maybe_unused]] const unsigned row = blockIdx.x * (blockDim.x / warp) + threadIdx.x / warp;
    // --- your code ---
    if (row >= rows) return;  // all 32 lanes or none: the mask below names lanes, and each of them has to come
    float sum = x[size_t{row} * warp + lane];
    for (unsigned offset = warp / 2; offset > 0; offset /= 2) sum += __shfl_down_sync(0xffffffff, sum, offset);
    if (lane == 0) out[row] = sum;  // the other lanes hold sums of a part, or of some values twice
    // --- end ---
}

extern "C" cudaError_t warp_sum(const float* x, float* out, int rows, cudaStream_t stream) {
    if (rows == 0) return cudaSuccess;
    constexpr unsigned threads = 256;
    constexpr unsigned rows_of_a_block = threads / warp;
    warp_sum_kernel<<<(rows + rows_of_a_block - 1) / rows_of_a_block, threads, 0, stream>>>(x, out, rows);
    return cudaGetLastError();
}
