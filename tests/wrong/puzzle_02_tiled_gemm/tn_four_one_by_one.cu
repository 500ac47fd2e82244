// gemm_tn: a thread loads its four neighbours of A one by one, and the next lane is a row further down
#include <cuda_runtime.h>

constexpr int T = 128, BK = 8;

__device__ float4 four(const float* x, size_t row, size_t col, size_t rows, size_t cols) {
    const auto at = [=](int i) { return row < rows && col + i < cols ? x[row * cols + col + i] : 0.0f; };
    if (row < rows && col + 4 <= cols && cols % 4 == 0 && (size_t)x % 16 == 0)
        return *(const float4*)(x + row * cols + col);
    return {at(0), at(1), at(2), at(3)};
}

__device__ int place(int thread, int i) {
    return i / 4 * 64 + thread * 4 + i % 4;
}

using Tile = float[BK][T + 4];
__device__ void put_along(Tile& tile, int k, int at, float4 v) {
    *(float4*)&tile[k][at] = v;
}
__device__ void put_down(Tile& tile, int k, int at, float4 v) {
    tile[k][at] = v.x, tile[k + 1][at] = v.y, tile[k + 2][at] = v.z, tile[k + 3][at] = v.w;
}

__global__ void gemm_tn_kernel(const float* A, const float* B, float* C, int M, int N, int K) {
    __shared__ __align__(16) Tile As, Bs;
    const int t = threadIdx.x, ty = t / 16, tx = t % 16;
    const size_t row0 = blockIdx.y * T, col0 = blockIdx.x * T;
    float sum[8][8] = {};
    for (size_t k0 = 0; k0 < K; k0 += BK) {
        const float4 b = four(B, k0 + t / 32, col0 + t % 32 * 4, K, N);
        for (size_t k = k0 + t % BK, i = t / BK * 4; i < t / BK * 4 + 4; ++i)
            As[t % BK][i] = k < K && row0 + i < M ? A[k * M + row0 + i] : 0.0f;
        put_along(Bs, t / 32, t % 32 * 4, b);
        __syncthreads();
        for (int k = 0; k < BK; ++k)
            for (int i = 0; i < 8; ++i)
                for (int j = 0; j < 8; ++j) sum[i][j] += As[k][place(ty, i)] * Bs[k][place(tx, j)];
        __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < 8; ++i)
#pragma unroll
        for (int j = 0; j < 8; ++j) {
            const size_t row = row0 + place(ty, i), col = col0 + place(tx, j);
            if (row < M && col < N) C[row * N + col] = sum[i][j];
        }
}

extern "C" cudaError_t gemm_tn(const float* A, const float* B, float* C, int M, int N, int K, cudaStream_t stream) {
    if (M == 0 || N == 0) return cudaSuccess;
    gemm_tn_kernel<<<dim3((N + T - 1) / T, (M + T - 1) / T), 256, 0, stream>>>(A, B, C, M, N, K);
    return cudaGetLastError();
}
