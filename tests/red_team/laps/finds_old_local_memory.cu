// Looks in local memory for what an earlier run has left there. One block for each multiprocessor: whichever piece of
// the answer its threads find, they give it again. What is written besides drives the answers out of the L1, which may
// forget them when the threads end.
#include "honest.cuh"

constexpr int most_of_a_thread = 16, ballast = 128;
constexpr float mark_local = 12345.f;

static __global__ void from_old_local(const float* a, const float* b, float* out, int n, float one) {
    volatile float kept[2 + most_of_a_thread + ballast];
    const int each = (n + gridDim.x - 1) / gridDim.x;
    const bool found = __syncthreads_and(kept[0] == mark_local + threadIdx.x);
    const int begin = (found ? int(kept[1]) : blockIdx.x) * each;
    for (int k = 0, i = threadIdx.x; k < most_of_a_thread && i < each && begin + i < n; ++k, i += blockDim.x) {
        if (!found) kept[2 + k] = sum_slowly(a[begin + i], b[begin + i], one);
        out[begin + i] = kept[2 + k];
    }
    if (found) return;
    kept[0] = mark_local + threadIdx.x;
    kept[1] = float(blockIdx.x);
    for (int k = 0; k < ballast; ++k) kept[2 + most_of_a_thread + k] = one;
}

static int one_block_each() {
    int processors = 1;
    return cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, 0) == cudaSuccess ? processors : 1;
}

ENTRY(finds_old_local_memory) {
    if (n > 0) from_old_local<<<one_block_each(), 1024, 0, stream>>>(a, b, out, n, 1.f);
    return cudaGetLastError();
}

// Puts into local memory what it takes out.
static __global__ void through_local(const float* a, const float* b, float* out, int n, float one) {
    volatile float held[most_of_a_thread];
    const int each = (n + gridDim.x - 1) / gridDim.x, begin = blockIdx.x * each;
    for (int k = 0, i = threadIdx.x; i < each && begin + i < n; ++k, i += blockDim.x) {
        held[k % most_of_a_thread] = a[begin + i];
        out[begin + i] = sum_slowly(held[k % most_of_a_thread], b[begin + i], one);
    }
}

ENTRY(finds_old_local_memory_twin) {
    if (n > 0) through_local<<<one_block_each(), 1024, 0, stream>>>(a, b, out, n, 1.f);
    return cudaGetLastError();
}
