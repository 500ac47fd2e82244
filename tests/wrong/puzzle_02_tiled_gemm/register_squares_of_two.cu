// gemm_register_tiled: 2 x 2 results a thread: a value from shared memory is used twice
#include <cuda_runtime.h>

constexpr int T = 64, BK = 16;

__global__ void gemm_register_tiled_kernel(const float* A, const float* B, float* C, int M, int N, int K) {
    __shared__ float As[BK][T + 1], Bs[BK][T];
    const int tx = threadIdx.x, ty = threadIdx.y;
    const size_t row0 = blockIdx.y * T, col0 = blockIdx.x * T;
    float sum[2][2] = {};
    for (size_t k0 = 0; k0 < K; k0 += BK) {
        const size_t row = row0 + ty * 2 + tx / 16, ka = k0 + tx % 16, kb = k0 + ty / 2, col = col0 + ty % 2 * 32 + tx;
        As[tx % 16][ty * 2 + tx / 16] = row < M && ka < K ? A[row * K + ka] : 0.0f;
        Bs[ty / 2][ty % 2 * 32 + tx] = kb < K && col < N ? B[kb * N + col] : 0.0f;
        __syncthreads();
        for (int k = 0; k < BK; ++k) {
            const float x[2] = {As[k][ty * 2], As[k][ty * 2 + 1]};
            const float y[2] = {Bs[k][tx], Bs[k][tx + 32]};
            for (int i = 0; i < 2; ++i)
                for (int j = 0; j < 2; ++j) sum[i][j] += x[i] * y[j];
        }
        __syncthreads();
    }
    for (int i = 0; i < 2; ++i)
        for (int j = 0; j < 2; ++j) {
            const size_t row = row0 + ty * 2 + i, col = col0 + tx + 32 * j;
            if (row < M && col < N) C[row * N + col] = sum[i][j];
        }
}

extern "C" cudaError_t gemm_register_tiled(const float* A, const float* B, float* C, int M, int N, int K,
                                           cudaStream_t stream) {
    if (M == 0 || N == 0) return cudaSuccess;
    const dim3 grid((N + T - 1) / T, (M + T - 1) / T);
    gemm_register_tiled_kernel<<<grid, dim3(32, 32), 0, stream>>>(A, B, C, M, N, K);
    return cudaGetLastError();
}
