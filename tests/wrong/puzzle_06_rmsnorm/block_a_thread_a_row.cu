// rmsnorm: one thread a row, as in 6.1
#include <cuda_runtime.h>

#include <algorithm>

__global__ void rmsnorm_kernel(const float* x, const float* w, float* y, int rows, int cols, float eps) {
    const unsigned row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    const size_t begin = size_t{row} * cols;
    float squares = 0.0f;
    for (int c = 0; c < cols; ++c) squares += x[begin + c] * x[begin + c];
    const float scale = rsqrtf(squares / cols + eps);
    for (int c = 0; c < cols; ++c) y[begin + c] = x[begin + c] * scale * w[c];
}

extern "C" cudaError_t rmsnorm(const float* x, const float* w, float* y, int rows, int cols, float eps,
                               cudaStream_t stream) {
    if (rows == 0) return cudaSuccess;
    rmsnorm_kernel<<<(rows + 255) / 256, 256, 0, stream>>>(x, w, y, rows, cols, eps);
    return cudaGetLastError();
}
