// gemm_thread_column: neighbouring lanes load A down a column
#include <cuda_runtime.h>

constexpr int BM = 64, BN = 64, BK = 8, TM = 8;

__global__ void gemm_thread_column_kernel(const float* A, const float* B, float* C, int M, int N, int K) {
    __shared__ float As[BM][BK], Bs[BK][BN];
    const int t = threadIdx.x, ty = t / BN * TM, tx = t % BN;
    const int row0 = blockIdx.y * BM, col0 = blockIdx.x * BN;
    float sum[TM] = {};
    for (int k0 = 0; k0 < K; k0 += BK) {
        const size_t row = row0 + t % BM, k = k0 + t / BN;
        As[t % BM][t / BM] = row < M && k0 + t / BM < K ? A[row * K + k0 + t / BM] : 0.0f;
        Bs[t / BN][tx] = k < K && col0 + tx < N ? B[k * N + col0 + tx] : 0.0f;
        __syncthreads();
        for (int k = 0; k < BK; ++k)
            for (int i = 0; i < TM; ++i) sum[i] += As[ty + i][k] * Bs[k][tx];
        __syncthreads();
    }
    for (int i = 0; i < TM; ++i)
        if (row0 + ty + i < M && col0 + tx < N) C[size_t(row0 + ty + i) * N + col0 + tx] = sum[i];
}

extern "C" cudaError_t gemm_thread_column(const float* A, const float* B, float* C, int M, int N, int K,
                                          cudaStream_t stream) {
    if (M == 0 || N == 0) return cudaSuccess;
    gemm_thread_column_kernel<<<dim3((N + BN - 1) / BN, (M + BM - 1) / BM), 512, 0, stream>>>(A, B, C, M, N, K);
    return cudaGetLastError();
}
