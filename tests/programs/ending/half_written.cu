// Too few blocks, and a program that sees it in its results.
#include <cuda_runtime.h>

#include <vector>

__global__ void fill(float* values, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) values[i] = 1.0f;
}

int main() {
    const int n = 1000;
    std::vector<float> values(n);
    float* d_values = nullptr;
    if (cudaMalloc(&d_values, n * sizeof(float)) != cudaSuccess) return 2;
    fill<<<n / 256, 256>>>(d_values, n);
    if (cudaMemcpy(values.data(), d_values, n * sizeof(float), cudaMemcpyDeviceToHost) != cudaSuccess)
        return 2;  //: here
    return values == std::vector<float>(n, 1.0f) ? 0 : 3;
}
