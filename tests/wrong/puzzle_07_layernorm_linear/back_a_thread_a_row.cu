// layernorm_backward: a thread a row: right, and none of its accesses neighbours another's
#include <cuda_runtime.h>

__global__ void dx_kernel(const float* dy, const float* x, const float* gamma, const float* mean, const float* rstd,
                          float* dx, int rows, int cols) {
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    const size_t begin = size_t(row) * cols;
    float2 means = {0.0f, 0.0f};
    for (int c = 0; c < cols; ++c) {
        const float g = gamma[c] * dy[begin + c];
        means = {means.x + g / cols, means.y + g * (x[begin + c] - mean[row]) * rstd[row] / cols};
    }
    for (int c = 0; c < cols; ++c)
        dx[begin + c] =
            rstd[row] * (gamma[c] * dy[begin + c] - means.x - (x[begin + c] - mean[row]) * rstd[row] * means.y);
}

__global__ void column_sum_kernel(const float* dy, const float* x, const float* mean, const float* rstd, float* dgamma,
                                  float* dbeta, int rows, int cols) {
    const int column = blockIdx.x * blockDim.x + threadIdx.x;
    if (column >= cols) return;
    float2 sums = {0.0f, 0.0f};
    for (int row = 0; row < rows; ++row) {
        const float gradient = dy[size_t(row) * cols + column];
        sums = {sums.x + gradient * ((x[size_t(row) * cols + column] - mean[row]) * rstd[row]), sums.y + gradient};
    }
    dgamma[column] = sums.x, dbeta[column] = sums.y;
}

extern "C" cudaError_t layernorm_backward(const float* dy, const float* x, const float* gamma, const float* mean,
                                          const float* rstd, float* dx, float* dgamma, float* dbeta, float* workspace,
                                          int rows, int cols, cudaStream_t stream) {
    if (rows > 0) dx_kernel<<<(rows + 31) / 32, 32, 0, stream>>>(dy, x, gamma, mean, rstd, dx, rows, cols);
    column_sum_kernel<<<(cols + 31) / 32, 32, 0, stream>>>(dy, x, mean, rstd, dgamma, dbeta, rows, cols);
    return cudaGetLastError();
}
