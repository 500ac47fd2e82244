// gemm_nt: the sum of A · Bᵀ is kept in half precision
#include <cuda_fp16.h>
#include <cuda_runtime.h>

__global__ void gemm_nt_kernel(const float* A, const float* B, float* C, int M, int N, int K) {
    const size_t row = blockIdx.y * blockDim.y + threadIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= M || col >= N) return;
    __half sum = __float2half(0.0f);
    for (size_t k = 0; k < K; ++k) sum = __hfma(__float2half(A[row * K + k]), __float2half(B[col * K + k]), sum);
    C[row * N + col] = __half2float(sum);
}

extern "C" cudaError_t gemm_nt(const float* A, const float* B, float* C, int M, int N, int K, cudaStream_t stream) {
    if (M == 0 || N == 0) return cudaSuccess;
    const dim3 block(16, 16), grid((N + 15) / 16, (M + 15) / 16);
    gemm_nt_kernel<<<grid, block, 0, stream>>>(A, B, C, M, N, K);
    return cudaGetLastError();
}
