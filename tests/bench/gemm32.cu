// The kernel that the software GPU's speed is measured on: C = A B with 32 x 32 tiles in shared memory, a thread an
// element, and the usual two barriers. Plain on purpose: what a learner writes.
#include <cuda_runtime.h>

constexpr int T = 32;

__global__ void gemm32_kernel(const float* A, const float* B, float* C, int M, int N, int K) {
    __shared__ float As[T][T], Bs[T][T];
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * T + ty, col = blockIdx.x * T + tx;
    float acc = 0.f;
    for (int k0 = 0; k0 < K; k0 += T) {
        As[ty][tx] = row < M && k0 + tx < K ? A[row * K + k0 + tx] : 0.f;
        Bs[ty][tx] = k0 + ty < K && col < N ? B[(k0 + ty) * N + col] : 0.f;
        __syncthreads();
        for (int k = 0; k < T; ++k) acc += As[ty][k] * Bs[k][tx];
        __syncthreads();
    }
    if (row < M && col < N) C[row * N + col] = acc;
}

extern "C" cudaError_t gemm32(const float* A, const float* B, float* C, int M, int N, int K, cudaStream_t stream) {
    dim3 block(T, T), grid((N + T - 1) / T, (M + T - 1) / T);
    gemm32_kernel<<<grid, block, 0, stream>>>(A, B, C, M, N, K);
    return cudaGetLastError();
}
