// rmsnorm_backward_dx: the gradient of a loss by x, where y = rmsnorm(x, w) and dy is the gradient by y
//
// Why    Each x of a row sits in its own y, and through the root in all of the row. With r = 1 / √(mean of x² + eps):
//            dx[c] = r · w[c] · dy[c] - x[c] · r³ · m,   m = the mean of w · dy · x over the row
// Given  x, dy and dx, rows × cols floats each in row-major order, cols at least 1, w, cols floats, in device memory;
//        eps by value; block_sums, which gives every thread of a block two sums at once; a launcher as in 6.2.
// Write  the kernel's body, about 9 lines: both sums in one pass over the row, then dx in a second one.
// Goal   Loads and stores are coalesced.
#include <cuda_runtime.h>

#include <algorithm>

constexpr int warp = 32;
constexpr int most_threads = 512;

// Every thread returns the sums of both values over its block. All must call it together, and once.
__device__ inline float2 block_sums(float2 value) {
    __shared__ float2 of_warp[most_threads / warp];
    for (int offset = warp / 2; offset > 0; offset /= 2) {
        value.x += __shfl_down_sync(~0u, value.x, offset);
        value.y += __shfl_down_sync(~0u, value.y, offset);
    }
    if (threadIdx.x % warp == 0) of_warp[threadIdx.x / warp] = value;
    __syncthreads();
    value = {0.0f, 0.0f};
    for (int i = 0; i < blockDim.x / warp; ++i) value = {value.x + of_warp[i].x, value.y + of_warp[i].y};
    return value;
}

__global__ void rmsnorm_backward_dx_kernel(const float* __restrict__ x, const float* __restrict__ w,
                                           const float* __restrict__ dy, float* __restrict__ dx, int cols, float eps) {
    [[maybe_unused]] const size_t begin = size_t{blockIdx.x} * cols;
    // --- your code ---
    float2 sums = {0.0f, 0.0f};
    for (int c = threadIdx.x; c < cols; c += blockDim.x) {
        const float value = x[begin + c];
        sums = {sums.x + value * value, sums.y + w[c] * dy[begin + c] * value};
    }
    sums = block_sums(sums);  // one barrier for both
    const float r = rsqrtf(sums.x / cols + eps);
    const float back = r * r * (sums.y / cols);
    for (int c = threadIdx.x; c < cols; c += blockDim.x)
        dx[begin + c] = r * (w[c] * dy[begin + c] - x[begin + c] * back);
    // --- end ---
}

extern "C" cudaError_t rmsnorm_backward_dx(const float* x, const float* w, const float* dy, float* dx, int rows,
                                           int cols, float eps, cudaStream_t stream) {
    if (rows == 0) return cudaSuccess;
    const int threads = std::min((cols + warp - 1) / warp * warp, most_threads);
    rmsnorm_backward_dx_kernel<<<rows, threads, 0, stream>>>(x, w, dy, dx, cols, eps);
    return cudaGetLastError();
}
