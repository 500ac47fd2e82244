// online_softmax: 5.7: the maximum first, then the sum, then the quotients
#include <cuda_runtime.h>

#include <cmath>

__device__ float over_block(float value, bool sum) {
    __shared__ float of_warp[8];
    for (int offset = 16; offset > 0; offset /= 2) {
        const float other = __shfl_xor_sync(~0u, value, offset);
        value = sum ? value + other : fmaxf(value, other);
    }
    __syncthreads();
    if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = value;
    __syncthreads();
    value = of_warp[0];
    for (int i = 1; i < 8; ++i) value = sum ? value + of_warp[i] : fmaxf(value, of_warp[i]);
    return value;
}

__global__ void online_softmax_kernel(const float* x, float* y, int cols) {
    const float* from = x + size_t{blockIdx.x} * cols;
    float* to = y + size_t{blockIdx.x} * cols;
    float largest = -INFINITY, sum = 0.0f;
    for (int c = threadIdx.x; c < cols; c += 256) largest = fmaxf(largest, from[c]);
    largest = over_block(largest, false);
    for (int c = threadIdx.x; c < cols; c += 256) sum += expf(from[c] - largest);
    sum = over_block(sum, true);
    for (int c = threadIdx.x; c < cols; c += 256) to[c] = expf(from[c] - largest) / sum;
}

extern "C" cudaError_t online_softmax(const float* x, float* y, int rows, int cols, cudaStream_t stream) {
    if (rows > 0) online_softmax_kernel<<<rows, 256, 0, stream>>>(x, y, cols);
    return cudaGetLastError();
}
