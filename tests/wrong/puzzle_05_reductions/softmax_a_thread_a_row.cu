// row_softmax: one thread does a whole row
#include <cuda_runtime.h>

__global__ void row_softmax_kernel(const float* x, float* y, int rows, int cols) {
    const unsigned row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    const size_t begin = size_t{row} * cols;
    float largest = -INFINITY, sum = 0.0f;
    for (int column = 0; column < cols; ++column) largest = fmaxf(largest, x[begin + column]);
    for (int column = 0; column < cols; ++column) sum += expf(x[begin + column] - largest);
    for (int column = 0; column < cols; ++column) y[begin + column] = expf(x[begin + column] - largest) / sum;
}

extern "C" cudaError_t row_softmax(const float* x, float* y, int rows, int cols, cudaStream_t stream) {
    if (rows == 0) return cudaSuccess;
    row_softmax_kernel<<<(rows + 255) / 256, 256, 0, stream>>>(x, y, rows, cols);
    return cudaGetLastError();
}
