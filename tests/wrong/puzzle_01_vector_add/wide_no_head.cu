// vector_add_wide: what was peeled off is not done
#include <cuda_runtime.h>

#include <cstdint>

__global__ void vector_add_wide_kernel(const float* a, const float* b, float* out, int n) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    const unsigned past = reinterpret_cast<std::uintptr_t>(out) / sizeof(float) % 4;
    const unsigned head = min((4 - past) % 4, n);
    const unsigned quads = (n - head) / 4;
    if (i < quads) {
        const unsigned at = head + 4 * i;
        const float4 x = make_float4(a[at], a[at + 1], a[at + 2], a[at + 3]);
        const float4 y = make_float4(b[at], b[at + 1], b[at + 2], b[at + 3]);
        *reinterpret_cast<float4*>(out + at) = make_float4(x.x + y.x, x.y + y.y, x.z + y.z, x.w + y.w);
    }
    const unsigned tail = head + 4 * quads + i;
    if (tail < n) out[tail] = a[tail] + b[tail];
}

extern "C" cudaError_t vector_add_wide(const float* a, const float* b, float* out, int n, cudaStream_t stream) {
    if (n == 0) return cudaSuccess;
    vector_add_wide_kernel<<<(n + 1023) / 1024, 256, 0, stream>>>(a, b, out, n);
    return cudaGetLastError();
}
