// rmsnorm_naive: w never comes in
#include <cuda_runtime.h>

#include <algorithm>

__global__ void rmsnorm_naive_kernel(const float* x, const float* w, float* y, int rows, int cols, float eps) {
    const unsigned row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    const size_t begin = size_t{row} * cols;
    float squares = 0.0f;
    for (int c = 0; c < cols; ++c) squares += x[begin + c] * x[begin + c];
    const float scale = rsqrtf(squares / cols + eps);
    for (int c = 0; c < cols; ++c) y[begin + c] = x[begin + c] * scale;
}

extern "C" cudaError_t rmsnorm_naive(const float* x, const float* w, float* y, int rows, int cols, float eps,
                                     cudaStream_t stream) {
    if (rows == 0) return cudaSuccess;
    rmsnorm_naive_kernel<<<(rows + 255) / 256, 256, 0, stream>>>(x, w, y, rows, cols, eps);
    return cudaGetLastError();
}
