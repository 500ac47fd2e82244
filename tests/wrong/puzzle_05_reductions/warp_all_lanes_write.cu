// warp_sum: each lane writes, and only one has the sum
#include <cuda_runtime.h>

__global__ void warp_sum_kernel(const float* x, float* out, int rows) {
    const unsigned lane = threadIdx.x % 32;
    const unsigned row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    if (row >= rows) return;
    float sum = x[row * 32 + lane];
    for (unsigned offset = 16; offset > 0; offset /= 2) sum += __shfl_down_sync(0xffffffff, sum, offset);
    out[row] = sum;
}

extern "C" cudaError_t warp_sum(const float* x, float* out, int rows, cudaStream_t stream) {
    if (rows == 0) return cudaSuccess;
    warp_sum_kernel<<<(rows + 7) / 8, 256, 0, stream>>>(x, out, rows);
    return cudaGetLastError();
}
