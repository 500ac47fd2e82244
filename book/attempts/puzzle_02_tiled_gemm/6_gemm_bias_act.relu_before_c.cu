// gemm_bias_act: C = act(alpha · A · B + beta · C + bias), the whole layer in one kernel
//
// Why    A linear layer adds a bias and applies an activation. As kernels of their own they would read and write C once
//        more each; here the sums are still in registers, and this end of a kernel, the epilogue, is nearly free.
// Given  A [M, K], B [K, N], bias [N] and C [M, N], floats in device memory, row-major, any size; alpha and beta by
//        value; act: 0 none, 1 relu, which is max(x, 0). The kernel of the part before, which calls `epilogue` for each
//        of its 64 sums: `sum` is element (row, col) of A · B, and both may lie past the edges of C.
// Write  the epilogue, about 8 lines: nothing where C has no such element; alpha, the bias of the column, beta times
//        what C holds, the activation, the store. With beta = 0, C may hold anything, NaN too, and must not be read.
// Goal   Each value loaded from global memory is used 16 times (bias and C once), each from shared memory 4 times.
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

__device__ void epilogue(float sum, std::size_t row, std::size_t col, const float* bias, float* C, int M, int N,
                         float alpha, float beta, int act) {
    // --- your code ---
    if (row >= M || col >= N) return;
    float value = alpha * sum + bias[col];
    if (act == 1) value = fmaxf(value, 0.0f);
    if (beta != 0.0f) value += beta * C[row * N + col];
    C[row * N + col] = value;
    // --- end ---
}

__global__ void __launch_bounds__(threads, 2)  // two blocks a multiprocessor: at most 128 registers a thread
    gemm_bias_act_kernel(const float* A, const float* B, const float* bias, float* C, int M, int N, int K, float alpha,
                         float beta, int act) {
    __shared__ __align__(16) float As[BK][BM + 4], Bs[BK][BN];
    const unsigned t = threadIdx.x, ty = t / 16, tx = t % 16, across = (N + BN - 1) / BN;
    const std::size_t row0 = blockIdx.x / across * BM, col0 = blockIdx.x % across * BN;
    const unsigned down = t % 2 * 4;
    float sum[TM][TN] = {};
    float4 a = four(A, row0 + t / 2, down, M, K), b = four(B, t / 32, col0 + t % 32 * 4, K, N);
    for (std::size_t k0 = 0; k0 < K; k0 += BK) {
        As[down][t / 2] = a.x, As[down + 1][t / 2] = a.y, As[down + 2][t / 2] = a.z, As[down + 3][t / 2] = a.w;
        *reinterpret_cast<float4*>(&Bs[t / 32][t % 32 * 4]) = b;
        __syncthreads();
        a = four(A, row0 + t / 2, k0 + BK + down, M, K);
        b = four(B, k0 + BK + t / 32, col0 + t % 32 * 4, K, N);
        for (unsigned k = 0; k < BK; ++k)
            for (unsigned i = 0; i < TM; ++i)
                for (unsigned j = 0; j < TN; ++j) sum[i][j] += As[k][place(ty, i)] * Bs[k][place(tx, j)];
        __syncthreads();
    }
#pragma unroll  // sum lies in registers as long as every index is known when this is compiled
    for (unsigned i = 0; i < TM; ++i)
#pragma unroll
        for (unsigned j = 0; j < TN; ++j)
            epilogue(sum[i][j], row0 + place(ty, i), col0 + place(tx, j), bias, C, M, N, alpha, beta, act);
}

extern "C" cudaError_t gemm_bias_act(const float* A, const float* B, const float* bias, float* C, int M, int N, int K,
                                     float alpha, float beta, int act, cudaStream_t stream) {
    if (M == 0 || N == 0) return cudaSuccess;
    const unsigned down = (M + BM - 1) / BM, across = (N + BN - 1) / BN;
    gemm_bias_act_kernel<<<down * across, threads, 0, stream>>>(A, B, bias, C, M, N, K, alpha, beta, act);
    return cudaGetLastError();
}
