// layernorm_linear: normed lies in memory of its own in between, as in 7.2
#include <cuda_runtime.h>

#include <algorithm>

constexpr int warp = 32, most_threads = 512;

// Every thread returns the sum of the values of its block. All threads must call it together.
__device__ inline float block_sum(float value) {
    __shared__ float of_warp[most_threads / warp];
    for (int offset = warp / 2; offset > 0; offset /= 2) value += __shfl_down_sync(0xffffffff, value, offset);
    __syncthreads();  // the call before this one has been read by all
    if (threadIdx.x % warp == 0) of_warp[threadIdx.x / warp] = value;
    __syncthreads();
    float sum = 0.0f;
    for (int i = 0; i < blockDim.x / warp; ++i) sum += of_warp[i];
    return sum;
}

__global__ void layernorm_kernel(const float* __restrict__ x, const float* __restrict__ gamma,
                                 const float* __restrict__ beta, float* __restrict__ y, float* __restrict__ mean,
                                 float* __restrict__ rstd, int cols, float eps) {
    const size_t row = blockIdx.x, begin = row * cols;
    float sum = 0.0f, squares = 0.0f;
    for (int c = threadIdx.x; c < cols; c += blockDim.x) sum += x[begin + c];
    const float m = block_sum(sum) / cols;
    for (int c = threadIdx.x; c < cols; c += blockDim.x) squares += (x[begin + c] - m) * (x[begin + c] - m);
    const float r = rsqrtf(block_sum(squares) / cols + eps);
    if (threadIdx.x == 0) {
        mean[row] = m;
        rstd[row] = r;
    }
    for (int c = threadIdx.x; c < cols; c += blockDim.x) y[begin + c] = (x[begin + c] - m) * r * gamma[c] + beta[c];
}

static cudaError_t layernorm(const float* x, const float* gamma, const float* beta, float* y, float* mean, float* rstd,
                             int rows, int cols, float eps, cudaStream_t stream) {
    if (rows == 0) return cudaSuccess;
    const int threads = std::min((cols + warp - 1) / warp * warp, most_threads);
    layernorm_kernel<<<rows, threads, 0, stream>>>(x, gamma, beta, y, mean, rstd, cols, eps);
    return cudaGetLastError();
}

__global__ void product_kernel(const float* A, const float* B, float* C, int M, int N, int K) {
    __shared__ float As[16][17], Bs[16][17];
    const unsigned across = (N + 15) / 16, x = threadIdx.x, y = threadIdx.y;
    const size_t row = blockIdx.x / across * 16 + y, col0 = blockIdx.x % across * 16;
    float sum = 0.0f;
    for (int k0 = 0; k0 < K; k0 += 16) {
        As[y][x] = row < M && k0 + x < K ? A[row * K + k0 + x] : 0.0f;
        Bs[y][x] = col0 + y < N && k0 + x < K ? B[(col0 + y) * K + k0 + x] : 0.0f;
        __syncthreads();
        for (int k = 0; k < 16; ++k) sum += As[y][k] * Bs[x][k];
        __syncthreads();
    }
    if (row < M && col0 + x < N) C[row * N + col0 + x] = sum;
}

constexpr int wide = 32, high = 8;  // the part of y that a block has

__global__ void add_bias_kernel(float* y, const float* bias, int rows, int out_features, int across) {
    const size_t row = size_t{blockIdx.x / across} * high + threadIdx.y;
    const int column = blockIdx.x % across * wide + threadIdx.x;
    if (row < rows && column < out_features) y[row * out_features + column] += bias[column];
}

extern "C" cudaError_t layernorm_linear(const float* x, const float* gamma, const float* beta, const float* W,
                                        const float* bias, float* y, float* mean, float* rstd, int rows, int cols,
                                        int out_features, float eps, cudaStream_t stream) {
    float* normed = nullptr;
    cudaError_t error = cudaMallocAsync(&normed, size_t(rows) * cols * sizeof(float) + 16, stream);
    if (error != cudaSuccess) return error;
    error = layernorm(x, gamma, beta, normed, mean, rstd, rows, cols, eps, stream);
    if (error != cudaSuccess) return error;
    const unsigned tiles = (rows + 15) / 16 * ((out_features + 15) / 16);
    if (tiles) product_kernel<<<tiles, dim3(16, 16), 0, stream>>>(normed, W, y, rows, out_features, cols);
    error = cudaGetLastError();
    if (error != cudaSuccess) return error;
    error = cudaFreeAsync(normed, stream);
    if (error != cudaSuccess) return error;
    if (rows == 0 || out_features == 0) return cudaSuccess;
    const int down = (rows + high - 1) / high, across = (out_features + wide - 1) / wide;
    add_bias_kernel<<<down * across, dim3(wide, high), 0, stream>>>(y, bias, rows, out_features, across);
    return cudaGetLastError();
}
