// The host follows a pointer of the device: it ends by a signal, as it would beside a GPU.
#include <cuda_runtime.h>

#include <cstdio>

int main() {
    float* d_values = nullptr;
    if (cudaMalloc(&d_values, 16) != cudaSuccess) return 2;
    std::printf("%g\n", d_values[0]);  //: here
    return 0;
}
