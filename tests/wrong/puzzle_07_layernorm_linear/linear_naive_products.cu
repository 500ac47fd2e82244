// linear_backward: both products by a thread a result: right, and every value is loaded again and again
#include <cuda_runtime.h>

// C[i][j] is a sum over k, with any strides.
__global__ void product_kernel(const float* A, const float* B, float* C, int M, int N, int K, int a_row, int a_k) {
    const int i = blockIdx.y * blockDim.y + threadIdx.y, j = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= M || j >= N) return;
    float sum = 0.0f;
    for (int k = 0; k < K; ++k) sum += A[i * a_row + k * a_k] * B[k * N + j];
    C[i * N + j] = sum;
}

static cudaError_t product(const float* A, const float* B, float* C, int M, int N, int K, int a_row, int a_k,
                           cudaStream_t stream) {
    if (M == 0 || N == 0) return cudaSuccess;
    const dim3 block(32, 8), grid((N + 31) / 32, (M + 7) / 8);
    product_kernel<<<grid, block, 0, stream>>>(A, B, C, M, N, K, a_row, a_k);
    return cudaGetLastError();
}

extern "C" cudaError_t col_sum(const float* x, float* out, int rows, int cols, cudaStream_t stream);

extern "C" cudaError_t linear_backward(const float* dy, const float* input, const float* W, float* dinput, float* dW,
                                       float* dbias, int rows, int cols, int out_features, cudaStream_t stream) {
    cudaError_t error = product(dy, W, dinput, rows, cols, out_features, out_features, 1, stream);
    if (error == cudaSuccess) error = product(dy, input, dW, out_features, cols, rows, 1, out_features, stream);
    if (error == cudaSuccess) error = col_sum(dy, dbias, rows, out_features, stream);
    return error;
}
