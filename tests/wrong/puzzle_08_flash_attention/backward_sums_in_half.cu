// flash_attention_backward: sums over the queries are kept in half
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
        for (int n = threadIdx.x; n < tile * tile; n += threads) {
            const int i = n / tile, j = n % tile, row = first + i;
            const bool sees = row < q_len && key + j < k_len && key + j <= row + shift;
            p[i][j] = sees ? expf(scale * dot(qs[i], ks[j], d) - lse[row]) : 0.0f;
            ds[i][j] = sees ? scale * p[i][j] * (dot(douts[i], vs[j], d) - delta[row]) : 0.0f;
        }
        __syncthreads();
        for (int m = 0; m < each; ++m) {
            const int n = threadIdx.x + m * threads, r = n / d, c = n % d;
            float sum_q = 0.0f;
            for (int x = 0; x < tile && r < tile; ++x) {
                sum_v[m] = __half2float(__float2half(sum_v[m] + p[x][r] * __half2float(douts[x][c])));
                sum_k[m] += ds[x][r] * __half2float(qs[x][c]);
                sum_q += ds[r][x] * __half2float(ks[x][c]);
            }
            if (r < tile && first + r < q_len) atomicAdd(&dq[size_t(first) * d + n], sum_q);
        }
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
