// gemm_nt with the tile of 7.3 in the place of 2.7's: 64 x 64 results a block, 4 x 4 a thread, loads sent off a round
// ahead. With it 7.2 has the product of 7.3, so that what is left between the two is the fusion alone.
#include <cuda_runtime.h>

constexpr unsigned BM = 64, BN = 64, BK = 16, TM = 4, TN = 4;
constexpr unsigned threads = BM / TM * (BN / TN);

struct alignas(16) Four {
    float at[4];
};

template <bool whole>
__device__ Four four(const float* matrix, size_t row, size_t col, size_t rows, size_t cols) {
    const float* from = matrix + row * cols + col;
    const size_t left = row < rows && col < cols ? cols - col : 0;
    if constexpr (whole) return left ? *reinterpret_cast<const Four*>(from) : Four{};
    const auto at = [=](unsigned i) { return i < left ? from[i] : 0.0f; };
    return {at(0), at(1), at(2), at(3)};
}

template <bool whole>
__global__ void __launch_bounds__(threads) product_kernel(const float* __restrict__ A, const float* __restrict__ B,
                                                          float* __restrict__ C, int M, int N, int K) {
    __shared__ __align__(16) float As[BK][BM + 4], Bs[BK][BN + 4];
    const unsigned t = threadIdx.x, first = t % 4 * 4, across = (N + BN - 1) / BN;
    const size_t row0 = blockIdx.x / across * BM, col0 = blockIdx.x % across * BN;
    const size_t row = row0 + t / 4, col = col0 + t / 4;
    float sum[TM][TN] = {};
    Four a = four<whole>(A, row, first, M, K), b = four<whole>(B, col, first, N, K);
    for (size_t k0 = 0; k0 < K; k0 += BK) {
        for (unsigned i = 0; i < 4; ++i) As[first + i][t / 4] = a.at[i];
        for (unsigned i = 0; i < 4; ++i) Bs[first + i][t / 4] = b.at[i];
        __syncthreads();
        a = four<whole>(A, row, k0 + BK + first, M, K);
        b = four<whole>(B, col, k0 + BK + first, N, K);
        for (unsigned k = 0; k < BK; ++k)
            for (unsigned i = 0; i < TM * TN; ++i)
                sum[i / TN][i % TN] += As[k][t / 16 * TM + i / TN] * Bs[k][t % 16 * TN + i % TN];
        __syncthreads();
    }
    for (unsigned i = 0; i < TM * TN; ++i) {
        const size_t r = row0 + t / 16 * TM + i / TN, c = col0 + t % 16 * TN + i % TN;
        if (r < M && c < N) C[r * N + c] = sum[i / TN][i % TN];
    }
}

extern "C" cudaError_t gemm_nt(const float* A, const float* B, float* C, int M, int N, int K, cudaStream_t stream) {
    if (M == 0 || N == 0) return cudaSuccess;
    const unsigned down = (M + BM - 1) / BM, across = (N + BN - 1) / BN;
    const auto aligned = [](const float* each) { return reinterpret_cast<size_t>(each) % sizeof(Four) == 0; };
    auto* kernel = K % 4 == 0 && aligned(A) && aligned(B) ? product_kernel<true> : product_kernel<false>;
    kernel<<<down * across, threads, 0, stream>>>(A, B, C, M, N, K);
    return cudaGetLastError();
}
