// transpose_tiled: a thread without an element to load returns, and stores none either
#include <cuda_runtime.h>

#include <cstddef>

constexpr unsigned size = 32, high = 8;  // of a tile, and of a block

__global__ void transpose_tiled_kernel(const float* __restrict__ in, float* __restrict__ out, int rows, int cols) {
    __shared__ float tile[size][size];
    const unsigned across = (cols + size - 1) / size;
    const std::size_t row0 = blockIdx.x / across * size;
    const std::size_t col0 = blockIdx.x % across * size;
    const unsigned x = threadIdx.x;  // goes along a row on both sides: of in first, of out afterwards
    if (row0 + threadIdx.y >= rows || col0 + x >= cols) return;
    for (unsigned y = threadIdx.y; y < size; y += high) {
        if (row0 + y < rows && col0 + x < cols) tile[y][x] = in[(row0 + y) * cols + col0 + x];
    }
    __syncthreads();
    for (unsigned y = threadIdx.y; y < size; y += high) {
        if (col0 + y < cols && row0 + x < rows) out[(col0 + y) * rows + row0 + x] = tile[x][y];
    }
}

extern "C" cudaError_t transpose_tiled(const float* in, float* out, int rows, int cols, cudaStream_t stream) {
    if (rows == 0 || cols == 0) return cudaSuccess;
    const unsigned down = (rows + size - 1) / size, across = (cols + size - 1) / size;
    transpose_tiled_kernel<<<down * across, dim3(size, high), 0, stream>>>(in, out, rows, cols);
    return cudaGetLastError();
}
