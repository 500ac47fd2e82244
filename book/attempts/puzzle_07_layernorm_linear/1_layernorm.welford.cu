// layernorm: y[r][c] = (x[r][c] - mean[r]) · rstd[r] · gamma[c] + beta[c], a block a row
//
// Why    A GPT, a BERT or a vision transformer centres each row before it scales it. The variance is then about a mean
//        that has to be known first. The mean of the squares minus the square of the mean would need one pass, and
//        where the mean is large against the spread it is the difference of two numbers that are nearly equal.
// Given  x and y, rows × cols floats each in row-major order, cols at least 1; gamma and beta, cols floats each; mean
//        and rstd, rows floats each, all in device memory; eps by value; block_sum, which may be called again and
//        again; a launcher with a block for each row: a thread for each column, in whole warps, and 512 at most.
// Write  the kernel's body, about 10 lines: the mean of the row; the mean of the squared distances from it, which is
//        the variance, divided by cols; rstd = 1 / √(variance + eps), of which one thread writes both; the row of y.
// Goal   Loads and stores are coalesced, and each result is written once.
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
    [[maybe_unused]] const size_t row = blockIdx.x, begin = row * cols;
    // --- your code ---
    float m = 0.0f, squares = 0.0f;  // of what this thread has seen: the mean, and the squared distances from it
    int seen = 0;
    for (int c = threadIdx.x; c < cols; c += blockDim.x) {
        const float value = x[begin + c], before = value - m;
        m += before / ++seen;
        squares += before * (value - m);
    }
    const float all = block_sum(m * seen) / cols;  // the row's mean, of the means of the threads
    squares = block_sum(squares + seen * (m - all) * (m - all));
    const float r = rsqrtf(squares / cols + eps);
    if (threadIdx.x == 0) {
        mean[row] = all;
        rstd[row] = r;
    }
    for (int c = threadIdx.x; c < cols; c += blockDim.x) y[begin + c] = (x[begin + c] - all) * r * gamma[c] + beta[c];
    // --- end ---
}

extern "C" cudaError_t layernorm(const float* x, const float* gamma, const float* beta, float* y, float* mean,
                                 float* rstd, int rows, int cols, float eps, cudaStream_t stream) {
    if (rows == 0) return cudaSuccess;
    const int threads = std::min((cols + warp - 1) / warp * warp, most_threads);
    layernorm_kernel<<<rows, threads, 0, stream>>>(x, gamma, beta, y, mean, rstd, cols, eps);
    return cudaGetLastError();
}
