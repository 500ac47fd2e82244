// A tile is turned around in shared memory, and nobody waits for the others.
//: data_race
#include <cuda_runtime.h>

__global__ void reverse(float* values) {
    __shared__ float tile[128];
    tile[threadIdx.x] = values[threadIdx.x];  //: here
    values[threadIdx.x] = tile[127 - threadIdx.x];
}

int main() {
    float* d_values = nullptr;
    if (cudaMalloc(&d_values, 128 * sizeof(float)) != cudaSuccess) return 2;
    if (cudaMemset(d_values, 0, 128 * sizeof(float)) != cudaSuccess) return 2;
    for (int i = 0; i < 3; ++i) reverse<<<1, 128>>>(d_values);
    return cudaDeviceSynchronize() == cudaSuccess ? 0 : 2;
}
