// attention_naive: o = softmax(scale · q · kᵀ) · v, with all scores in memory
//
// Why    Each token asks all others: a query is compared with every key, the softmax makes weights of these scores, and
//        the weighted sum of the values is the answer. Here is all of it, as the formula says it, and as slow.
// Given  q and o [bh, q_len, d], k and v [bh, k_len, d], floats in device memory, row-major; bh is batch times heads;
//        scores [bh, q_len, k_len], scratch that holds anything at all; d at least 1; scale by value. With causal = 1
//        query i sees the keys j <= i + k_len - q_len alone, so that the last query sees the last key; with causal = 0
//        all keys. A query that sees none gives zeros. block_max and block_sum; a launcher with a block a query.
// Write  the kernel's body, about 12 lines: how many keys this query sees; their scores, into row, and the largest;
//        the exponentials of score - largest, and their sum; for each column c of o the weighted sum of v.
#include <cuda_runtime.h>

#include <cmath>  // INFINITY

constexpr int warp = 32, threads = 128;

// Every thread returns the maximum of the values of its block. All must call it together, and once.
__device__ inline float block_max(float value) {
    __shared__ float of_warp[threads / warp];
    for (int offset = warp / 2; offset > 0; offset /= 2) value = fmaxf(value, __shfl_xor_sync(~0u, value, offset));
    if (threadIdx.x % warp == 0) of_warp[threadIdx.x / warp] = value;
    __syncthreads();
    for (float each : of_warp) value = fmaxf(value, each);
    return value;
}

// The same for the sum. What any thread of the block has stored before, all can read afterwards.
__device__ inline float block_sum(float value) {
    __shared__ float of_warp[threads / warp];
    for (int offset = warp / 2; offset > 0; offset /= 2) value += __shfl_xor_sync(~0u, value, offset);
    if (threadIdx.x % warp == 0) of_warp[threadIdx.x / warp] = value;
    __syncthreads();
    value = 0.0f;
    for (float each : of_warp) value += each;
    return value;
}

// The product of two rows of d floats.
__device__ inline float dot(const float* a, const float* b, int d) {
    float sum = 0.0f;
    for (int c = 0; c < d; ++c) sum += a[c] * b[c];
    return sum;
}

__global__ void attention_naive_kernel(const float* __restrict__ q, const float* __restrict__ k,
                                       const float* __restrict__ v, float* __restrict__ o, float* scores, int q_len,
                                       int k_len, int d, float scale, int causal) {
    [[maybe_unused]] const int i = blockIdx.x % q_len;
    const size_t head = blockIdx.x / q_len, query = blockIdx.x;
    [[maybe_unused]] float* row = scores + query * k_len;  // the scores of this query
    q += query * d, o += query * d, k += head * k_len * d, v += head * k_len * d;
    // --- your code ---
    float largest = -INFINITY, sum = 0.0f;
    for (int j = threadIdx.x; j < k_len; j += threads) {
        row[j] = scale * dot(q, k + size_t(j) * d, d);
        largest = fmaxf(largest, row[j]);
    }
    largest = block_max(largest);
    for (int j = threadIdx.x; j < k_len; j += threads) sum += row[j] = expf(row[j] - largest);
    sum = block_sum(sum);  // all of row is there now
    for (int c = threadIdx.x; c < d; c += threads) {
        float value = 0.0f;
        for (int j = 0; j < k_len; ++j) value += row[j] * v[size_t(j) * d + c];
        o[c] = value / sum;
    }
    // --- end ---
}

extern "C" cudaError_t attention_naive(const float* q, const float* k, const float* v, float* o, float* scores, int bh,
                                       int q_len, int k_len, int d, float scale, int causal, cudaStream_t stream) {
    if (bh == 0 || q_len == 0) return cudaSuccess;
    attention_naive_kernel<<<unsigned(bh) * q_len, threads, 0, stream>>>(q, k, v, o, scores, q_len, k_len, d, scale,
                                                                         causal);
    return cudaGetLastError();
}
