// transpose_naive: x goes along a column of in and y along a row, in a block that is wide along a row
#include <cuda_runtime.h>

#include <cstddef>

constexpr unsigned wide = 32, high = 8;  // a block, in columns and rows of in

__global__ void transpose_naive_kernel(const float* __restrict__ in, float* __restrict__ out, int rows, int cols) {
    const unsigned across = (cols + wide - 1) / wide;
    const unsigned row0 = blockIdx.x / across * high;
    const unsigned col0 = blockIdx.x % across * wide;
    const std::size_t row = row0 + threadIdx.x, col = col0 + threadIdx.y;
    if (row >= rows || col >= cols) return;
    out[col * rows + row] = in[row * cols + col];
}

extern "C" cudaError_t transpose_naive(const float* in, float* out, int rows, int cols, cudaStream_t stream) {
    if (rows == 0 || cols == 0) return cudaSuccess;  // a grid of 0 blocks is a launch error
    const unsigned down = (rows + high - 1) / high, across = (cols + wide - 1) / wide;
    transpose_naive_kernel<<<down * across, dim3(wide, high), 0, stream>>>(in, out, rows, cols);
    return cudaGetLastError();
}
