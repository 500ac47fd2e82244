// A launch of more threads than a block can have, and nobody asks what became of it.
//: ignored_error
#include <cuda_runtime.h>

__global__ void clear(int* values, int n) {
    const int i = threadIdx.x;
    if (i < n) values[i] = 0;
}

int main() {
    int *d_values = nullptr, values[3] = {};
    if (cudaMalloc(&d_values, 2000 * sizeof(int)) != cudaSuccess) return 2;
    if (cudaMemset(d_values, 1, 2000 * sizeof(int)) != cudaSuccess) return 2;
    clear<<<1, 2000>>>(d_values, 2000);  //: here
    return cudaMemcpy(values, d_values, sizeof values, cudaMemcpyDeviceToHost) == cudaSuccess ? 0 : 2;
}
