// flash_decode: eight loads of two bytes in place of one of 16
#include <cuda_fp16.h>

constexpr int most_splits = 64, threads = 128, ahead = 4;

struct alignas(16) Eight {
    half of[8];
};

__device__ inline Eight load(const half* row, bool is_there) {
    Eight eight = {};
    for (int i = 0; i < 8 && is_there; ++i) eight.of[i] = row[i];
    return eight;
}

template <int lanes>
__global__ void flash_decode_kernel(const half* q, const half* k, const half* v, float* workspace, int bh, int k_len,
                                    int d, float scale, int splits) {
    const int warp = blockIdx.x * (threads / 32) + threadIdx.x / 32, lane = threadIdx.x % 32, column = lane % lanes * 8;
    const int share = (k_len + splits - 1) / splits, begin = share * (warp % splits), end = min(k_len, begin + share);
    const size_t b = warp / splits;
    if (b >= bh) return;
    float qs[8], acc[8] = {}, sum = 0.0f, high = -1e38f;  // below any score
    const Eight from = load(q + b * d + column, column < d);
    for (int i = 0; i < 8; ++i) qs[i] = scale * __half2float(from.of[i]);
    for (int first = begin; first < end; first += ahead * (32 / lanes)) {
        Eight ks[ahead], vs[ahead];
        [[maybe_unused]] float s[ahead] = {}, most = high;
        for (int u = 0; u < ahead; ++u) {
            const int key = first + (32 * u + lane) / lanes;
            const bool is_there = key < end && column < d;
            ks[u] = load(k + (b * k_len + key) * d + column, is_there);
            vs[u] = load(v + (b * k_len + key) * d + column, is_there);
        }
        for (int u = 0; u < ahead; ++u) {
            for (int i = 0; i < 8; ++i) s[u] += qs[i] * __half2float(ks[u].of[i]);
            for (int other = 1; other < lanes; other *= 2) s[u] += __shfl_xor_sync(~0u, s[u], other);
            if (first + (32 * u + lane) / lanes >= end) s[u] = -INFINITY;
            most = fmaxf(most, s[u]);
        }
        for (int other = lanes; other < 32; other *= 2) most = fmaxf(most, __shfl_xor_sync(~0u, most, other));
        const float by = exp2f(high - most);
        high = most, sum *= by;
        for (float& x : acc) x *= by;
        for (int u = 0; u < ahead; ++u) {
            const float p = exp2f(s[u] - high);
            sum += p;
            for (int i = 0; i < 8; ++i) acc[i] += p * __half2float(vs[u].of[i]);
        }
    }
    for (int other = lanes; other < 32; other *= 2) sum += __shfl_xor_sync(~0u, sum, other);
    float* const to = workspace + (b * most_splits + warp % splits) * (d + 2);
    if (lane == 0) to[d] = high, to[d + 1] = sum;
    for (int i = 0; i < 8; ++i) {
        for (int other = lanes; other < 32; other *= 2) acc[i] += __shfl_xor_sync(~0u, acc[i], other);
        if (lane < lanes && column < d) to[column + i] = acc[i];
    }
}

__global__ void merge_kernel(const float* workspace, half* o, int d, int splits) {
    [[maybe_unused]] const float* const from = workspace + size_t(blockIdx.x) * most_splits * (d + 2);
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
    const int splits = min(most_splits, (2047 + bh) / bh);  // 2,048 warps keep a large GPU busy
    const auto kernel = d <= 64 ? flash_decode_kernel<8> : flash_decode_kernel<16>;
    kernel<<<(bh * splits + 3) / 4, threads, 0, stream>>>(q, k, v, workspace, bh, k_len, d, scale * float(M_LOG2E),
                                                          splits);
    merge_kernel<<<bh, d, 0, stream>>>(workspace, o, d, splits);
    return cudaGetLastError();
}
