// An allocation that fails, unseen: the kernel gets a null pointer.
//: ignored_error out_of_bounds_write
#include <cuda_runtime.h>

__global__ void clear(double* values, int n) {
    const int i = threadIdx.x;
    if (i < n) values[i] = 0.0;  //: here
}

int main() {
    double* d_values = nullptr;
    const size_t far_too_much = size_t{1} << 48;
    cudaMalloc(&d_values, far_too_much);  //: here
    clear<<<1, 32>>>(d_values, 32);
    return cudaDeviceSynchronize() == cudaErrorIllegalAddress ? 0 : 2;
}
