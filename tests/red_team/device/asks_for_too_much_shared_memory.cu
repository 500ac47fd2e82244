// Asks for more shared memory than there is: the launch fails, takes no time, and leaves what was there.
#include "honest.cuh"

static __global__ void much_shared(const float* a, const float* b, float* out, int n) {
    extern __shared__ float tile[];
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    tile[threadIdx.x] = i < n ? a[i] : 0.f;
    if (i < n) out[i] = tile[threadIdx.x] + b[i];
}

ENTRY(asks_for_too_much_shared_memory) {
    much_shared<<<blocks_for(n), 256, 1 << 20, stream>>>(a, b, out, n);
    return cudaSuccess;
}

// Asks for 64 KiB, as one has to.
ENTRY(asks_for_too_much_shared_memory_twin) {
    constexpr int bytes = 64 << 10;
    const cudaError_t set = cudaFuncSetAttribute(much_shared, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
    if (set != cudaSuccess) return set;
    much_shared<<<blocks_for(n), 256, bytes, stream>>>(a, b, out, n);
    return cudaGetLastError();
}
