// warp_sum: rows = 0 asks for a grid of no blocks
#include <cuda_runtime.h>

__global__ void warp_sum_kernel(const float* x, float* out, int rows) {
    const unsigned lane = threadIdx.x % 32;
    const unsigned row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    if (row >= rows) return;
    float sum = x[row * 32 + lane];
    for (unsigned offset = 16; offset > 0; offset /= 2) sum += __shfl_down_sync(0xffffffff, sum, offset);
    if (lane == 0) out[row] = sum;
}

extern "C" cudaError_t warp_sum(const float* x, float* out, int rows, cudaStream_t stream) {
    warp_sum_kernel<<<(rows + 7) / 8, 256, 0, stream>>>(x, out, rows);
    return cudaGetLastError();
}
