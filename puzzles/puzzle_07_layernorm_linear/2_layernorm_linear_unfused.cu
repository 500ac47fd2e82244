// layernorm_linear_unfused: y = layernorm(x) · Wᵀ + bias, one step after the other
//
// Why    So it is done wherever nobody has fused it: a launch for each operation, and everything in between in memory.
//        That is what 7.3 will be measured against; and it is how large programs are put together from small parts.
// Given  x [rows, cols], W [out_features, cols] and y [rows, out_features], row-major; gamma and beta, cols floats
//        each; bias, out_features floats; mean and rstd, rows floats each; normed [rows, cols], a result as well; cols
//        at least 1. Your 7.1 and 2.7, or the course's where yours have not passed; a kernel that adds bias to y, and
//        its launch.
// Write  the launch code, about 5 lines: the layer norm of x into normed, then the product of normed and Wᵀ into y,
//        both on this stream. Each returns an error, or cudaSuccess; the first error is what this function returns.
#include <cuda_runtime.h>

extern "C" cudaError_t layernorm(const float* x, const float* gamma, const float* beta, float* y, float* mean,
                                 float* rstd, int rows, int cols, float eps, cudaStream_t stream);
extern "C" cudaError_t gemm_nt(const float* A, const float* B, float* C, int M, int N, int K, cudaStream_t stream);

constexpr int wide = 32, high = 8;  // the part of y that a block has

__global__ void add_bias_kernel(float* y, const float* bias, int rows, int out_features, int across) {
    const size_t row = size_t{blockIdx.x / across} * high + threadIdx.y;
    const int column = blockIdx.x % across * wide + threadIdx.x;
    if (row < rows && column < out_features) y[row * out_features + column] += bias[column];
}

extern "C" cudaError_t layernorm_linear_unfused(const float* x, const float* gamma, const float* beta, const float* W,
                                                const float* bias, float* y, float* mean, float* rstd, float* normed,
                                                int rows, int cols, int out_features, float eps, cudaStream_t stream) {
    (void)x, (void)gamma, (void)beta, (void)W, (void)mean, (void)rstd, (void)normed, (void)cols, (void)eps;
    // --- your code ---
    // --- end ---
    if (rows == 0 || out_features == 0) return cudaSuccess;
    const int down = (rows + high - 1) / high, across = (out_features + wide - 1) / wide;
    add_bias_kernel<<<down * across, dim3(wide, high), 0, stream>>>(y, bias, rows, out_features, across);
    return cudaGetLastError();
}
