// layernorm_backward: the gradients of a loss by x, gamma and beta, where dy is the gradient by y = layernorm(x)
//
// Why    Each x of a row sits in its own y, and through mean and rstd in all of the row. With g = gamma · dy:
//            n = (x - mean) · rstd          dx = rstd · (g - the mean of g - n · the mean of g · n)
//        Both means are over the row. dgamma[c] adds up dy · n down column c, dbeta[c] dy, by partial sums as in 6.6.
// Given  dy, x and dx [rows, cols], gamma, dgamma and dbeta [cols], cols at least 1; mean and rstd of each row, as 7.1
//        has saved them; workspace, 512 × cols floats that hold anything; block_sums, two sums at once for every
//        thread; a launcher. A block has 2 · cols partial sums, sums[c] for dgamma[c] and sums[cols + c] for dbeta[c]:
//        up to 4,096 columns in shared memory, which is copied to the workspace in the end.
// Write  about 20 lines. Partial sums begin at 0. Each of the block's rows is gone through twice, once for both means,
//        once for dx and the partial sums. In the second kernel a thread has one of the 2 · cols sums, and adds up what
//        the blocks have left of it; for rows = 0 that is nothing, and the sum is 0.
// Goal   Equal bits in whatever order warps and blocks run; loads and stores are coalesced.
#include <cuda_runtime.h>

#include <algorithm>

constexpr int warp = 32, most_threads = 512, most_blocks = 256, most_near = 4096;

__device__ inline float2 warp_sums(float2 value) {
    for (int offset = warp / 2; offset > 0; offset /= 2)
        value = {value.x + __shfl_xor_sync(~0u, value.x, offset), value.y + __shfl_xor_sync(~0u, value.y, offset)};
    return value;
}

// Every thread returns the sums of both values over its block. All must call it together.
__device__ inline float2 block_sums(float2 value) {
    __shared__ float2 of_warp[most_threads / warp];
    const unsigned lane = threadIdx.x % warp;
    value = warp_sums(value);
    __syncthreads();  // the call before this one has been read by all
    if (lane == 0) of_warp[threadIdx.x / warp] = value;
    __syncthreads();
    return warp_sums(lane < blockDim.x / warp ? of_warp[lane] : float2{0.0f, 0.0f});
}

__global__ void __launch_bounds__(most_threads, 2)
    layernorm_backward_kernel(const float* __restrict__ dy, const float* __restrict__ x,
                              const float* __restrict__ gamma, const float* __restrict__ mean,
                              const float* __restrict__ rstd, float* __restrict__ dx, float* workspace, int rows,
                              int cols) {
    __shared__ float near[2 * most_near];
    float* of_block = workspace + 2 * size_t{blockIdx.x} * cols;  // 2 · cols floats of this block's own
    [[maybe_unused]] float* sums = cols <= most_near ? near : of_block;
    // --- your code ---
    // --- end ---
    for (int row = blockIdx.x; row < rows; row += gridDim.x) {
        [[maybe_unused]] const size_t begin = size_t(row) * cols;
        [[maybe_unused]] const float shift = mean[row], scale = rstd[row];
        // --- your code ---
        // --- end ---
    }
    if (cols <= most_near)
        for (int c = threadIdx.x; c < cols; c += blockDim.x) of_block[c] = near[c], of_block[cols + c] = near[cols + c];
}

__global__ void column_sum_kernel(const float* __restrict__ partial, float* __restrict__ dgamma,
                                  float* __restrict__ dbeta, int blocks, int cols) {
    // --- your code ---
    // --- end ---
}

extern "C" cudaError_t layernorm_backward(const float* dy, const float* x, const float* gamma, const float* mean,
                                          const float* rstd, float* dx, float* dgamma, float* dbeta, float* workspace,
                                          int rows, int cols, cudaStream_t stream) {
    const int blocks = std::min(rows, most_blocks), threads = std::min((cols + warp - 1) / warp * warp, most_threads);
    if (blocks > 0)
        layernorm_backward_kernel<<<blocks, threads, 0, stream>>>(dy, x, gamma, mean, rstd, dx, workspace, rows, cols);
    column_sum_kernel<<<(2 * cols + warp - 1) / warp, warp, 0, stream>>>(workspace, dgamma, dbeta, blocks, cols);
    return cudaGetLastError();
}
