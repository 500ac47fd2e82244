// An index that leaves a table of the module.
//: out_of_bounds_read
#include <cuda_runtime.h>

__device__ int table[4] = {1, 2, 3, 4};

__global__ void look_up(int* out, int last) {
    out[threadIdx.x] = table[min(static_cast<int>(threadIdx.x), last)];  //: here
}

int main() {
    int* d_out = nullptr;
    if (cudaMalloc(&d_out, 32 * sizeof(int)) != cudaSuccess) return 2;
    look_up<<<1, 32>>>(d_out, 4);
    return cudaDeviceSynchronize() == cudaErrorIllegalAddress ? 0 : 2;
}
