// wmma_one_tile: a block of 16 threads
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <mma.h>

using namespace nvcuda;

using FragmentA = wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major>;
using FragmentB = wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major>;
using FragmentC = wmma::fragment<wmma::accumulator, 16, 16, 16, float>;

__global__ void wmma_one_tile_kernel(const half* __restrict__ A, const half* __restrict__ B, float* __restrict__ C) {
    FragmentA a;
    FragmentB b;
    FragmentC c;
    wmma::fill_fragment(c, 0.0f);
    wmma::load_matrix_sync(a, A, 16);
    wmma::load_matrix_sync(b, B, 16);
    wmma::mma_sync(c, a, b, c);
    wmma::store_matrix_sync(C, c, 16, wmma::mem_row_major);
}

extern "C" cudaError_t wmma_one_tile(const half* A, const half* B, float* C, cudaStream_t stream) {
    wmma_one_tile_kernel<<<1, 16, 0, stream>>>(A, B, C);
    return cudaGetLastError();
}
