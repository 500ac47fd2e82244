// online_softmax: x is copied to y, and y is read three times
#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>  // INFINITY

constexpr int warp = 32, most_threads = 256;

struct Seen {
    float largest, sum;  // the maximum, and the sum of exp(x - largest); of no elements: -infinity and 0
};

__device__ inline Seen together(Seen a, [[maybe_unused]] Seen b) {
    if (b.largest == -INFINITY) return a;
    float m = fmaxf(a.largest, b.largest);
    return {m, a.sum * expf(a.largest - m) + b.sum * expf(b.largest - m)};
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
    [[maybe_unused]] const float* from = x + size_t{blockIdx.x} * cols;
    [[maybe_unused]] float* to = y + size_t{blockIdx.x} * cols;
    float m = -INFINITY, l = 0;
    for (int c = threadIdx.x; c < cols; c += blockDim.x) m = fmaxf(m, to[c] = from[c]);
    if (m > -INFINITY)
        for (int c = threadIdx.x; c < cols; c += blockDim.x) l += expf(to[c] - m);
    const Seen s = seen_by_block({m, l});
    for (int c = threadIdx.x; c < cols; c += blockDim.x) to[c] = expf(to[c] - s.largest) / s.sum;
}

extern "C" cudaError_t online_softmax(const float* x, float* y, int rows, int cols, cudaStream_t stream) {
    if (rows == 0) return cudaSuccess;
    const int threads = std::min((cols + warp - 1) / warp * warp, most_threads);
    online_softmax_kernel<<<rows, threads, 0, stream>>>(x, y, cols);
    return cudaGetLastError();
}
