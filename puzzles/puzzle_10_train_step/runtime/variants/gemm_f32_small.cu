// Gemm of floats with any strides, turned or not, where C is so small that tiles of 128 x 128 would leave most of a GPU
// without work: tiles of 32 x 32, four results a thread.
#include "../gemm.hpp"

namespace gemm_f32_small {

constexpr int tile = 32, BK = 64, threads = 256, half_tile = tile / 2;
constexpr int pitch = BK + 4;  // floats from line to line in shared memory: float4s of eight lines are in 32 banks

using Tile = float[tile][pitch];  // [row of A or column of B][k]

// Brings `lines` of a matrix from line0 on, each from k0 on, zero past the edges. `line` and `k` are its strides.
// Neighbouring lanes follow the dimension along which neighbours lie in memory.
__device__ void stage(Tile& to, const float* from, long long line, long long k, long long lines, long long depth,
                      long long line0, long long k0) {
    const bool along = k == 1;
#pragma unroll
    for (int first = 0; first < tile * BK; first += threads) {
        const int i = first + threadIdx.x;
        const int row = along ? i / BK : i % tile, col = along ? i % BK : i / tile;
        const bool inside = line0 + row < lines && k0 + col < depth;
        to[row][col] = inside ? from[(line0 + row) * line + (k0 + col) * k] : 0.0f;
    }
}

__device__ float dot(float4 a, float4 b, float sum) {
    return fmaf(a.w, b.w, fmaf(a.z, b.z, fmaf(a.y, b.y, fmaf(a.x, b.x, sum))));
}

__global__ void __launch_bounds__(threads)
    gemm_f32_small_kernel(const float* A, const float* B, float* C, Product size) {
    __shared__ __align__(16) Tile As, Bs;
    const long long across = (size.N + tile - 1) / tile;
    const long long row0 = blockIdx.x / across * tile, col0 = blockIdx.x % across * tile;
    const int tx = threadIdx.x % half_tile, ty = threadIdx.x / half_tile;
    float sum[2][2] = {};
    for (long long k0 = 0; k0 < size.K; k0 += BK) {
        stage(As, A, size.a.row, size.a.col, size.M, size.K, row0, k0);
        stage(Bs, B, size.b.col, size.b.row, size.N, size.K, col0, k0);
        __syncthreads();
        for (int k = 0; k < BK; k += 4)
            for (int i = 0; i < 2; ++i)
                for (int j = 0; j < 2; ++j) {
                    const float4 a = *reinterpret_cast<const float4*>(&As[ty + i * half_tile][k]);
                    const float4 b = *reinterpret_cast<const float4*>(&Bs[tx + j * half_tile][k]);
                    sum[i][j] = dot(a, b, sum[i][j]);
                }
        __syncthreads();
    }
    for (int i = 0; i < 2; ++i)
        for (int j = 0; j < 2; ++j) {
            const long long row = row0 + ty + i * half_tile, col = col0 + tx + j * half_tile;
            if (row < size.M && col < size.N) C[row * size.c.row + col * size.c.col] = sum[i][j];
        }
}

Supported can(const OpCall& call) {
    if (!all_are(call, F32)) return refused("not all tensors are f32");
    if (!trans_a(call) && !trans_b(call) && all_contiguous(call)) return refused("gemm_tiled has smaller tiles still");
    const Product size = product(call);
    const double products = static_cast<double>(size.M) * size.N * size.K;
    if (products < 1 << 20) return refused("fewer than a million products are done by any variant");
    if (static_cast<double>(size.M) * size.N > 32 * 128 * 128) return refused("C has room for tiles of 128 x 128");
    return supported;
}

cudaError_t launch(const OpCall& call, cudaStream_t stream) {
    const Product size = product(call);
    gemm_f32_small_kernel<<<blocks_of(size.M, tile) * blocks_of(size.N, tile), threads, 0, stream>>>(
        data<const float>(call.inputs[0]), data<const float>(call.inputs[1]), data<float>(call.outputs[0]), size);
    return cudaGetLastError();
}

static Registration registration{{OpKind::Gemm, "gemm_f32_small_kernel", 20, can, launch}};

}  // namespace gemm_f32_small
