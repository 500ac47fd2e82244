// attention_row: o = softmax(scale · q · kᵀ) · v for one query, each key and each value read once, no score stored
//
// Why    A model that writes a text has one new query and all the keys of the past. 8.1 keeps a score for each key, as
//        the weights need the sum of all. But what 8.2 does with the sum also works for o: it is a sum of exp(score -
//        largest) · v, so whenever the largest score grows, one factor brings all that was added up to the new one.
// Given  q and o [bh, d], k and v [bh, k_len, d], floats in device memory, row-major; d from 1 to 128; scale by value;
//        for k_len = 0 o is 0. `Columns`: of a row of d floats, those that one lane has, c = lane, lane + 32, …, and 0
//        past the end; columns, which loads them; warp_sum; a launcher with a warp for each of the bh rows.
// Write  the kernel's body, about 12 lines: a loop over the keys, which keeps the largest score, the sum and the
//        weighted sum of the values; then o.
// Goal   k and v are read once; nothing but o is stored; what a block and a thread keep does not grow with k_len.
#include <cuda_runtime.h>

#include <cmath>  // INFINITY

constexpr int warp = 32, threads = 128, each = 4;

struct Columns {
    float of[each];
};

// This lane's columns of a row of d floats.
__device__ inline Columns columns(const float* __restrict__ row, int d) {
    Columns mine = {};
    for (int i = 0, c = threadIdx.x % warp; i < each; ++i, c += warp)
        if (c < d) mine.of[i] = row[c];
    return mine;
}

// Every lane returns the sum of the 32 values of its warp. All 32 lanes must call it together.
__device__ inline float warp_sum(float value) {
    for (int offset = warp / 2; offset > 0; offset /= 2) value += __shfl_xor_sync(~0u, value, offset);
    return value;
}

__global__ void attention_row_kernel(const float* __restrict__ q, const float* __restrict__ k,
                                     const float* __restrict__ v, float* __restrict__ o, int bh, int k_len, int d,
                                     [[maybe_unused]] float scale) {
    const unsigned row = blockIdx.x * (threads / warp) + threadIdx.x / warp;
    if (row >= bh) return;  // a whole warp
    [[maybe_unused]] const Columns query = columns(q + size_t{row} * d, d);
    k += size_t{row} * k_len * d, v += size_t{row} * k_len * d, o += size_t{row} * d;
    // --- your code ---
    // --- end ---
}

extern "C" cudaError_t attention_row(const float* q, const float* k, const float* v, float* o, int bh, int k_len, int d,
                                     float scale, cudaStream_t stream) {
    if (bh == 0) return cudaSuccess;
    constexpr int rows = threads / warp;
    attention_row_kernel<<<(bh + rows - 1) / rows, threads, 0, stream>>>(q, k, v, o, bh, k_len, d, scale);
    return cudaGetLastError();
}
