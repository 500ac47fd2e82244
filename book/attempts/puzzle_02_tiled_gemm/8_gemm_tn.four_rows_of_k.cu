// gemm_tn: C = Aᵀ · B, without turning A first
//
// Why    The gradient of a linear layer's weights is xᵀ · dy, with the batch as the inner dimension: both inputs lie in
//        memory as they came, a row for each example, and the sum runs down their columns.
// Given  A [K, M], B [K, N] and C [M, N], floats in device memory, row-major, any size; row i of Aᵀ is column i of A.
//        The kernel of 2.5 without its loads; `four`, which gives four neighbours of a row, zero past the edges;
//        `put_along` and `put_down`, which store them into a tile, whose first index is always k.
// Write  the loads, about 4 lines: thread t brings one float4 of A and one of B into As and Bs. As[k][i] is the element
//        of A in row k0 + k, column row0 + i; Bs[k][j] that of B in row k0 + k, column col0 + j.
// Goal   Loads are coalesced, and each value loaded from global memory is used at least 64 times.
#include <cuda_runtime.h>

#include <cstddef>

constexpr unsigned BM = 128, BN = 128, BK = 8;  // the tile of C, and how much of K a round takes
constexpr unsigned TM = 8, TN = 8;              // results a thread: 16 x 16 threads cover the tile
constexpr unsigned threads = BM / TM * (BN / TN);
static_assert(BM * BK == 4 * threads && BK * BN == 4 * threads, "a thread brings one float4 of each tile");

// Four neighbours in a row of x [rows, cols], zero past the edges; one access of 16 bytes where the address allows it.
inline __device__ float4 four(const float* x, std::size_t row, std::size_t col, std::size_t rows, std::size_t cols) {
    const float* from = x + row * cols + col;
    const std::size_t left = row < rows && col < cols ? cols - col : 0;
    if (left >= 4 && reinterpret_cast<std::size_t>(from) % sizeof(float4) == 0)
        return __ldg(reinterpret_cast<const float4*>(from));  // by the path for what no thread of this kernel changes
    const auto at = [=](unsigned i) { return i < left ? __ldg(from + i) : 0.0f; };
    return {at(0), at(1), at(2), at(3)};
}

// Where the i-th of the eight rows of thread ty, or columns of tx, lies in the tile: in two groups of four, so that
// neighbouring threads read neighbouring float4s. With eight in one piece they would meet in the banks.
inline __device__ unsigned place(unsigned thread, unsigned i) {
    return i / 4 * (BM / 2) + thread * 4 + i % 4;
}

using Tile = float[BK][BM + 4];  // [k][row of C] or [k][column of C]; + 4 spreads the stores of a column over the banks

// Four values of one k, neighbours in the tile; or four values of k, one below the other.
inline __device__ void put_along(Tile& tile, unsigned k, unsigned at, float4 v) {
    *reinterpret_cast<float4*>(&tile[k][at]) = v;
}
inline __device__ void put_down(Tile& tile, unsigned k, unsigned at, float4 v) {
    tile[k][at] = v.x, tile[k + 1][at] = v.y, tile[k + 2][at] = v.z, tile[k + 3][at] = v.w;
}

__global__ void __launch_bounds__(threads, 2)
    gemm_tn_kernel(const float* A, const float* B, float* C, int M, int N, int K) {
    __shared__ __align__(16) Tile As, Bs;
    const unsigned t = threadIdx.x, ty = t / 16, tx = t % 16, across = (N + BN - 1) / BN;
    const std::size_t row0 = blockIdx.x / across * BM, col0 = blockIdx.x % across * BN;
    float sum[TM][TN] = {};
    for (std::size_t k0 = 0; k0 < K; k0 += BK) {
        // --- your code ---
        // Both matrices lie as the tiles do: a warp loads 128 neighbours of one row, and nothing has to be turned.
        const auto one = [&](std::size_t k) { return k < K && row0 + t / 2 < M ? A[k * M + row0 + t / 2] : 0.0f; };
        const std::size_t first = k0 + t % 2 * 4;
        const float4 a = {one(first), one(first + 1), one(first + 2), one(first + 3)};
        const float4 b = four(B, k0 + t / 32, col0 + t % 32 * 4, K, N);
        put_down(As, t % 2 * 4, t / 2, a);
        put_along(Bs, t / 32, t % 32 * 4, b);
        // --- end ---
        __syncthreads();
        for (unsigned k = 0; k < BK; ++k)
            for (unsigned i = 0; i < TM; ++i)
                for (unsigned j = 0; j < TN; ++j) sum[i][j] += As[k][place(ty, i)] * Bs[k][place(tx, j)];
        __syncthreads();
    }
    for (unsigned i = 0; i < TM; ++i)
        for (unsigned j = 0; j < TN; ++j) {
            const std::size_t row = row0 + place(ty, i), col = col0 + place(tx, j);
            if (row < M && col < N) C[row * N + col] = sum[i][j];
        }
}

extern "C" cudaError_t gemm_tn(const float* A, const float* B, float* C, int M, int N, int K, cudaStream_t stream) {
    if (M == 0 || N == 0) return cudaSuccess;
    const unsigned down = (M + BM - 1) / BM, across = (N + BN - 1) / BN;
    gemm_tn_kernel<<<down * across, threads, 0, stream>>>(A, B, C, M, N, K);
    return cudaGetLastError();
}
