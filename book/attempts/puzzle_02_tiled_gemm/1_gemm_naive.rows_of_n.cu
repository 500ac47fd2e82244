// gemm_naive: C = A · B, one thread an element
//
// Why    Nine tenths of a Transformer's work are matrix products. This is the plainest one: right for every size, and
//        slow, because each value is loaded again for every product that it takes part in.
// Given  A [M, K], B [K, N] and C [M, N], floats in device memory, row-major: element (i, k) of A is A[i * K + k]. A
//        launcher with a block of 16 x 16 threads for each tile of 16 x 16 elements of C, cut off or not; row0 and
//        col0, the first row and column of the block's tile.
// Write  the rest of the kernel, about 5 lines: which row and column are mine, do I have one, sum up, store. With K = 0
//        there is nothing to add, and C is zero.
#include <cuda_runtime.h>

#include <cstddef>

constexpr unsigned tile = 16;

__global__ void gemm_naive_kernel(const float* __restrict__ A, const float* __restrict__ B, float* __restrict__ C,
                                  int M, int N, int K) {
    // Tiles are numbered row by row. One number: along x a grid has room for 2^31 blocks, along y for 65,535.
    const unsigned across = (N + tile - 1) / tile;
    const unsigned row0 = blockIdx.x / across * tile;
    const unsigned col0 = blockIdx.x % across * tile;
    (void)row0, (void)col0;  // no warning before your code uses them
    // --- your code ---
    // 64 bits, for row * K may pass 2^31. x along the columns: neighbouring threads find neighbours in B and C.
    const std::size_t row = row0 + threadIdx.y, col = col0 + threadIdx.x;
    if (row >= M || col >= N) return;  // the last tiles hang over the edge of C
    float sum = 0.0f;
    for (std::size_t k = 0; k < K; ++k) sum += A[row * N + k] * B[k * N + col];
    C[row * N + col] = sum;  // once, at the end: a sum in C itself would go to memory and back K times
    // --- end ---
}

extern "C" cudaError_t gemm_naive(const float* A, const float* B, float* C, int M, int N, int K, cudaStream_t stream) {
    if (M == 0 || N == 0) return cudaSuccess;  // no element of C; and a grid of 0 blocks is a launch error
    const unsigned down = (M + tile - 1) / tile, across = (N + tile - 1) / tile;
    gemm_naive_kernel<<<down * across, dim3(tile, tile), 0, stream>>>(A, B, C, M, N, K);
    return cudaGetLastError();
}
