// linear_backward: two of the three gradients
#include <cuda_runtime.h>

extern "C" cudaError_t gemm_register_tiled(const float* A, const float* B, float* C, int M, int N, int K,
                                           cudaStream_t stream);
extern "C" cudaError_t gemm_tn(const float* A, const float* B, float* C, int M, int N, int K, cudaStream_t stream);
extern "C" cudaError_t col_sum(const float* x, float* out, int rows, int cols, cudaStream_t stream);

extern "C" cudaError_t linear_backward(const float* dy, const float* input, const float* W, float* dinput, float* dW,
                                       float* dbias, int rows, int cols, int out_features, cudaStream_t stream) {
    cudaError_t error = gemm_register_tiled(dy, W, dinput, rows, cols, out_features, stream);
    if (error == cudaSuccess) error = gemm_tn(dy, input, dW, out_features, cols, rows, stream);
    return error;
}
