// transpose_swizzled: out = inᵀ, without bank conflicts and without padding
//
// Why    A float of padding a row is cheap here. In a matrix product on tensor cores it costs the alignment of wide
//        loads, and shared memory is what limits how many blocks fit. A swizzle keeps the tile as small as its
//        elements: each row holds its own, only in another order.
// Given  in [rows, cols] and out [cols, rows], floats in device memory, row-major. The kernel and the launcher; a tile
//        of 32 x 32 words and not one more. Wherever element (y, x) of the tile is stored or loaded, `word(y, x)` says
//        which word of the tile it lies in.
// Write  about 3 lines: which word. Every element needs one of its own, and both a row and a column of elements have to
//        lie in 32 banks.
// Goal   Loads and stores are coalesced, no access to shared memory takes more passes than it needs, and a block has
//        no more shared memory than its tile.
#include <cuda_runtime.h>

#include <cstddef>

constexpr unsigned size = 32, high = 8;  // of a tile, and of a block

__device__ constexpr unsigned word([[maybe_unused]] unsigned y, [[maybe_unused]] unsigned x) {
    unsigned place = 0;
    // --- your code ---
    place = y * size + x;
    // --- end ---
    return place;
}

__global__ void transpose_swizzled_kernel(const float* __restrict__ in, float* __restrict__ out, int rows, int cols) {
    __shared__ float tile[size * size];
    const unsigned across = (cols + size - 1) / size;
    const std::size_t row0 = blockIdx.x / across * size;
    const std::size_t col0 = blockIdx.x % across * size;
    const unsigned x = threadIdx.x;
    for (unsigned y = threadIdx.y; y < size; y += high) {
        if (row0 + y < rows && col0 + x < cols) {
            tile[word(y, x)] = in[(row0 + y) * cols + col0 + x];
        }
    }
    __syncthreads();
    for (unsigned y = threadIdx.y; y < size; y += high) {
        if (col0 + y < cols && row0 + x < rows) {
            out[(col0 + y) * rows + row0 + x] = tile[word(x, y)];
        }
    }
}

extern "C" cudaError_t transpose_swizzled(const float* in, float* out, int rows, int cols, cudaStream_t stream) {
    if (rows == 0 || cols == 0) return cudaSuccess;
    const unsigned down = (rows + size - 1) / size, across = (cols + size - 1) / size;
    transpose_swizzled_kernel<<<down * across, dim3(size, high), 0, stream>>>(in, out, rows, cols);
    return cudaGetLastError();
}
