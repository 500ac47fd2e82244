// The same buffer is freed twice, and another one never.
//: ignored_error
#include <cuda_runtime.h>

int main() {
    float *d_a = nullptr, *d_b = nullptr;
    if (cudaMalloc(&d_a, 400) != cudaSuccess || cudaMalloc(&d_b, 400) != cudaSuccess) return 2;
    cudaFree(d_a);
    cudaFree(d_a);  //: here
    return 0;
}
