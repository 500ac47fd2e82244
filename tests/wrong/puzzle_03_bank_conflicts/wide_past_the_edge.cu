#include <cuda_runtime.h>

__global__ void kernel(const float* __restrict__ in, float* __restrict__ out, int rows, int cols) {
    __shared__ alignas(16) float tile[64][64];
    const unsigned across = (cols + 63) / 64;
    const size_t row0 = blockIdx.x / across * 64, col0 = blockIdx.x % across * 64;
    for (unsigned i = threadIdx.x; i < 1024; i += 256) {
        const unsigned y = i / 16, x = i % 16;
        if (row0 + y >= rows || !(col0 + 4 * x <= cols)) continue;
        const float4 quad = *reinterpret_cast<const float4*>(in + (row0 + y) * cols + col0 + 4 * x);
        *reinterpret_cast<float4*>(&tile[y][4 * (x ^ y / 4)]) = quad;
    }
    __syncthreads();
    for (unsigned i = threadIdx.x; i < 1024; i += 256) {
        const unsigned y = i / 8 % 64, x = i % 8 + 8 * (i / 512);
        if (col0 + y >= cols || row0 + 4 * x >= rows) continue;
        const unsigned at = 4 * (y / 4 ^ x) + y % 4;
        const float4 quad = {tile[4 * x][at], tile[4 * x + 1][at], tile[4 * x + 2][at], tile[4 * x + 3][at]};
        float* to = out + (col0 + y) * rows + row0 + 4 * x;
        *reinterpret_cast<float4*>(to) = quad;
    }
}

__global__ void any_size(const float* in, float* out, int rows, int cols) {
    const size_t i = size_t(blockIdx.x) * 256 + threadIdx.x;
    if (i / cols < rows) out[i % cols * rows + i / cols] = in[i];
}

extern "C" cudaError_t transpose_wide(const float* in, float* out, int rows, int cols, cudaStream_t stream) {
    if (rows == 0 || cols == 0) return cudaSuccess;
    if (rows % 4 == 0 && cols % 4 == 0) {
        kernel<<<((rows + 63) / 64) * ((cols + 63) / 64), 256, 0, stream>>>(in, out, rows, cols);
    } else {
        any_size<<<(size_t(rows) * cols + 255) / 256, 256, 0, stream>>>(in, out, rows, cols);
    }
    return cudaGetLastError();
}
