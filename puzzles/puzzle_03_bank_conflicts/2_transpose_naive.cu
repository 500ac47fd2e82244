// transpose_naive: out = inᵀ, straight through
//
// Why    Attention wants keys by column, a weight gradient wants its input turned: somebody has to turn them. A
//        transpose computes nothing and moves everything, so that only the way it goes over memory counts. Here one
//        side of it is bad, and `grader trace 3.2` shows by how much.
// Given  in [rows, cols] and out [cols, rows], floats in device memory, row-major: element (r, c) of in is
//        in[r * cols + c]. A launcher with a block of 32 x 8 threads for each piece of 32 columns and 8 rows of in, cut
//        off or not; row0 and col0, the first row and column of the block's piece.
// Write  the rest of the kernel, about 3 lines: which element of in is mine, do I have one, move it.
#include <cuda_runtime.h>

#include <cstddef>

constexpr unsigned wide = 32, high = 8;  // a block, in columns and rows of in

__global__ void transpose_naive_kernel(const float* __restrict__ in, float* __restrict__ out, int rows, int cols) {
    // Pieces are numbered row by row. One number: along x a grid has room for 2^31 blocks, along y for 65,535.
    const unsigned across = (cols + wide - 1) / wide;
    const unsigned row0 = blockIdx.x / across * high;
    const unsigned col0 = blockIdx.x % across * wide;
    (void)row0, (void)col0;  // no warning before your code uses them
    // --- your code ---
    // --- end ---
}

extern "C" cudaError_t transpose_naive(const float* in, float* out, int rows, int cols, cudaStream_t stream) {
    if (rows == 0 || cols == 0) return cudaSuccess;  // a grid of 0 blocks is a launch error
    const unsigned down = (rows + high - 1) / high, across = (cols + wide - 1) / wide;
    transpose_naive_kernel<<<down * across, dim3(wide, high), 0, stream>>>(in, out, rows, cols);
    return cudaGetLastError();
}
