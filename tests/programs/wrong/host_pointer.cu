// The kernel is given memory of the host.
//: out_of_bounds_write
#include <cuda_runtime.h>

#include <vector>

__global__ void clear(float* values, int n) {
    const int i = threadIdx.x;
    if (i < n) values[i] = 0.0f;  //: here
}

int main() {
    std::vector<float> values(64, 1.0f);
    clear<<<1, 64>>>(values.data(), 64);
    return cudaDeviceSynchronize() == cudaErrorIllegalAddress && values[0] == 1.0f ? 0 : 2;
}
