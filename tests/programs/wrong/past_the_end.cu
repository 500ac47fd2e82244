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
    // Such an error stays: it can be taken, and every later call answers with it again.
    if (!broken || cudaGetLastError() != cudaErrorIllegalAddress || cudaGetLastError() != cudaSuccess) return 3;
    if (cudaFree(d_values) != cudaErrorIllegalAddress) return 4;
    return cudaGetLastError() == cudaErrorIllegalAddress && cudaPeekAtLastError() == cudaSuccess ? 0 : 5;
}
