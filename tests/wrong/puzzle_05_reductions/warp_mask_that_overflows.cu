// warp_sum: 1 shifted by 32 is no mask of 32 lanes
#include <cuda_runtime.h>

__global__ void warp_sum_kernel(const float* x, float* out, int rows) {
    const unsigned lane = threadIdx.x % 32;
    const unsigned row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    if (row >= rows) return;
    float sum = x[row * 32 + lane];
    const unsigned lanes = blockDim.x / 8;
    const unsigned mask = (1u << (lanes % 32)) - 1;
    for (unsigned offset = 16; offset > 0; offset /= 2) sum += __shfl_down_sync(mask, sum, offset);
    if (lane == 0) out[row] = sum;
}

extern "C" cudaError_t warp_sum(const float* x, float* out, int rows, cudaStream_t stream) {
    if (rows == 0) return cudaSuccess;
    warp_sum_kernel<<<(rows + 7) / 8, 256, 0, stream>>>(x, out, rows);
    return cudaGetLastError();
}
