// Gemm of halves on tensor cores, any size, any strides, turned or not: products and sums in float, as in 4.4, and C in
// float or rounded once to half.
#include <cuda_fp16.h>
#include <mma.h>

#include "../gemm.hpp"

namespace gemm_f16_tc_wmma {

using namespace nvcuda;

// A block makes a tile of 32 x 32: each of its four warps a fragment of 16 x 16. Tiles so small make enough blocks
// for the layers of a small network.
constexpr int BM = 32, BN = 32, BK = 64, side = 16, threads = 128;
constexpr int spread = 8;  // halves behind each row in shared memory, so that rows begin in different banks

// Brings a tile of x [rows, cols] from (row0, col0) on into shared memory, zero past the edges. Neighbouring lanes
// follow the dimension along which neighbours lie in memory.
template <int tile_rows, int tile_cols>
__device__ void stage(half (&tile)[tile_rows][tile_cols + spread], const half* x, Strides at, long long rows,
                      long long cols, long long row0, long long col0) {
    const bool along = at.col == 1;
#pragma unroll
    for (int first = 0; first < tile_rows * tile_cols; first += threads) {
        const int i = first + threadIdx.x;
        const int row = along ? i / tile_cols : i % tile_rows, col = along ? i % tile_cols : i / tile_rows;
        const bool inside = row0 + row < rows && col0 + col < cols;
        tile[row][col] = inside ? x[(row0 + row) * at.row + (col0 + col) * at.col] : half(0.0f);
    }
}

__global__ void __launch_bounds__(threads)
    gemm_f16_tc_wmma_kernel(const half* A, const half* B, void* C, bool half_out, Product size) {
    __shared__ __align__(32) half As[BM][BK + spread], Bs[BK][BN + spread];
    __shared__ __align__(32) float Cs[BM][BN];
    const long long across = (size.N + BN - 1) / BN;
    const long long row0 = blockIdx.x / across * BM, col0 = blockIdx.x % across * BN;
    const int down = threadIdx.x / 64 * side, right = threadIdx.x / 32 % 2 * side;  // the fragment of this warp
    wmma::fragment<wmma::matrix_a, side, side, side, half, wmma::row_major> a;
    wmma::fragment<wmma::matrix_b, side, side, side, half, wmma::row_major> b;
    wmma::fragment<wmma::accumulator, side, side, side, float> c;
    wmma::fill_fragment(c, 0.0f);
    for (long long k0 = 0; k0 < size.K; k0 += BK) {
        stage<BM, BK>(As, A, size.a, size.M, size.K, row0, k0);
        stage<BK, BN>(Bs, B, size.b, size.K, size.N, k0, col0);
        __syncthreads();
        for (int k = 0; k < BK; k += side) {
            wmma::load_matrix_sync(a, &As[down][k], BK + spread);
            wmma::load_matrix_sync(b, &Bs[k][right], BN + spread);
            wmma::mma_sync(c, a, b, c);
        }
        __syncthreads();
    }
    wmma::store_matrix_sync(&Cs[down][right], c, BN, wmma::mem_row_major);
    __syncthreads();
    for (int i = threadIdx.x; i < BM * BN; i += threads) {
        const long long row = row0 + i / BN, col = col0 + i % BN;
        if (row >= size.M || col >= size.N) continue;
        const long long at = row * size.c.row + col * size.c.col;
        if (half_out)
            static_cast<half*>(C)[at] = __float2half(Cs[i / BN][i % BN]);
        else
            static_cast<float*>(C)[at] = Cs[i / BN][i % BN];
    }
}

Supported can(const OpCall& call) {
    const TensorDesc& C = call.outputs[0];
    if (call.inputs[0].dtype != F16 || call.inputs[1].dtype != F16) return refused("A and B are not both f16");
    return C.dtype == F16 || C.dtype == F32 ? supported : refused("C is neither f16 nor f32");
}

cudaError_t launch(const OpCall& call, cudaStream_t stream) {
    const Product size = product(call);
    if (size.M == 0 || size.N == 0) return cudaSuccess;
    const TensorDesc& C = call.outputs[0];
    gemm_f16_tc_wmma_kernel<<<blocks_of(size.M, BM) * blocks_of(size.N, BN), threads, 0, stream>>>(
        data<const half>(call.inputs[0]), data<const half>(call.inputs[1]), C.data, C.dtype == F16, size);
    return cudaGetLastError();
}

static Registration registration{{OpKind::Gemm, "gemm_f16_tc_wmma_kernel", 10, can, launch}};

}  // namespace gemm_f16_tc_wmma
