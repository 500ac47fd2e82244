// col_sum: an atomic for each element
#include <cuda_runtime.h>

__global__ void col_sum_kernel(const float* x, float* out, int rows, int cols) {
    const int column = blockIdx.x * blockDim.x + threadIdx.x;
    if (column >= cols) return;
    for (int row = blockIdx.y; row < rows; row += gridDim.y) {
        const float value = x[size_t(row) * cols + column];
        atomicAdd(out + column, value);
    }
}

extern "C" cudaError_t col_sum(const float* x, float* out, int rows, int cols, cudaStream_t stream) {
    if (cols == 0) return cudaSuccess;
    cudaMemsetAsync(out, 0, cols * sizeof(float), stream);
    if (rows > 0) col_sum_kernel<<<dim3((cols + 255) / 256, (rows + 15) / 16), 256, 0, stream>>>(x, out, rows, cols);
    return cudaGetLastError();
}
