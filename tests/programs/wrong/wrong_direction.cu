// The result is copied with the direction of the way there, and nobody looks.
//: ignored_error
#include <cuda_runtime.h>

#include <cstdio>

__global__ void square(float* values, int n) {
    const int i = threadIdx.x;
    if (i < n) values[i] *= values[i];
}

int main() {
    float values[4] = {1.0f, 2.0f, 3.0f, 4.0f};
    float* d_values = nullptr;
    cudaMalloc(&d_values, sizeof values);
    cudaMemcpy(d_values, values, sizeof values, cudaMemcpyHostToDevice);
    square<<<1, 32>>>(d_values, 4);
    cudaMemcpy(values, d_values, sizeof values, cudaMemcpyHostToDevice);  //: here
    std::printf("%g\n", values[3]);
    cudaFree(d_values);
    return 0;
}
