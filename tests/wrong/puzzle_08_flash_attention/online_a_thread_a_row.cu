// online_softmax: one thread a row: right, and neighbours read addresses a row apart
#include <cuda_runtime.h>

#include <cmath>

__global__ void online_softmax_kernel(const float* x, float* y, int rows, int cols) {
    const unsigned row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    const float* from = x + size_t{row} * cols;
    float largest = -INFINITY, sum = 0.0f;
    for (int c = 0; c < cols; ++c) {
        const float value = from[c];
        const float next = fmaxf(largest, value), base = next > -INFINITY ? next : 0.0f;
        sum = sum * expf(largest - base) + expf(value - base);
        largest = next;
    }
    for (int c = 0; c < cols; ++c) y[size_t{row} * cols + c] = expf(from[c] - largest) / sum;
}

extern "C" cudaError_t online_softmax(const float* x, float* y, int rows, int cols, cudaStream_t stream) {
    if (rows > 0) online_softmax_kernel<<<(rows + 63) / 64, 64, 0, stream>>>(x, y, rows, cols);
    return cudaGetLastError();
}
