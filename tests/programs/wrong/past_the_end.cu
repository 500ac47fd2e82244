// Vector add whose guard lets one thread too many through.
//: out_of_bounds_write
#include <cuda_runtime.h>

#include <vector>

__global__ void add_one(float* values, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i <= n) values[i] = 1.0f;  //: here
}

int main() {
    const int n = 1000;
    float* d_values = nullptr;
    if (cudaMalloc(&d_values, n * sizeof(float)) != cudaSuccess) return 2;
    add_one<<<(n + 255) / 256, 256>>>(d_values, n);
    const bool broken = cudaDeviceSynchronize() == cudaErrorIllegalAddress;
    // Such an error stays: every later call answers with it.
    return broken && cudaFree(d_values) == cudaErrorIllegalAddress && cudaGetLastError() == cudaErrorIllegalAddress ? 0
                                                                                                                    : 3;
}
