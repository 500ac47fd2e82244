// warp_sum: right values; lane 0 sets out to zero, and 32 lanes queue for it
#include <cuda_runtime.h>

__global__ void warp_sum_kernel(const float* x, float* out, int rows) {
    const unsigned lane = threadIdx.x % 32;
    const unsigned row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    if (row >= rows) return;
    if (lane == 0) out[row] = 0.0f;
    __syncwarp();
    atomicAdd(&out[row], x[row * 32 + lane]);
}

extern "C" cudaError_t warp_sum(const float* x, float* out, int rows, cudaStream_t stream) {
    if (rows == 0) return cudaSuccess;
    warp_sum_kernel<<<(rows + 7) / 8, 256, 0, stream>>>(x, out, rows);
    return cudaGetLastError();
}
