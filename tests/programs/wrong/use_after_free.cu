// A buffer is freed one launch too early.
//: out_of_bounds_read
#include <cuda_runtime.h>

__global__ void add(const float* a, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] += a[i];  //: here
}

int main() {
    const int n = 100;
    float *d_a = nullptr, *d_out = nullptr;
    cudaMalloc(&d_a, n * sizeof(float));
    cudaMalloc(&d_out, n * sizeof(float));
    cudaMemset(d_a, 0, n * sizeof(float));
    cudaMemset(d_out, 0, n * sizeof(float));
    add<<<1, 128>>>(d_a, d_out, n);
    cudaFree(d_a);
    add<<<1, 128>>>(d_a, d_out, n);
    return cudaDeviceSynchronize() == cudaErrorIllegalAddress ? 0 : 2;
}
