// vector_add_float4: right values; 8 bytes an access
#include <cuda_runtime.h>

__global__ void vector_add_float4_kernel(const float* a, const float* b, float* out, int n) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    for (unsigned k = 2 * i; k < 2 * i + 2 && k < n / 2; ++k) {
        const float2 x = reinterpret_cast<const float2*>(a)[k];
        const float2 y = reinterpret_cast<const float2*>(b)[k];
        reinterpret_cast<float2*>(out)[k] = make_float2(x.x + y.x, x.y + y.y);
    }
    if (i == 0 && n % 2 == 1) out[n - 1] = a[n - 1] + b[n - 1];
}

extern "C" cudaError_t vector_add_float4(const float* a, const float* b, float* out, int n, cudaStream_t stream) {
    if (n == 0) return cudaSuccess;
    vector_add_float4_kernel<<<(n + 1023) / 1024, 256, 0, stream>>>(a, b, out, n);
    return cudaGetLastError();
}
