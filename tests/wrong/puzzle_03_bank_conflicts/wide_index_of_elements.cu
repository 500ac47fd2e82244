// transpose_wide: a pointer to float4 with the index of an element, not of a quad
#include <cuda_runtime.h>

#include <cstddef>

constexpr unsigned size = 64, threads = 256;  // of a tile, and of a block

__global__ void transpose_wide_kernel(const float* __restrict__ in, float* __restrict__ out, int rows, int cols) {
    __shared__ alignas(16) float tile[size][size];
    const unsigned across = (cols + size - 1) / size;
    const std::size_t row0 = blockIdx.x / across * size;
    const std::size_t col0 = blockIdx.x % across * size;
    constexpr unsigned quads = size / 4;  // in a row of the tile
    for (unsigned i = threadIdx.x; i < size * quads; i += threads) {
        const unsigned y = i / quads, x = i % quads;
        if (row0 + y < rows && col0 + 4 * x < cols) {
            *reinterpret_cast<float4*>(&tile[y][4 * (x ^ (y / 4))]) =
                reinterpret_cast<const float4*>(in)[(row0 + y) * cols + col0 + 4 * x];
        }
    }
    __syncthreads();
    for (unsigned i = threadIdx.x; i < size * quads; i += threads) {
        const unsigned y = i / 8 % size, x = i % 8 + 8 * (i / (8 * size));
        if (col0 + y < cols && row0 + 4 * x < rows) {
            const unsigned at = 4 * ((y / 4) ^ x) + y % 4;
            const float4 quad = {tile[4 * x][at], tile[4 * x + 1][at], tile[4 * x + 2][at], tile[4 * x + 3][at]};
            *reinterpret_cast<float4*>(out + (col0 + y) * rows + row0 + 4 * x) = quad;
        }
    }
}

__global__ void any_size_kernel(const float* __restrict__ in, float* __restrict__ out, int rows, int cols) {
    const std::size_t i = static_cast<std::size_t>(blockIdx.x) * threads + threadIdx.x;
    const std::size_t row = i / cols, col = i % cols;
    if (row < rows) out[col * rows + row] = in[i];
}

extern "C" cudaError_t transpose_wide(const float* in, float* out, int rows, int cols, cudaStream_t stream) {
    if (rows == 0 || cols == 0) return cudaSuccess;
    if (rows % 4 == 0 && cols % 4 == 0) {
        const unsigned down = (rows + size - 1) / size, across = (cols + size - 1) / size;
        transpose_wide_kernel<<<down * across, threads, 0, stream>>>(in, out, rows, cols);
    } else {
        const std::size_t elements = static_cast<std::size_t>(rows) * cols;
        const auto blocks = static_cast<unsigned>((elements + threads - 1) / threads);
        any_size_kernel<<<blocks, threads, 0, stream>>>(in, out, rows, cols);
    }
    return cudaGetLastError();
}
