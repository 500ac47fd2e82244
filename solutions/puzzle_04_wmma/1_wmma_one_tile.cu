// wmma_one_tile: C = A · B for 16 x 16 matrices, by one warp on tensor cores
//
// Why    A tensor core multiplies small matrices at once: 4,096 multiply-adds where a lane does one. The operands lie
//        in the registers of all 32 lanes together, as *fragments*; nobody says which lane holds which element.
// Given  A, B and C, 16 x 16, row-major: halves in A and B, floats in C; a launcher with one warp; the three types of
//        fragments.
// Write  about 6 lines, in namespace wmma: a fragment of each type; `fill_fragment(c, 0.0f)`; `load_matrix_sync(a, A,
//        16)` and the same for b, where 16 is the number of elements from one row to the next; `mma_sync(c, a, b, c)`,
//        which is c = a · b + c; `store_matrix_sync(C, c, 16, wmma::mem_row_major)`. All 32 lanes make each call.
// Goal   All products are made by matrix instructions.
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <mma.h>

using namespace nvcuda;

using FragmentA = wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major>;
using FragmentB = wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major>;
using FragmentC = wmma::fragment<wmma::accumulator, 16, 16, 16, float>;

__global__ void wmma_one_tile_kernel(const half* __restrict__ A, const half* __restrict__ B, float* __restrict__ C) {
    (void)A, (void)B, (void)C;  // no warning before your code uses them
    // --- your code ---
    FragmentA a;
    FragmentB b;
    FragmentC c;
    wmma::fill_fragment(c, 0.0f);
    wmma::load_matrix_sync(a, A, 16);
    wmma::load_matrix_sync(b, B, 16);
    wmma::mma_sync(c, a, b, c);
    wmma::store_matrix_sync(C, c, 16, wmma::mem_row_major);
    // --- end ---
}

extern "C" cudaError_t wmma_one_tile(const half* A, const half* B, float* C, cudaStream_t stream) {
    wmma_one_tile_kernel<<<1, 32, 0, stream>>>(A, B, C);
    return cudaGetLastError();
}
