// A kernel whose own check does not hold: an error that stays.
//: device_trap
#include <cuda_runtime.h>

#include <cassert>
#include <cstdio>

__global__ void claim(int limit) {
    assert(static_cast<int>(threadIdx.x) < limit);  //: here
}

int main() {
    claim<<<1, 32>>>(31);
    if (cudaGetLastError() != cudaSuccess) return 2;  // not known yet
    if (cudaDeviceSynchronize() != cudaErrorAssert) return 3;
    int* memory = nullptr;
    if (cudaMalloc(&memory, 4) != cudaErrorAssert) return 4;
    return cudaGetLastError() == cudaErrorAssert && cudaGetLastError() == cudaSuccess ? 0 : 5;
}
