// rmsnorm_naive: y[r][c] = x[r][c] / √(the mean of the squares of row r + eps) · w[c]
//
// Why    Every layer of a Llama begins with it: each row, the state of one token, is brought to the size 1, and each
//        column gets a factor that is learned. eps keeps a row of zeros from being divided by 0.
// Given  x and y, rows × cols floats each in row-major order, cols at least 1, w, cols floats, in device memory; eps by
//        value; a launcher with a thread for each row.
// Write  the kernel's body, about 6 lines: one thread, one row. Add up the squares, take one over the root, scale the
//        row. It will be right and slow; 6.2 shows why.
#include <cuda_runtime.h>

__global__ void rmsnorm_naive_kernel(const float* __restrict__ x, const float* __restrict__ w, float* __restrict__ y,
                                     int rows, int cols, float eps) {
    // --- your code ---
    const unsigned row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    const size_t begin = size_t{row} * cols;  // rows × cols may be more than an int holds
    float squares = 0.0f;
    for (int c = 0; c < cols; ++c) squares += x[begin + c] * x[begin + c];
    const float scale = rsqrtf(squares / cols + eps);  // eps inside the root: a row of zeros gives 0, not 0 / 0
    for (int c = 0; c < cols; ++c) y[begin + c] = x[begin + c] * scale * w[c];
    // --- end ---
}

extern "C" cudaError_t rmsnorm_naive(const float* x, const float* w, float* y, int rows, int cols, float eps,
                                     cudaStream_t stream) {
    if (rows == 0) return cudaSuccess;
    constexpr unsigned threads = 256;
    rmsnorm_naive_kernel<<<(rows + threads - 1) / threads, threads, 0, stream>>>(x, w, y, rows, cols, eps);
    return cudaGetLastError();
}
