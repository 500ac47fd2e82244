// gemm_wmma: lane 0 stores for all
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <mma.h>

#include <cstddef>

using namespace nvcuda;

using FragmentA = wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major>;
using FragmentB = wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major>;
using FragmentC = wmma::fragment<wmma::accumulator, 16, 16, 16, float>;

__global__ void gemm_wmma_kernel(const half* __restrict__ A, const half* __restrict__ B, float* __restrict__ C, int N,
                                 int K) {
    const unsigned across = N / 16;
    const std::size_t row = blockIdx.x / across * 16, col = blockIdx.x % across * 16;  // 64 bits: row * K may pass 2^31
    FragmentA a;
    FragmentB b;
    FragmentC c;
    wmma::fill_fragment(c, 0.0f);
    for (std::size_t k = 0; k < K; k += 16) {
        wmma::load_matrix_sync(a, A + row * K + k, K);  // rows of A are K long
        wmma::load_matrix_sync(b, B + k * N + col, N);  // rows of B are N long
        wmma::mma_sync(c, a, b, c);
    }
    if (threadIdx.x == 0) wmma::store_matrix_sync(C + row * N + col, c, N, wmma::mem_row_major);
}

extern "C" cudaError_t gemm_wmma(const half* A, const half* B, float* C, int M, int N, int K, cudaStream_t stream) {
    const unsigned down = M / 16, across = N / 16;
    gemm_wmma_kernel<<<down * across, 32, 0, stream>>>(A, B, C, N, K);
    return cudaGetLastError();
}
