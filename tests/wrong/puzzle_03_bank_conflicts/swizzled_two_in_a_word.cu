#include <cuda_runtime.h>

__device__ unsigned word(unsigned y, unsigned x) {
    return 32 * y + (x | y);
}

__global__ void kernel(const float* in, float* out, int rows, int cols) {
    __shared__ float tile[32 * 32];
    const unsigned across = (cols + 31) / 32, x = threadIdx.x;
    const size_t row0 = blockIdx.x / across * 32, col0 = blockIdx.x % across * 32;
    for (unsigned y = threadIdx.y; y < 32; y += 8) {
        if (row0 + y < rows && col0 + x < cols) tile[word(y, x)] = in[(row0 + y) * cols + col0 + x];
    }
    __syncthreads();
    for (unsigned y = threadIdx.y; y < 32; y += 8) {
        if (col0 + y < cols && row0 + x < rows) out[(col0 + y) * rows + row0 + x] = tile[word(x, y)];
    }
}

extern "C" cudaError_t transpose_swizzled(const float* in, float* out, int rows, int cols, cudaStream_t stream) {
    if (rows == 0 || cols == 0) return cudaSuccess;
    kernel<<<((rows + 31) / 32) * ((cols + 31) / 32), dim3(32, 8), 0, stream>>>(in, out, rows, cols);
    return cudaGetLastError();
}
