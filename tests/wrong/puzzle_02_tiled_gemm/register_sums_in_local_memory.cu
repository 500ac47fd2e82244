// gemm_register_tiled: the sums lie in local memory, since a loop is not unrolled
#include <cuda_runtime.h>

constexpr int T = 128, BK = 8;

__device__ float4 four(const float* x, int row, int col, int rows, int cols) {
    const auto at = [=](int i) { return row < rows && col + i < cols ? x[row * cols + col + i] : 0.0f; };
    if (row < rows && col + 4 <= cols && cols % 4 == 0 && (size_t)x % 16 == 0)
        return *(const float4*)(x + row * cols + col);
    return {at(0), at(1), at(2), at(3)};
}

__device__ int place(int thread, int i) {
    return i / 4 * 64 + thread * 4 + i % 4;
}

__global__ void gemm_register_tiled_kernel(const float* A, const float* B, float* C, int M, int N, int K) {
    __shared__ __align__(16) float As[BK][T + 4], Bs[BK][T];
    const int t = threadIdx.x, ty = t / 16, tx = t % 16, down = t % 2 * 4;
    const int row0 = blockIdx.y * T, col0 = blockIdx.x * T;
    float sum[8][8] = {};
    float4 a = four(A, row0 + t / 2, down, M, K);
    float4 b = four(B, t / 32, col0 + t % 32 * 4, K, N);
    for (int k0 = 0; k0 < K; k0 += BK) {
        As[down][t / 2] = a.x;
        As[down + 1][t / 2] = a.y;
        As[down + 2][t / 2] = a.z;
        As[down + 3][t / 2] = a.w;
        *(float4*)&Bs[t / 32][t % 32 * 4] = b;
        __syncthreads();
        a = four(A, row0 + t / 2, k0 + BK + down, M, K);
        b = four(B, k0 + BK + t / 32, col0 + t % 32 * 4, K, N);
        for (int k = 0; k < BK; ++k) {
            float x[8], y[8];
            for (int i = 0; i < 8; ++i) x[i] = As[k][place(ty, i)], y[i] = Bs[k][place(tx, i)];
#pragma unroll 1
            for (int i = 0; i < 8; ++i)
                for (int j = 0; j < 8; ++j) sum[i][j] += x[i] * y[j];
        }
        __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < 8; ++i)
#pragma unroll
        for (int j = 0; j < 8; ++j) {
            const int row = row0 + place(ty, i), col = col0 + place(tx, j);
            if (row < M && col < N) C[row * N + col] = sum[i][j];
        }
}

extern "C" cudaError_t gemm_register_tiled(const float* A, const float* B, float* C, int M, int N, int K,
                                           cudaStream_t stream) {
    if (M == 0 || N == 0) return cudaSuccess;
    gemm_register_tiled_kernel<<<dim3((N + T - 1) / T, (M + T - 1) / T), 256, 0, stream>>>(A, B, C, M, N, K);
    return cudaGetLastError();
}
