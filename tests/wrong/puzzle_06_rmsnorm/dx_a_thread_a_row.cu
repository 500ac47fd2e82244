// rmsnorm_backward_dx: one thread a row
#include <cuda_runtime.h>

#include <algorithm>

__global__ void rmsnorm_backward_dx_kernel(const float* x, const float* w, const float* dy, float* dx, int rows,
                                           int cols, float eps) {
    const unsigned row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    const size_t begin = size_t{row} * cols;
    float squares = 0.0f, products = 0.0f;
    for (int c = 0; c < cols; ++c) {
        squares += x[begin + c] * x[begin + c];
        products += w[c] * dy[begin + c] * x[begin + c];
    }
    const float r = rsqrtf(squares / cols + eps);
    const float m = products / cols;
    for (int c = 0; c < cols; ++c) dx[begin + c] = r * w[c] * dy[begin + c] - x[begin + c] * r * r * r * m;
}

extern "C" cudaError_t rmsnorm_backward_dx(const float* x, const float* w, const float* dy, float* dx, int rows,
                                           int cols, float eps, cudaStream_t stream) {
    if (rows == 0) return cudaSuccess;
    rmsnorm_backward_dx_kernel<<<(rows + 255) / 256, 256, 0, stream>>>(x, w, dy, dx, rows, cols, eps);
    return cudaGetLastError();
}
