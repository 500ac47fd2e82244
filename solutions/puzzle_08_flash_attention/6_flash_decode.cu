// flash_decode: attention of one query to a cache of keys and values, which is split among warps and merged again
//
// Why    When a model writes text, each new token asks one question of all tokens before it. There is one row of
//        scores and hardly any arithmetic: what counts is to read k and v once, with all of the GPU.
// Given  q and o, bh × d halves, k and v, bh × k_len × d, pointers at multiples of 16 bytes; d, a multiple of 8, at most
//        128; workspace, bh × 64 × (d + 2) floats. A warp has the keys from `begin` to before `end`, perhaps none. Of
//        `lanes` lanes that share a key, each has eight columns. log2(e) is in qs: a weight is 2 to the power of a score.
// Write  about 25 lines: 8.3 for four keys at a time, whose rows are loaded first; then the merging of all splits.
// Goal   k and v are read once, 16 bytes at a time.
#include <cuda_fp16.h>

constexpr int most_splits = 64, threads = 128;
#ifndef UNROLL
#define UNROLL 4
#define TARGET 8192
#endif

struct alignas(16) Eight {
    half2 of[4];
};

__device__ inline Eight load(const half* row, bool is_there) {
    return is_there ? *reinterpret_cast<const Eight*>(row) : Eight{};
}

template <int lanes>
__global__ void flash_decode_kernel(const half* q, const half* k, const half* v, float* workspace, int bh, int k_len,
                                    int d, float scale, int splits) {
    const int warp = blockIdx.x * (threads / 32) + threadIdx.x / 32, lane = threadIdx.x % 32;
    const int b = warp / splits, split = warp % splits, column = lane % lanes * 8;
    if (b >= bh) return;
    const int share = (k_len + splits - 1) / splits, begin = share * split, end = min(k_len, begin + share);
    k += size_t(b) * k_len * d + column, v += size_t(b) * k_len * d + column;
    const Eight qs = load(q + size_t(b) * d + column, column < d);
    float qf[8], acc[8] = {}, sum = 0.0f, high = -1e38f;
    for (int i = 0; i < 8; ++i) qf[i] = scale * (i % 2 ? __high2float(qs.of[i / 2]) : __low2float(qs.of[i / 2]));
    for (int key = begin + lane / lanes; key - lane / lanes < end; key += UNROLL * (32 / lanes)) {
        Eight ks[UNROLL], vs[UNROLL];
        float s[UNROLL], most = high;
        for (int u = 0; u < UNROLL; ++u) {
            const int j = key + u * (32 / lanes);
            ks[u] = load(k + size_t(j) * d, j < end && column < d);
            vs[u] = load(v + size_t(j) * d, j < end && column < d);
        }
        for (int u = 0; u < UNROLL; ++u) {
            s[u] = 0.0f;
            for (int i = 0; i < 4; ++i)
                s[u] += qf[2 * i] * __low2float(ks[u].of[i]) + qf[2 * i + 1] * __high2float(ks[u].of[i]);
            for (int other = 1; other < lanes; other *= 2) s[u] += __shfl_xor_sync(~0u, s[u], other);
            if (key + u * (32 / lanes) >= end) s[u] = -INFINITY;
            most = fmaxf(most, s[u]);
        }
        for (int other = lanes; other < 32; other *= 2) most = fmaxf(most, __shfl_xor_sync(~0u, most, other));
        const float by = exp2f(high - most);
        high = most, sum *= by;
        for (int i = 0; i < 8; ++i) acc[i] *= by;
        for (int u = 0; u < UNROLL; ++u) {
            const float p = exp2f(s[u] - high);
            sum += p;
            for (int i = 0; i < 4; ++i) {
                acc[2 * i] += p * __low2float(vs[u].of[i]);
                acc[2 * i + 1] += p * __high2float(vs[u].of[i]);
            }
        }
    }
    for (int other = lanes; other < 32; other *= 2) {
        sum += __shfl_xor_sync(~0u, sum, other);
        for (int i = 0; i < 8; ++i) acc[i] += __shfl_xor_sync(~0u, acc[i], other);
    }
    float* const to = workspace + (size_t(b) * most_splits + split) * (d + 2);
    if (lane == 0) to[d] = high, to[d + 1] = sum;
    if (lane < lanes && column < d)
        for (int i = 0; i < 8; ++i) to[column + i] = acc[i];
}

__global__ void merge_kernel(const float* workspace, half* o, int d, int splits) {
    const float* const from = workspace + size_t(blockIdx.x) * most_splits * (d + 2);
    float high = -1e38f, sum = 0.0f, value = 0.0f;
    for (int i = 0; i < splits; ++i) high = fmaxf(high, from[i * (d + 2) + d]);
    for (int i = 0; i < splits; ++i) {
        const float by = exp2f(from[i * (d + 2) + d] - high);
        sum += by * from[i * (d + 2) + d + 1];
        value += by * from[i * (d + 2) + threadIdx.x];
    }
    o[size_t(blockIdx.x) * d + threadIdx.x] = __float2half(sum > 0.0f ? value / sum : 0.0f);
}

extern "C" cudaError_t flash_decode(const half* q, const half* k, const half* v, half* o, float* workspace, int bh,
                                    int k_len, int d, float scale, cudaStream_t stream) {
    if (bh == 0) return cudaSuccess;
    const int splits = bh < TARGET ? min(most_splits, TARGET / bh) : 1;
    const auto kernel = d <= 64 ? flash_decode_kernel<8> : flash_decode_kernel<16>;
    const int blocks = (bh * splits + threads / 32 - 1) / (threads / 32);
    kernel<<<blocks, threads, 0, stream>>>(q, k, v, workspace, bh, k_len, d, scale * float(M_LOG2E), splits);
    merge_kernel<<<bh, d, 0, stream>>>(workspace, o, d, splits);
    return cudaGetLastError();
}
