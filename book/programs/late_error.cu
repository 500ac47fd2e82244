// A kernel that goes out of bounds, and the innocent calls that hear of it.
#include <cuda_runtime.h>

#include <cstdio>

static void tell(const char* when, cudaError_t error) {
    std::printf("%-28s %s\n", when, cudaGetErrorName(error));
}

__global__ void fill(float* x, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i <= n) x[i] = 1.0f;
}

int main() {
    constexpr int n = 1000;
    float *x = nullptr, *y = nullptr, *z = nullptr, on_host[n];
    tell("cudaMalloc", cudaMalloc(&x, n * sizeof(float)));
    tell("cudaMalloc", cudaMalloc(&y, n * sizeof(float)));
    tell("cudaMemset of y", cudaMemset(y, 0, n * sizeof(float)));
    fill<<<4, 256>>>(x, n);
    tell("after the launch", cudaGetLastError());
    tell("cudaMemcpy of y", cudaMemcpy(on_host, y, n * sizeof(float), cudaMemcpyDeviceToHost));
    tell("cudaGetLastError", cudaGetLastError());
    tell("cudaGetLastError, again", cudaGetLastError());
    tell("cudaMalloc", cudaMalloc(&z, n * sizeof(float)));
}
