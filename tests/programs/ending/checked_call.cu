// A program that looks, and gives up: its own word and exit code, and what was behind it.
#include <cuda_runtime.h>

#include <cstdio>

int main(int argc, char** argv) {
    float* d_values = nullptr;
    if (cudaMalloc(&d_values, 16) != cudaSuccess) return 2;
    if (cudaFree(d_values) != cudaSuccess) return 2;
    const cudaError_t error = cudaFree(d_values);  //: here
    std::printf("%s %d %s\n", cudaGetErrorString(error), argc, argv[argc - 1]);
    return 5;
}
