// flash_attention_f32: the keys are swizzled, and read as if they were not
#include <cuda_runtime.h>

#include <cmath>  // INFINITY

constexpr int warp = 32, warps = 8, tile = 32, rows = tile / warps;

__device__ inline float warp_max(float value) {
    for (int offset = warp / 2; offset > 0; offset /= 2) value = fmaxf(value, __shfl_xor_sync(~0u, value, offset));
    return value;
}

__device__ inline float warp_sum(float value) {
    for (int offset = warp / 2; offset > 0; offset /= 2) value += __shfl_xor_sync(~0u, value, offset);
    return value;
}

template <int each>
__global__ void flash_attention_f32_kernel(const float* __restrict__ q, const float* __restrict__ k,
                                           const float* __restrict__ v, float* __restrict__ o, float* __restrict__ lse,
                                           int q_len, int k_len, int d, float scale, int causal) {
    constexpr int wide = warp * each;
    __shared__ float queries[tile][wide], keys[tile][wide], values[tile][wide];
    const int lane = threadIdx.x % warp, mine = threadIdx.x / warp, tiles = (q_len + tile - 1) / tile;
    const int first = blockIdx.x % tiles * tile;  // the query of row 0
    const int row = mine * rows;
    const size_t head = blockIdx.x / tiles;
    q += head * q_len * d, o += head * q_len * d, k += head * k_len * d, v += head * k_len * d, lse += head * q_len;
    for (int i = mine; i < tile; i += warps)
        for (int c = lane; c < wide; c += warp)
            queries[i][c] = first + i < q_len && c < d ? q[size_t(first + i) * d + c] : 0.0f;
    float total[rows][each] = {}, sum[rows] = {}, largest[rows];
    for (float& one : largest) one = -INFINITY;
    const int ahead = k_len - q_len, end = causal ? min(first + tile + ahead, k_len) : k_len;
    for (int k0 = 0; k0 < end; k0 += tile) {
        __syncthreads();  // all have read the tiles before
        for (int j = mine; j < tile; j += warps)
            for (int c = lane; c < wide; c += warp) {
                const bool there = k0 + j < k_len && c < d;
                keys[j][c ^ j] = there ? k[size_t(k0 + j) * d + c] : 0.0f;
                values[j][c] = there ? v[size_t(k0 + j) * d + c] : 0.0f;  // 0 times what lies there may be NaN
            }
        __syncthreads();
        float score[rows] = {};
        for (int c = 0; c < wide; ++c)
            for (int r = 0; r < rows; ++r) score[r] += queries[row + r][c] * keys[lane][c];
        for (int r = 0; r < rows; ++r) {
            const int j = k0 + lane, i = first + row + r;
            score[r] = j < k_len && (!causal || j <= i + ahead) ? scale * score[r] : -INFINITY;
            const float next = fmaxf(largest[r], warp_max(score[r]));
            const float base = next > -INFINITY ? next : 0.0f;  // -infinity minus itself is NaN
            const float shrink = expf(largest[r] - base);
            largest[r] = next;
            score[r] = expf(score[r] - base);
            sum[r] = sum[r] * shrink + warp_sum(score[r]);
            for (float& one : total[r]) one *= shrink;
        }
        for (int j = 0; j < tile; ++j)
            for (int r = 0; r < rows; ++r) {
                const float weight = __shfl_sync(~0u, score[r], j);
                for (int i = 0; i < each; ++i) total[r][i] += weight * values[j][lane + warp * i];
            }
    }
    for (int r = 0, i = first + row; r < rows && i < q_len; ++r, ++i) {
        if (lane == 0) lse[i] = largest[r] + logf(sum[r]);
        for (int c = lane; c < d; c += warp) o[size_t(i) * d + c] = sum[r] > 0.0f ? total[r][c / warp] / sum[r] : 0.0f;
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
