// One entry that asks much of CUDA: a memset, a launch, a variable of the module that no kernel reads.
#include <cuda_runtime.h>

__constant__ float table[4];

__global__ void scale_kernel(float* x, int n, float factor) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = factor * x[i] + table[0];
}

extern "C" cudaError_t scale(float* x, float* scratch, int n, float factor, int block, cudaStream_t stream) {
    if (n == 0) return cudaSuccess;
    const cudaError_t filled = cudaMemsetAsync(scratch, 7, sizeof(float), stream);
    if (filled != cudaSuccess) return filled;
    scale_kernel<<<(n + block - 1) / block, block, 16, stream>>>(x, n, factor);
    return cudaGetLastError();
}
