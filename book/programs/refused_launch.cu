// A launch that CUDA refuses: who is told, and until when.
#include <cuda_runtime.h>

#include <cstdio>

static void tell(const char* when, cudaError_t error) {
    std::printf("%-28s %s\n", when, cudaGetErrorName(error));
}

__global__ void fill(float* x, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = 1.0f;
}

int main() {
    constexpr int n = 2048;
    float* x = nullptr;
    tell("cudaMalloc", cudaMalloc(&x, n * sizeof(float)));
    fill<<<1, n>>>(x, n);  // 1,024 threads are the most that a block has
    tell("cudaDeviceSynchronize", cudaDeviceSynchronize());
    tell("cudaPeekAtLastError", cudaPeekAtLastError());
    tell("cudaGetLastError", cudaGetLastError());
    tell("cudaGetLastError, again", cudaGetLastError());
    fill<<<2, n / 2>>>(x, n);
    tell("a launch that fits", cudaGetLastError());
    tell("cudaFree", cudaFree(x));
}
