// online_softmax: y[r][c] = exp(x[r][c]) / (the sum of exp(x[r][·])), with the maximum and the sum in one pass
//
// Why    5.7 reads each row three times: for the maximum, for the sum, for the quotients. The sum has to wait for the
//        maximum, or so it seems. But a sum of exp(x - old) becomes a sum of exp(x - new) by one factor,
//        exp(old - new). So both can grow together, a row of scores may arrive piece by piece, and nobody has to store
//        it. The rest of this puzzle is built on that.
// Given  x and y [rows, cols], floats in device memory, row-major, cols at least 1; elements of x may be -infinity, but
//        not all of a row. `Seen`, what is known of the elements seen so far; seen_by_block, which puts together what
//        the threads of a block have seen, and tells all of them; a launcher with a block a row.
// Write  about 8 lines. `together`: what is known of two sets of elements, either of which may be empty or hold
//        -infinity alone; then the kernel's body: one loop over the columns of this thread, and one for the quotients.
// Goal   x is read twice at most; nothing but y is stored, and once; loads and stores are coalesced.
#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>  // INFINITY

constexpr int warp = 32, most_threads = 256;

struct Seen {
    float largest, sum;  // the maximum, and the sum of exp(x - largest); of no elements: -infinity and 0
};

__device__ inline Seen together(Seen a, [[maybe_unused]] Seen b) {
    // --- your code ---
    const float largest = fmaxf(a.largest, b.largest);
    if (largest == -INFINITY) return {largest, 0.0f};  // -infinity minus itself is NaN
    a = {largest, a.sum * expf(a.largest - largest) + b.sum * expf(b.largest - largest)};
    // --- end ---
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
    // --- your code ---
    Seen seen = {-INFINITY, 0.0f};
#pragma unroll 4
    for (int c = threadIdx.x; c < cols; c += blockDim.x) seen = together(seen, {from[c], 1.0f});
    seen = seen_by_block(seen);
#pragma unroll 4
    for (int c = threadIdx.x; c < cols; c += blockDim.x) to[c] = expf(from[c] - seen.largest) / seen.sum;
    // --- end ---
}

extern "C" cudaError_t online_softmax(const float* x, float* y, int rows, int cols, cudaStream_t stream) {
    if (rows == 0) return cudaSuccess;
    const int threads = std::min((cols + warp - 1) / warp * warp, most_threads);
    online_softmax_kernel<<<rows, threads, 0, stream>>>(x, y, cols);
    return cudaGetLastError();
}
