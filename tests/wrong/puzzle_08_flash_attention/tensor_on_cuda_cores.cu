// flash_attention: right, without tensor cores: a warp a query
#include <cuda_fp16.h>

__global__ void flash_attention_kernel(const half* q, const half* k, const half* v, half* o, float* lse, int q_len,
                                       int k_len, int d, float scale, bool causal) {
    const size_t row = blockIdx.x, b = row / q_len;
    const int lane = threadIdx.x, seen = causal ? min(k_len, int(row % q_len) + 1 + k_len - q_len) : k_len;
    float acc[4] = {}, sum = 0.0f, high = -1e38f;
    for (int j = 0; j < seen; ++j) {
        const size_t at = (b * k_len + j) * d;
        float s = 0.0f;
        for (int c = lane; c < d; c += 32) s += __half2float(q[row * d + c]) * __half2float(k[at + c]);
        for (int other = 1; other < 32; other *= 2) s += __shfl_xor_sync(~0u, s, other);
        const float most = fmaxf(high, s * scale), by = expf(high - most), p = expf(s * scale - most);
        high = most;
        sum = sum * by + p;
        for (int i = 0; i < d / 32; ++i) acc[i] = acc[i] * by + p * __half2float(v[at + 32 * i + lane]);
    }
    for (int i = 0; i < d / 32; ++i) o[row * d + 32 * i + lane] = __float2half(sum > 0.0f ? acc[i] / sum : 0.0f);
    if (lane == 0) lse[row] = high + logf(sum);
}

extern "C" cudaError_t flash_attention(const half* q, const half* k, const half* v, half* o, float* lse, int bh,
                                       int q_len, int k_len, int d, float scale, int causal, cudaStream_t stream) {
    if (bh == 0 || q_len == 0) return cudaSuccess;
    flash_attention_kernel<<<bh * q_len, 32, 0, stream>>>(q, k, v, o, lse, q_len, k_len, d, scale, causal);
    return cudaGetLastError();
}
