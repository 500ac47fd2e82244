// flash_attention_f32: 8.3: each query reads all keys and values itself
#include <cuda_runtime.h>

#include <cmath>

__global__ void flash_attention_f32_kernel(const float* q, const float* k, const float* v, float* o, float* lse,
                                           int q_len, int k_len, int d, float scale, int causal) {
    const int i = blockIdx.x % q_len, lane = threadIdx.x;
    const size_t head = blockIdx.x / q_len, query = blockIdx.x;
    const int seen = causal ? min(i + k_len - q_len + 1, k_len) : k_len;
    float total[4] = {}, largest = -INFINITY, sum = 0.0f;
    for (int j = 0; j < seen; ++j) {
        const size_t key = (head * k_len + j) * d;
        float score = 0.0f;
        for (int c = lane; c < d; c += 32) score += q[query * d + c] * k[key + c];
        for (int offset = 16; offset > 0; offset /= 2) score += __shfl_xor_sync(~0u, score, offset);
        score *= scale;
        const float next = fmaxf(largest, score), shrink = expf(largest - next), weight = expf(score - next);
        sum = sum * shrink + weight;
        for (int c = lane; c < d; c += 32) total[c / 32] = total[c / 32] * shrink + weight * v[key + c];
        largest = next;
    }
    for (int c = lane; c < d; c += 32) o[query * d + c] = sum > 0.0f ? total[c / 32] / sum : 0.0f;
    if (lane == 0) lse[query] = largest + logf(sum);
}

extern "C" cudaError_t flash_attention_f32(const float* q, const float* k, const float* v, float* o, float* lse, int bh,
                                           int q_len, int k_len, int d, float scale, int causal, cudaStream_t stream) {
    if (bh > 0 && q_len > 0)
        flash_attention_f32_kernel<<<bh * q_len, 32, 0, stream>>>(q, k, v, o, lse, q_len, k_len, d, scale, causal);
    return cudaGetLastError();
}
