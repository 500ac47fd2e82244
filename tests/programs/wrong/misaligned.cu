// Four floats at once from an address that is no multiple of 16.
//: misaligned_access
#include <cuda_runtime.h>

__global__ void copy(const float* in, float4* out) {
    out[threadIdx.x] = *reinterpret_cast<const float4*>(in + 1 + 4 * threadIdx.x);  //: here
}

int main() {
    float* d_in = nullptr;
    float4* d_out = nullptr;
    if (cudaMalloc(&d_in, 200 * sizeof(float)) != cudaSuccess) return 2;
    if (cudaMalloc(&d_out, 32 * sizeof(float4)) != cudaSuccess) return 2;
    if (cudaMemset(d_in, 0, 200 * sizeof(float)) != cudaSuccess) return 2;
    copy<<<1, 32>>>(d_in, d_out);
    return cudaDeviceSynchronize() == cudaErrorMisalignedAddress ? 0 : 2;
}
