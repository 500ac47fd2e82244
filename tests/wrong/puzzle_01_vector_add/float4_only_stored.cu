// vector_add_float4: right values; loads four floats one by one
#include <cuda_runtime.h>

__global__ void vector_add_float4_kernel(const float* a, const float* b, float* out, int n) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n / 4) {
        float sum[4];
        for (int k = 0; k < 4; ++k) sum[k] = a[4 * i + k] + b[4 * i + k];
        reinterpret_cast<float4*>(out)[i] = make_float4(sum[0], sum[1], sum[2], sum[3]);
    }
    const unsigned tail = n / 4 * 4 + i;
    if (tail < n) out[tail] = a[tail] + b[tail];
}

extern "C" cudaError_t vector_add_float4(const float* a, const float* b, float* out, int n, cudaStream_t stream) {
    if (n == 0) return cudaSuccess;
    vector_add_float4_kernel<<<(n + 1023) / 1024, 256, 0, stream>>>(a, b, out, n);
    return cudaGetLastError();
}
