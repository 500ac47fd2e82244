// flash_attention_f32: the scores of all queries and keys, in a variable of the device
#include <cuda_runtime.h>

#include <cmath>

__device__ float scores[1 << 22];

__global__ void scores_kernel(const float* q, const float* k, int q_len, int k_len, int d, float scale) {
    const size_t head = blockIdx.x;
    for (int t = threadIdx.x; t < q_len * k_len; t += blockDim.x) {
        float sum = 0.0f;
        for (int c = 0; c < d; ++c)
            sum += q[(head * q_len + t / k_len) * d + c] * k[(head * k_len + t % k_len) * d + c];
        scores[head * q_len * k_len + t] = scale * sum;
    }
}

__global__ void sums_kernel(const float* v, float* o, float* lse, int q_len, int k_len, int d, int causal) {
    const int i = blockIdx.x % q_len;
    const size_t head = blockIdx.x / q_len, query = blockIdx.x;
    const int seen = causal ? min(i + k_len - q_len + 1, k_len) : k_len;
    float largest = -INFINITY, sum = 0.0f;
    for (int j = 0; j < seen; ++j) largest = fmaxf(largest, scores[query * k_len + j]);
    for (int j = 0; j < seen; ++j) sum += expf(scores[query * k_len + j] - largest);
    for (int c = threadIdx.x; c < d; c += blockDim.x) {
        float total = 0.0f;
        for (int j = 0; j < seen; ++j)
            total += expf(scores[query * k_len + j] - largest) * v[(head * k_len + j) * d + c];
        o[query * d + c] = sum > 0.0f ? total / sum : 0.0f;
    }
    if (threadIdx.x == 0) lse[query] = largest + logf(sum);
}

extern "C" cudaError_t flash_attention_f32(const float* q, const float* k, const float* v, float* o, float* lse, int bh,
                                           int q_len, int k_len, int d, float scale, int causal, cudaStream_t stream) {
    if (bh == 0 || q_len == 0) return cudaSuccess;
    scores_kernel<<<bh, 128, 0, stream>>>(q, k, q_len, k_len, d, scale);
    sums_kernel<<<bh * q_len, 64, 0, stream>>>(v, o, lse, q_len, k_len, d, causal);
    return cudaGetLastError();
}
