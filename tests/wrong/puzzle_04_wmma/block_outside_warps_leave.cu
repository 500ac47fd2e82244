// gemm_wmma_block: warps without a part of C leave early
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <mma.h>

using namespace nvcuda;

using FragmentA = wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major>;
using FragmentB = wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major>;
using FragmentC = wmma::fragment<wmma::accumulator, 16, 16, 16, float>;

constexpr int tile = 128, deep = 32, threads = 256;

// 8 halves at once where they lie inside the matrix, else zeros. Both addresses are multiples of 16 bytes.
[[maybe_unused]] static __device__ void stage(half* to, const half* from, bool inside) {
    *reinterpret_cast<int4*>(to) = inside ? *reinterpret_cast<const int4*>(from) : int4{};
}

__global__ __launch_bounds__(threads, 2) void gemm_wmma_block_kernel(const half* __restrict__ A,
                                                                     const half* __restrict__ B, float* __restrict__ C,
                                                                     int M, int N, int K) {
    [[maybe_unused]] __shared__ __align__(32) half As[tile][deep + 8], Bs[deep][tile + 8];
    const int across = (N + tile - 1) / tile, t = threadIdx.x;
    const long long row = blockIdx.x / across * tile, col = blockIdx.x % across * tile;  // of the block's tile in C
    const int down = t / 128 * 64, right = t / 32 % 4 * 32;  // of the warp's part in the tile
    FragmentC c[4][2];
    for (auto& fragments : c)
        for (FragmentC& fragment : fragments) wmma::fill_fragment(fragment, 0.0f);
    if (row + down >= M || col + right >= N) return;
    for (long long k0 = 0; k0 < K; k0 += deep) {
        for (int i = t; i < tile * deep / 8; i += threads) {
            const int ra = i / 4, ka = i % 4 * 8, kb = i / 16, cb = i % 16 * 8;
            stage(&As[ra][ka], A + (row + ra) * K + k0 + ka, row + ra < M && k0 + ka < K);
            stage(&Bs[kb][cb], B + (k0 + kb) * N + col + cb, k0 + kb < K && col + cb < N);
        }
        __syncthreads();
        for (int k = 0; k < deep; k += 16) {
            FragmentA a[4];
            FragmentB b[2];
            for (int i = 0; i < 4; ++i) wmma::load_matrix_sync(a[i], &As[down + 16 * i][k], deep + 8);
            for (int j = 0; j < 2; ++j) wmma::load_matrix_sync(b[j], &Bs[k][right + 16 * j], tile + 8);
            for (int i = 0; i < 8; ++i) wmma::mma_sync(c[i / 2][i % 2], a[i / 2], b[i % 2], c[i / 2][i % 2]);
        }
        __syncthreads();  // all have read before the next tiles come
    }
    for (int i = 0; i < 8; ++i) {
        const long long r = row + down + i / 2 * 16, q = col + right + i % 2 * 16;
        if (r < M && q < N) wmma::store_matrix_sync(C + r * N + q, c[i / 2][i % 2], N, wmma::mem_row_major);
    }
}

extern "C" cudaError_t gemm_wmma_block(const half* A, const half* B, float* C, int M, int N, int K,
                                       cudaStream_t stream) {
    const unsigned down = (M + tile - 1) / tile, across = (N + tile - 1) / tile;
    gemm_wmma_block_kernel<<<down * across, threads, 0, stream>>>(A, B, C, M, N, K);
    return cudaGetLastError();
}
