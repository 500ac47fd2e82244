#include <cuda_runtime.h>

__device__ float warp_sum(float v) {
    for (int d = 16; d > 0; d /= 2) v += __shfl_down_sync(0xffffffff, v, d);
    return v;
}

__global__ void sum_kernel(const float* x, float* out, int n) {
    __shared__ float sums[8];
    float v = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) v += x[i];
    v = warp_sum(v);
    if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = v;
    __syncthreads();
    if (threadIdx.x < 32) {
        v = warp_sum(threadIdx.x < 8 ? sums[threadIdx.x] : 0);
        if (threadIdx.x == 0) atomicAdd(out, v);
    }
}

extern "C" cudaError_t reduce_sum(const float* x, float* out, int n, cudaStream_t stream) {
    if (n > 0) sum_kernel<<<132, 256, 0, stream>>>(x, out, n);
    cudaMemsetAsync(out, 0, sizeof(float), stream);
    return cudaGetLastError();
}
