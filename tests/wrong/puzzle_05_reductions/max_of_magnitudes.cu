// row_max: the largest magnitude
#include <cuda_runtime.h>

__global__ void row_max_kernel(const float* x, float* out, int rows, int cols) {
    const unsigned row = blockIdx.x * 8 + threadIdx.x / 32, lane = threadIdx.x % 32;
    if (row >= rows) return;
    float largest = -INFINITY;
    for (int column = lane; column < cols; column += 32)
        largest = fmaxf(largest, fabsf(x[size_t{row} * cols + column]));
    for (int offset = 16; offset > 0; offset /= 2)
        largest = fmaxf(largest, __shfl_down_sync(0xffffffff, largest, offset));
    if (lane == 0) out[row] = largest;
}

extern "C" cudaError_t row_max(const float* x, float* out, int rows, int cols, cudaStream_t stream) {
    if (rows == 0) return cudaSuccess;
    row_max_kernel<<<(rows + 7) / 8, 256, 0, stream>>>(x, out, rows, cols);
    return cudaGetLastError();
}
