// flash_attention_f32: all scores of a query are kept, by a thread
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
    // all scores of a lane's row in local memory: no online softmax at all
    float s[rows][16];
    const int off = k_len - q_len, end = causal ? min(k_len, first + tile + off) : k_len;
    float m[rows], l[rows] = {}, t[rows][each] = {};
    for (float& x : m) x = -INFINITY;
    int n = 0;
    for (int start = 0; start < end; start += tile, ++n) {
        __syncthreads();
        for (int j = mine; j < tile; j += warps)
            for (int c = lane; c < wide; c += warp)
                keys[j][c ^ j] = start + j < k_len && c < d ? k[size_t(start + j) * d + c] : 0.0f;
        __syncthreads();
        for (int r = 0; r < rows; ++r) {
            float x = 0;
            for (int c = 0; c < wide; ++c) x += queries[row + r][c] * keys[lane][c ^ lane];
            const int key = start + lane;
            s[r][n] = x = key < k_len && (!causal || key <= first + row + r + off) ? x * scale : -INFINITY;
            m[r] = fmaxf(m[r], warp_max(x));
        }
    }
    n = 0;
    for (int start = 0; start < end; start += tile, ++n) {
        __syncthreads();
        for (int j = mine; j < tile; j += warps)
            for (int c = lane; c < wide; c += warp)
                values[j][c] = start + j < k_len && c < d ? v[size_t(start + j) * d + c] : 0.0f;
        __syncthreads();
        for (int r = 0; r < rows; ++r) {
            const float w = m[r] == -INFINITY ? 0 : expf(s[r][n] - m[r]);
            l[r] += w;
            for (int j = 0; j < tile; ++j) {
                const float u = __shfl_sync(~0u, w, j);
                for (int e = 0; e < each; ++e) t[r][e] += u * values[j][lane + e * warp];
            }
        }
    }
    for (int r = 0; r < rows; ++r) {
        const int i = first + row + r;
        const float sum = warp_sum(l[r]);
        if (i >= q_len) continue;
        for (int e = 0, c = lane; e < each; ++e, c += warp)
            if (c < d) o[size_t(i) * d + c] = sum > 0 ? t[r][e] / sum : 0;
        if (!lane) lse[i] = m[r] + logf(sum);
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
