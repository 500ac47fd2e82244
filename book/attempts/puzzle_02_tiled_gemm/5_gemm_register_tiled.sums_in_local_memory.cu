// gemm_register_tiled: C = A · B, a square of 8 x 8 results a thread
//
// Why    For one k, 8 values of A and 8 of B make 64 products: a value is read once from shared memory and used eight
//        times. Now the arithmetic decides how long it takes, and the fast libraries are built like this.
// Given  A [M, K], B [K, N] and C [M, N], floats in device memory, row-major, any size. A launcher with 256 threads for
//        each tile of 128 x 128; room for a tile of A (turned: the values for one k are neighbours) and one of B; the
//        functions `four` and `place`; row0 and col0, the first row and column of the tile of C; t, ty and tx.
// Write  about 25 lines: thread t brings one float4 of each tile: of A, row t / 2 from column t % 2 * 4 on, of B, row
//        t / 32 from column t % 32 * 4 on. Then for each k 8 + 8 values into registers, and 64 multiply-adds. At the
//        end the stores. To be fast, send off the loads of the next tiles before the products of these.
// Goal   Coalesced loads; each value of global memory is used 64 times at least, of shared memory 4; no local memory.
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

__global__ void __launch_bounds__(threads, 2)  // two blocks a multiprocessor: at most 128 registers a thread
    gemm_register_tiled_kernel(const float* A, const float* B, float* C, int M, int N, int K) {
    // Rows of BM + 4: the stores of a column go to different banks.
    [[maybe_unused]] __shared__ __align__(16) float As[BK][BM + 4], Bs[BK][BN];
    const unsigned t = threadIdx.x, ty = t / 16, tx = t % 16, across = (N + BN - 1) / BN;
    const std::size_t row0 = blockIdx.x / across * BM, col0 = blockIdx.x % across * BN;
    [[maybe_unused]] float sum[TM][TN] = {};
    (void)ty, (void)tx, (void)row0, (void)col0;  // no warning before your code uses them
    // --- your code ---
    float4 a = four(A, row0 + t / 2, t % 2 * 4, M, K);
    float4 b = four(B, t / 32, col0 + t % 32 * 4, K, N);
    for (std::size_t k0 = 0; k0 < K; k0 += BK) {
        As[t % 2 * 4 + 0][t / 2] = a.x;
        As[t % 2 * 4 + 1][t / 2] = a.y;
        As[t % 2 * 4 + 2][t / 2] = a.z;
        As[t % 2 * 4 + 3][t / 2] = a.w;
        *reinterpret_cast<float4*>(&Bs[t / 32][t % 32 * 4]) = b;
        __syncthreads();
        a = four(A, row0 + t / 2, k0 + BK + t % 2 * 4, M, K);  // on its way while we multiply; past the end it is zero
        b = four(B, k0 + BK + t / 32, col0 + t % 32 * 4, K, N);
        for (unsigned k = 0; k < BK; ++k) {
            float x[TM], y[TN];
            for (unsigned i = 0; i < TM; ++i) x[i] = As[k][place(ty, i)];
            for (unsigned j = 0; j < TN; ++j) y[j] = Bs[k][place(tx, j)];
            for (unsigned i = 0; i < TM; ++i)
                for (unsigned j = 0; j < TN; ++j) sum[i][j] += x[i] * y[j];
        }
        __syncthreads();
    }
    for (unsigned i = 0; i < TM; ++i)
        for (unsigned j = 0; j < TN; ++j) {
            const std::size_t row = row0 + place(ty, i), col = col0 + place(tx, j);
            if (row >= M || col >= N) continue;
            C[row * N + col] = sum[i][j];
        }
    // --- end ---
}

extern "C" cudaError_t gemm_register_tiled(const float* A, const float* B, float* C, int M, int N, int K,
                                           cudaStream_t stream) {
    if (M == 0 || N == 0) return cudaSuccess;
    const unsigned down = (M + BM - 1) / BM, across = (N + BN - 1) / BN;
    gemm_register_tiled_kernel<<<down * across, threads, 0, stream>>>(A, B, C, M, N, K);
    return cudaGetLastError();
}
