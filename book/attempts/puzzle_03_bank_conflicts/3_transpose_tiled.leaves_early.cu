// transpose_tiled: out = inᵀ through shared memory
//
// Why    Read along rows, and the writes are scattered; write along rows, and the reads are. Shared memory has no rows
//        to care for: a tile that was read row by row can be taken from there column by column.
// Given  in [rows, cols] and out [cols, rows], floats in device memory, row-major. A launcher with a block of 32 x 8
//        threads for each tile of 32 x 32 elements, cut off or not; room for the tile; row0 and col0, its first row and
//        column in in.
// Write  the rest of the kernel, about 8 lines: the block loads its tile, 4 rows a thread, waits, and stores it turned,
//        rows of out this time.
// Goal   Loads and stores are coalesced: neighbouring threads touch neighbouring addresses on both sides.
#include <cuda_runtime.h>

#include <cstddef>

constexpr unsigned size = 32, high = 8;  // of a tile, and of a block

__global__ void transpose_tiled_kernel(const float* __restrict__ in, float* __restrict__ out, int rows, int cols) {
    [[maybe_unused]] __shared__ float tile[size][size];
    const unsigned across = (cols + size - 1) / size;
    const std::size_t row0 = blockIdx.x / across * size;  // 64 bits: row * cols may pass 2^31
    const std::size_t col0 = blockIdx.x % across * size;
    (void)row0, (void)col0;  // no warning before your code uses them
    // --- your code ---
    const unsigned x = threadIdx.x;
    if (row0 + threadIdx.y >= rows || col0 + x >= cols) return;
    for (unsigned y = threadIdx.y; y < size; y += high) {
        if (row0 + y < rows && col0 + x < cols) tile[y][x] = in[(row0 + y) * cols + col0 + x];
    }
    __syncthreads();  // what a thread stores below, another one has loaded; outside the guards, where all come by
    for (unsigned y = threadIdx.y; y < size; y += high) {
        if (col0 + y < cols && row0 + x < rows) out[(col0 + y) * rows + row0 + x] = tile[x][y];
    }
    // --- end ---
}

extern "C" cudaError_t transpose_tiled(const float* in, float* out, int rows, int cols, cudaStream_t stream) {
    if (rows == 0 || cols == 0) return cudaSuccess;
    const unsigned down = (rows + size - 1) / size, across = (cols + size - 1) / size;
    transpose_tiled_kernel<<<down * across, dim3(size, high), 0, stream>>>(in, out, rows, cols);
    return cudaGetLastError();
}
