// gemm_thread_column: larger tiles, and still one result a thread: two reads from shared memory for each product
#include <cuda_runtime.h>

constexpr int T = 32;

__global__ void gemm_thread_column_kernel(const float* A, const float* B, float* C, int M, int N, int K) {
    __shared__ float As[T][T], Bs[T][T];
    const int tx = threadIdx.x, ty = threadIdx.y;
    const size_t row = blockIdx.x * T + ty, col = blockIdx.y * T + tx;
    float sum = 0.0f;
    for (size_t k0 = 0; k0 < K; k0 += T) {
        As[ty][tx] = row < M && k0 + tx < K ? A[row * K + k0 + tx] : 0.0f;
        Bs[ty][tx] = k0 + ty < K && col < N ? B[(k0 + ty) * N + col] : 0.0f;
        __syncthreads();
        for (int k = 0; k < T; ++k) sum += As[ty][k] * Bs[k][tx];
        __syncthreads();
    }
    if (row < M && col < N) C[row * N + col] = sum;
}

extern "C" cudaError_t gemm_thread_column(const float* A, const float* B, float* C, int M, int N, int K,
                                          cudaStream_t stream) {
    if (M == 0 || N == 0) return cudaSuccess;
    gemm_thread_column_kernel<<<dim3((M + T - 1) / T, (N + T - 1) / T), dim3(T, T), 0, stream>>>(A, B, C, M, N, K);
    return cudaGetLastError();
}
