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

// A matrix in memory, of which tiles are brought.
struct Source {
    const half* data;
    Strides at;
    long long rows, cols;

    // Whether eight neighbours that begin at a multiple of 8 lie in 16 bytes that can be loaded at once.
    __device__ bool whole() const {
        const long long further = along() ? at.row : at.col, next = along() ? at.col : at.row;
        return next == 1 && further % 8 == 0 && reinterpret_cast<std::uintptr_t>(data) % sizeof(int4) == 0;
    }
    // Whether neighbours in memory are neighbours in a row; else they are taken to lie below each other.
    __device__ bool along() const { return at.col == 1; }
};

// Brings the tile of x that begins at (row0, col0) into shared memory, zero past the edges. A thread brings eight
// elements that follow each other in memory, and neighbouring threads bring neighbours.
template <int tile_rows, int tile_cols>
__device__ void stage(half (&tile)[tile_rows][tile_cols + spread], const Source& x, long long row0, long long col0) {
    const bool along = x.along(), whole = x.whole();
    for (int i = threadIdx.x; i < tile_rows * tile_cols / 8; i += threads) {
        const int row = along ? i / (tile_cols / 8) : i % (tile_rows / 8) * 8;
        const int col = along ? i % (tile_cols / 8) * 8 : i / (tile_rows / 8);
        const long long r = row0 + row, c = col0 + col, left = along ? x.cols - c : x.rows - r;
        const half* from = x.data + r * x.at.row + c * x.at.col;
        __align__(16) half eight[8] = {};
        if (r < x.rows && c < x.cols) {
            if (whole && left >= 8)
                *reinterpret_cast<int4*>(eight) = *reinterpret_cast<const int4*>(from);
            else
                for (int e = 0; e < 8 && e < left; ++e) eight[e] = from[e * (along ? x.at.col : x.at.row)];
        }
        if (along)
            *reinterpret_cast<int4*>(&tile[row][col]) = *reinterpret_cast<const int4*>(eight);
        else
            for (int e = 0; e < 8; ++e) tile[row + e][col] = eight[e];
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
    const Source a_source{A, size.a, size.M, size.K}, b_source{B, size.b, size.K, size.N};
    for (long long k0 = 0; k0 < size.K; k0 += BK) {
        stage<BM, BK>(As, a_source, row0, k0);
        stage<BK, BN>(Bs, b_source, k0, col0);
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
