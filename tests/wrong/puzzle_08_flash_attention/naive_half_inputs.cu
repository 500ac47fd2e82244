// attention_naive: queries, keys and values go through half
#include <cuda_fp16.h>
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
    for (int c = 0; c < d; ++c) sum += __half2float(__float2half(a[c])) * __half2float(__float2half(b[c]));
    return sum;
}

__global__ void attention_naive_kernel(const float* __restrict__ q, const float* __restrict__ k,
                                       const float* __restrict__ v, float* __restrict__ o, float* scores, int q_len,
                                       int k_len, int d, float scale, int causal) {
    const int i = blockIdx.x % q_len;
    const size_t head = blockIdx.x / q_len, query = blockIdx.x;
    float* row = scores + query * k_len;  // the scores of this query
    q += query * d, o += query * d, k += head * k_len * d, v += head * k_len * d;
    const int seen = causal ? min(i + k_len - q_len + 1, k_len) : k_len;  // 0 or less for a row that sees nothing
    float largest = -INFINITY, sum = 0.0f;
    for (int j = threadIdx.x; j < seen; j += threads) {
        row[j] = scale * dot(q, k + size_t(j) * d, d);
        largest = fmaxf(largest, row[j]);
    }
    largest = block_max(largest);
    for (int j = threadIdx.x; j < seen; j += threads) sum += row[j] = expf(row[j] - largest);
    sum = block_sum(sum);  // all of row is there now
    for (int c = threadIdx.x; c < d; c += threads) {
        float value = 0.0f;
        for (int j = 0; j < seen; ++j) value += row[j] * __half2float(__float2half(v[size_t(j) * d + c]));
        o[c] = sum > 0.0f ? value / sum : 0.0f;
    }
}

extern "C" cudaError_t attention_naive(const float* q, const float* k, const float* v, float* o, float* scores, int bh,
                                       int q_len, int k_len, int d, float scale, int causal, cudaStream_t stream) {
    if (bh == 0 || q_len == 0) return cudaSuccess;
    attention_naive_kernel<<<unsigned(bh) * q_len, threads, 0, stream>>>(q, k, v, o, scores, q_len, k_len, d, scale,
                                                                         causal);
    return cudaGetLastError();
}
