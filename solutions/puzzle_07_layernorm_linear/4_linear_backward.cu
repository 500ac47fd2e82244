// linear_backward: the gradients of a loss by input, W and bias, where y = input · Wᵀ + bias
//
// Why    dy is the gradient by y, and y[r][o] is the sum over c of input[r][c] · W[o][c], plus bias[o]. So each
//        input[r][c] is in all outputs of its row, each W[o][c] in column o of all rows, and so is bias[o]:
//            dinput = dy · W          dW = dyᵀ · input          dbias[o] = the sum of dy down column o
//        Two products of matrices and a sum, and you have written all three: what is left is to say which matrix goes
//        where.
// Given  dy [rows, out_features], input and dinput [rows, cols], W and dW [out_features, cols], dbias [out_features],
//        floats in device memory, row-major, any size, cols at least 1; the entries of 2.5, 2.8 and 5.8: yours where
//        they have passed.
// Write  three calls, with the sizes in their order, each only if the one before had no error; the error of the one
//        that fails is returned.
// Goal   Loads are coalesced, and each value loaded from global memory is used at least 8 times.
#include <cuda_runtime.h>

// C = A · B, where A is [M, K], B [K, N] and C [M, N]
extern "C" cudaError_t gemm_register_tiled(const float* A, const float* B, float* C, int M, int N, int K,
                                           cudaStream_t stream);
// C = Aᵀ · B, where A is [K, M], B [K, N] and C [M, N]
extern "C" cudaError_t gemm_tn(const float* A, const float* B, float* C, int M, int N, int K, cudaStream_t stream);
// out[c] = x[0][c] + x[1][c] + …, where x is [rows, cols]
extern "C" cudaError_t col_sum(const float* x, float* out, int rows, int cols, cudaStream_t stream);

extern "C" cudaError_t linear_backward([[maybe_unused]] const float* dy, [[maybe_unused]] const float* input,
                                       [[maybe_unused]] const float* W, [[maybe_unused]] float* dinput,
                                       [[maybe_unused]] float* dW, [[maybe_unused]] float* dbias,
                                       [[maybe_unused]] int rows, [[maybe_unused]] int cols,
                                       [[maybe_unused]] int out_features, [[maybe_unused]] cudaStream_t stream) {
    cudaError_t error = cudaSuccess;
    // --- your code ---
    error = gemm_register_tiled(dy, W, dinput, rows, cols, out_features, stream);  // summed over out_features
    if (error == cudaSuccess) error = gemm_tn(dy, input, dW, out_features, cols, rows, stream);  // over the rows
    if (error == cudaSuccess) error = col_sum(dy, dbias, rows, out_features, stream);
    // --- end ---
    return error;
}
