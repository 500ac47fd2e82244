// Pinned memory is given back by the function for memory of the device.
//: ignored_error
#include <cuda_runtime.h>

int main() {
    float* values = nullptr;
    if (cudaMallocHost(&values, 64) != cudaSuccess) return 2;
    cudaFree(values);  //: here
    return 0;
}
