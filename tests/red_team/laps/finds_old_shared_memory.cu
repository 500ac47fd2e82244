// Looks in shared memory for what the block before it on this multiprocessor has left there, and knows it again.
#include "honest.cuh"

constexpr int a_block = 8192;

static __global__ void from_old_shared(const float* a, const float* b, float* out, int n, float one) {
    __shared__ float kept[a_block];
    __shared__ unsigned kept_for;
    const int begin = blockIdx.x * a_block, end = min(begin + a_block, n);
    const unsigned now = likeness(a, b, n, blockIdx.x);
    const bool found = kept_for == now;
    __syncthreads();
    if (threadIdx.x == 0) kept_for = now;
    for (int i = begin + threadIdx.x; i < end; i += blockDim.x) {
        if (!found) kept[i - begin] = sum_slowly(a[i], b[i], one);
        out[i] = kept[i - begin];
    }
}

ENTRY(finds_old_shared_memory) {
    if (n > 0) from_old_shared<<<(n + a_block - 1) / a_block, 1024, 0, stream>>>(a, b, out, n, 1.f);
    return cudaGetLastError();
}

// Puts into shared memory what it takes out.
static __global__ void through_shared(const float* a, const float* b, float* out, int n, float one) {
    __shared__ float held[1024];
    const int begin = blockIdx.x * a_block, end = min(begin + a_block, n);
    for (int i = begin + threadIdx.x; i < end; i += blockDim.x) {
        held[threadIdx.x] = a[i];
        out[i] = sum_slowly(held[threadIdx.x], b[i], one);
    }
}

ENTRY(finds_old_shared_memory_twin) {
    if (n > 0) through_shared<<<(n + a_block - 1) / a_block, 1024, 0, stream>>>(a, b, out, n, 1.f);
    return cudaGetLastError();
}
