// layernorm_linear_f16: Ws is read by rows
#include <cuda_fp16.h>
#include <mma.h>

using namespace nvcuda;

constexpr int warp = 32, tile = 128, deep = 64, threads = 256;

struct alignas(16) Eight {
    half at[8];
};

__device__ inline Eight eight(const half* matrix, long long row, long long k, int rows, int cols, bool aligned) {
    const half* from = matrix + row * cols + k;
    if (aligned) return row < rows && k < cols ? *reinterpret_cast<const Eight*>(from) : Eight{};
    Eight found;
    for (int i = 0; i < 8; ++i) found.at[i] = row < rows && k + i < cols ? from[i] : __float2half(0.0f);
    return found;
}

__global__ void statistics_kernel(const half* x, float* mean, float* rstd, int rows, int cols, float eps) {
    const long long row = blockIdx.x * (threads / warp) + threadIdx.x / warp, begin = row * cols;
    if (row >= rows) return;
    const unsigned lane = threadIdx.x % warp;
    float m = 0.0f, squares = 0.0f;
    for (int c = lane; c < cols; c += warp) m += float(x[begin + c]);
    for (int other = 1; other < warp; other *= 2) m += __shfl_xor_sync(~0u, m, other);
    m /= cols;
    for (int c = lane; c < cols; c += warp) squares += (float(x[begin + c]) - m) * (float(x[begin + c]) - m);
    for (int other = 1; other < warp; other *= 2) squares += __shfl_xor_sync(~0u, squares, other);
    if (lane == 0) mean[row] = m, rstd[row] = rsqrtf(squares / cols + eps);
}

__global__ __launch_bounds__(threads, 2) void tile_kernel(const half* x, const half* gamma, const half* beta,
                                                          const half* W, const half* bias, half* y, const float* mean,
                                                          const float* rstd, int rows, int cols, int out_features) {
    __shared__ __align__(32) Eight As[tile][deep / 8 + 1], Ws[tile][deep / 8 + 1];  // rows of 72 halves
    __shared__ __align__(32) float edges[threads / warp][16 * 16];
    [[maybe_unused]] const int t = threadIdx.x, down = t / 128 * 64, right = t / warp % 4 * 32;
    const int across = (out_features + tile - 1) / tile;
    const long long row0 = blockIdx.x / across * tile, col0 = blockIdx.x % across * tile;
    const bool aligned = (2 * size_t(cols) | size_t(x) | size_t(gamma) | size_t(beta) | size_t(W)) % 16 == 0;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum[4][2];
    for (int i = 0; i < 8; ++i) wmma::fill_fragment(sum[i / 2][i % 2], 0.0f);
    for (long long k0 = 0, k = t % 8 * 8; k0 < cols; k0 += deep, k += deep) {
        for (int r = t / 8; r < tile; r += 32) Ws[r][t % 8] = eight(W, col0 + r, k, out_features, cols, aligned);
        const Eight g = eight(gamma, 0, k, 1, cols, aligned), b = eight(beta, 0, k, 1, cols, aligned);
        for (int r = t / 8; r < tile; r += 32) {
            const float m = row0 + r < rows ? mean[row0 + r] : 0.0f, by = row0 + r < rows ? rstd[row0 + r] : 0.0f;
            Eight a = eight(x, row0 + r, k, rows, cols, aligned);
            for (int i = 0; i < 8; ++i) a.at[i] = (float(a.at[i]) - m) * by * float(g.at[i]) + float(b.at[i]);
            As[r][t % 8] = a;
        }
        __syncthreads();
        for (int i = 0; i < deep / 8; i += 2) {
            wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> a[4];
            wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> w[2];
            for (int j = 0; j < 4; ++j) wmma::load_matrix_sync(a[j], As[down + 16 * j][i].at, deep + 8);
            for (int j = 0; j < 2; ++j) wmma::load_matrix_sync(w[j], Ws[right + 16 * j][i].at, deep + 8);
            for (int j = 0; j < 8; ++j) wmma::mma_sync(sum[j / 2][j % 2], a[j / 2], w[j % 2], sum[j / 2][j % 2]);
        }
        __syncthreads();
    }
    for (int i = 0; i < 8; ++i) {
        wmma::store_matrix_sync(edges[t / warp], sum[i / 2][i % 2], 16, wmma::mem_row_major);
        __syncwarp();  // all lanes have stored before any reads
        for (int e = t % warp; e < 256; e += warp) {
            const long long row = row0 + down + i / 2 * 16 + e / 16, col = col0 + right + i % 2 * 16 + e % 16;
            if (row < rows && col < out_features) y[row * out_features + col] = edges[t / warp][e] + float(bias[col]);
        }
        __syncwarp();  // all have read before the next fragment comes
    }
}

extern "C" cudaError_t layernorm_linear_f16(const half* x, const half* gamma, const half* beta, const half* W,
                                            const half* bias, half* y, float* mean, float* rstd, int rows, int cols,
                                            int out_features, float eps, cudaStream_t stream) {
    const unsigned grid = (rows + tile - 1) / tile * ((out_features + tile - 1) / tile);
    if (rows) statistics_kernel<<<(rows + 7) / 8, threads, 0, stream>>>(x, mean, rstd, rows, cols, eps);
    if (grid)
        tile_kernel<<<grid, threads, 0, stream>>>(x, gamma, beta, W, bias, y, mean, rstd, rows, cols, out_features);
    return cudaGetLastError();
}
