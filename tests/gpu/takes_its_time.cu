// vector_add, after half a minute of waiting: long enough to be taken for a kernel that never ends, and yet it does, so
// that no GPU stays busy whatever becomes of the process.
#include <cuda_runtime.h>

__device__ unsigned long long nanoseconds() {
    unsigned long long now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    return now;
}

__global__ void vector_add_kernel(const float* a, const float* b, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const unsigned long long begun = nanoseconds();
    while (nanoseconds() - begun < 30'000'000'000ull) {
    }
    if (i < n) out[i] = a[i] + b[i];
}

extern "C" cudaError_t vector_add(const float* a, const float* b, float* out, int n, cudaStream_t stream) {
    vector_add_kernel<<<(n + 255) / 256, 256, 0, stream>>>(a, b, out, n);
    return cudaGetLastError();
}
