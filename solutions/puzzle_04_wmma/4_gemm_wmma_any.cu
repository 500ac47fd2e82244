// gemm_wmma_any: C = A · B on tensor cores, any size
//
// Why    A real vocabulary has 50,257 words. Two things break at such sizes: what hangs over the edge in K has to count
//        as zero, and a fragment can only be stored whole, at a multiple of 32 bytes.
// Given  4.3 with its loop, for any M, N and K, 0 included; `whole`: rows of A and B begin at multiples of 16 bytes.
// Write  about 15 lines in two places. `stage`: 8 halves at once if the row has 8 or more `left` and `whole` allows it,
//        else one by one, zeros behind the end. The store: a fragment inside C goes there at once if N is a multiple of
//        8, any other to the warp's own `edge` and from there element by element, guarded, `__syncwarp()` between.
// Goal   Each value is used at least 64 times. All products are made by matrix instructions.
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <mma.h>

using namespace nvcuda;

using FragmentA = wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major>;
using FragmentB = wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major>;
using FragmentC = wmma::fragment<wmma::accumulator, 16, 16, 16, float>;

constexpr int tile = 128, deep = 64, threads = 256;
static __device__ void stage([[maybe_unused]] half* to, [[maybe_unused]] const half* from,
                             [[maybe_unused]] long long left, [[maybe_unused]] bool whole) {
    // --- your code ---
    if (whole)  // the same for all: no lane waits for another's way
        *reinterpret_cast<int4*>(to) = left > 0 ? *reinterpret_cast<const int4*>(from) : int4{};
    else
        for (int i = 0; i < 8; ++i) to[i] = i < left ? from[i] : __float2half(0.0f);
    // --- end ---
}

__global__ __launch_bounds__(threads, 2) void gemm_wmma_any_kernel(const half* A, const half* B,
                                                                   [[maybe_unused]] float* C, int M, int N, int K) {
    __shared__ __align__(32) half As[tile][deep + 8], Bs[deep][tile + 8];
    [[maybe_unused]] __shared__ __align__(32) float edges[threads / 32][16 * 16];
    const int across = (N + tile - 1) / tile, t = threadIdx.x, down = t / 128 * 64, right = t / 32 % 4 * 32;
    const long long row = blockIdx.x / across * tile, col = blockIdx.x % across * tile;
    const bool whole = K % 8 == 0 && N % 8 == 0;
    [[maybe_unused]] float* const edge = edges[t / 32];
    FragmentA a;
    FragmentB b[2];
    FragmentC c[4][2];
    for (int i = 0; i < 8; ++i) wmma::fill_fragment(c[i / 2][i % 2], 0.0f);
    for (long long k0 = 0; k0 < K; k0 += deep) {
        for (int i = t; i < tile * deep / 8; i += threads) {
            const int ra = i / 8, ka = i % 8 * 8, kb = i / 16, cb = i % 16 * 8;
            stage(&As[ra][ka], A + (row + ra) * K + k0 + ka, row + ra < M ? K - k0 - ka : 0, whole);
            stage(&Bs[kb][cb], B + (k0 + kb) * N + col + cb, k0 + kb < K ? N - col - cb : 0, whole);
        }
        __syncthreads();
        for (int i = 0; i < 32; ++i) {  // 16 of k at a time
            const int k = i / 8 * 16, j = i % 2, line = i % 8 / 2;
            if (line == 0) wmma::load_matrix_sync(b[j], &Bs[k][right + 16 * j], tile + 8);
            if (j == 0) wmma::load_matrix_sync(a, &As[down + 16 * line][k], deep + 8);
            wmma::mma_sync(c[line][j], a, b[j], c[line][j]);
        }
        __syncthreads();
    }
    for (int i = 0; i < 8; ++i) {
        [[maybe_unused]] const FragmentC& fragment = c[i / 2][i % 2];
        [[maybe_unused]] const long long r = row + down + i / 2 * 16, q = col + right + i % 2 * 16;
        // --- your code ---
        if (r + 16 <= M && q + 16 <= N && N % 8 == 0) {
            wmma::store_matrix_sync(C + r * N + q, fragment, N, wmma::mem_row_major);
            continue;
        }
        wmma::store_matrix_sync(edge, fragment, 16, wmma::mem_row_major);
        __syncwarp();  // all lanes have stored before any reads
        for (int e = t % 32; e < 256; e += 32)
            if (r + e / 16 < M && q + e % 16 < N) C[(r + e / 16) * N + q + e % 16] = edge[e];
        __syncwarp();  // all have read before the next fragment comes
        // --- end ---
    }
}

extern "C" cudaError_t gemm_wmma_any(const half* A, const half* B, float* C, int M, int N, int K, cudaStream_t stream) {
    if (M == 0 || N == 0) return cudaSuccess;
    const unsigned down = (M + tile - 1) / tile, across = (N + tile - 1) / tile;
    gemm_wmma_any_kernel<<<down * across, threads, 0, stream>>>(A, B, C, M, N, K);
    return cudaGetLastError();
}
