// A sum that starts from whatever cudaMalloc gave.
//: uninitialised_read
#include <cuda_runtime.h>

__global__ void sum(const float* in, float* total, int n) {
    for (int i = threadIdx.x; i < n; i += blockDim.x) atomicAdd(total, in[i]);  //: here
}

int main() {
    const int n = 64;
    float *d_in = nullptr, *d_total = nullptr;
    if (cudaMalloc(&d_in, n * sizeof(float)) != cudaSuccess) return 2;
    if (cudaMalloc(&d_total, sizeof(float)) != cudaSuccess) return 2;
    if (cudaMemset(d_in, 0, n * sizeof(float)) != cudaSuccess) return 2;
    sum<<<1, 32>>>(d_in, d_total, n);
    return cudaDeviceSynchronize() == cudaSuccess ? 0 : 2;
}
