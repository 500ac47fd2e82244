// vector_add_float4: the float4s begin after n mod 4 elements, at no multiple of 16 bytes
#include <cuda_runtime.h>

__global__ void vector_add_float4_kernel(const float* a, const float* b, float* out, int n) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    const unsigned head = n % 4;
    if (i < head) out[i] = a[i] + b[i];
    if (i >= n / 4) return;
    const float4 x = reinterpret_cast<const float4*>(a + head)[i];
    const float4 y = reinterpret_cast<const float4*>(b + head)[i];
    reinterpret_cast<float4*>(out + head)[i] = make_float4(x.x + y.x, x.y + y.y, x.z + y.z, x.w + y.w);
}

extern "C" cudaError_t vector_add_float4(const float* a, const float* b, float* out, int n, cudaStream_t stream) {
    if (n == 0) return cudaSuccess;
    vector_add_float4_kernel<<<(n + 1023) / 1024, 256, 0, stream>>>(a, b, out, n);
    return cudaGetLastError();
}
