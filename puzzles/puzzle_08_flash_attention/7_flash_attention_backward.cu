// flash_attention_backward: dq, dk and dv, with weights that are made once more instead of having been kept
//
// Why    Training needs gradients, and a matrix of weights kept for them would be what 8.5 has done away with. lse is
//        enough: exp(scale · q[i]·k[j] − lse[i]) is the weight again.
// Given  all in half but for lse; d at most 128; a kernel for delta[i], the sum of dout[i] · o[i]. A block has `tile`
//        keys and meets all queries, `tile` at a time; a thread has elements n = threadIdx.x + m * threads of tile × d.
//          p[i][j] = the weight   dv[j] = Σ p[i][j] · dout[i]   ds[i][j] = scale · p[i][j] · (dout[i]·v[j] − delta[i])
//          dk[j] = Σ ds[i][j] · q[i]   dq[i] = Σ ds[i][j] · k[j], by atomics into floats, as all blocks add to it
// Write  about 20 lines: p and ds of a tile, 0 where query i does not see key j; then the three sums.
// Goal   Nothing as large as the scores is stored.
#include <cuda_fp16.h>

constexpr int tile = 32, threads = 256, widest = 128, each = tile * widest / threads;
using Tile = half[tile][widest + 2];

__device__ inline void copy_tile(Tile to, const half* from, int rows, int d) {  // zeros behind the last row
    for (int n = threadIdx.x; n < tile * d; n += threads) to[n / d][n % d] = n / d < rows ? from[n] : half(0.0f);
}

__device__ inline float dot(const half* a, const half* b, int d) {
    float sum = 0.0f;
    for (int c = 0; c < d; ++c) sum += __half2float(a[c]) * __half2float(b[c]);
    return sum;
}

__global__ void delta_kernel(const half* o, const half* dout, float* delta, size_t rows, int d) {
    const size_t row = blockIdx.x * size_t{threads} + threadIdx.x;
    if (row < rows) delta[row] = dot(o + row * d, dout + row * d, d);
}

__global__ void round_kernel(const float* from, half* to, size_t count) {
    const size_t n = blockIdx.x * size_t{threads} + threadIdx.x;
    if (n < count) to[n] = __float2half(from[n]);
}

__global__ void gradients_kernel(const half* q, const half* k, const half* v, const half* dout, const float* lse,
                                 const float* delta, float* dq, half* dk, half* dv, int q_len, int k_len, int d,
                                 float scale, bool causal) {
    __shared__ Tile qs, ks, vs, douts;
    [[maybe_unused]] __shared__ float p[tile][tile + 1], ds[tile][tile + 1];
    const int key = blockIdx.y * tile, shift = causal ? k_len - q_len : k_len;  // query i sees key j <= i + shift
    const size_t b = blockIdx.x, at = (b * k_len + key) * d;
    q += b * q_len * d, dout += b * q_len * d, dq += b * q_len * d, lse += b * q_len, delta += b * q_len;
    copy_tile(ks, k + at, k_len - key, d);
    copy_tile(vs, v + at, k_len - key, d);
    float sum_k[each] = {}, sum_v[each] = {};
    for (int first = max(0, key - shift) / tile * tile; first < q_len; first += tile) {
        copy_tile(qs, q + size_t(first) * d, q_len - first, d);
        copy_tile(douts, dout + size_t(first) * d, q_len - first, d);
        __syncthreads();
        // --- your code ---
        // --- end ---
        __syncthreads();
    }
    for (int m = 0; m < each; ++m) {
        const int n = threadIdx.x + m * threads;
        if (n / d < min(tile, k_len - key)) dk[at + n] = __float2half(sum_k[m]), dv[at + n] = __float2half(sum_v[m]);
    }
}

extern "C" cudaError_t flash_attention_backward(const half* q, const half* k, const half* v, const half* o,
                                                const half* dout, const float* lse, half* dq, half* dk, half* dv,
                                                float* workspace, int bh, int q_len, int k_len, int d, float scale,
                                                int causal, cudaStream_t stream) {
    const size_t rows = size_t(bh) * q_len, count = rows * d;
    const unsigned tiles = (k_len + tile - 1) / tile, blocks = (rows + threads - 1) / threads;
    float* const sums = workspace + rows;
    if (rows > 0) cudaMemsetAsync(sums, 0, count * sizeof(float), stream);
    if (rows > 0) delta_kernel<<<blocks, threads, 0, stream>>>(o, dout, workspace, rows, d);
    if (bh > 0 && k_len > 0)
        gradients_kernel<<<dim3(bh, tiles), threads, 0, stream>>>(q, k, v, dout, lse, workspace, sums, dk, dv, q_len,
                                                                  k_len, d, scale, causal);
    if (rows > 0) round_kernel<<<(count + threads - 1) / threads, threads, 0, stream>>>(sums, dq, count);
    return cudaGetLastError();
}
