// Looks in local memory for what the thread before it in this place has left there, and knows it again.
#include "honest.cuh"

constexpr int a_thread = 16;

static __global__ void from_old_local(const float* a, const float* b, float* out, int n, float one) {
    volatile float kept[a_thread + 1];
    const int thread = blockIdx.x * blockDim.x + threadIdx.x, threads = gridDim.x * blockDim.x;
    const float now = __uint_as_float(likeness(a, b, n, thread) & 0x3fffffff);
    const bool found = kept[a_thread] == now;
    for (int k = 0; k < a_thread; ++k) {
        const int i = k * threads + thread;
        if (i >= n) break;
        if (!found) kept[k] = sum_slowly(a[i], b[i], one);
        out[i] = kept[k];
    }
    kept[a_thread] = now;
}

static int blocks_of_threads(int n) {
    return (n + 256 * a_thread - 1) / (256 * a_thread);
}

ENTRY(finds_old_local_memory) {
    if (n > 0) from_old_local<<<blocks_of_threads(n), 256, 0, stream>>>(a, b, out, n, 1.f);
    return cudaGetLastError();
}

// Puts into local memory what it takes out.
static __global__ void through_local(const float* a, const float* b, float* out, int n, float one) {
    volatile float held[a_thread];
    const int thread = blockIdx.x * blockDim.x + threadIdx.x, threads = gridDim.x * blockDim.x;
    for (int k = 0; k < a_thread; ++k) {
        const int i = k * threads + thread;
        if (i >= n) break;
        held[k] = a[i];
        out[i] = sum_slowly(held[k], b[i], one);
    }
}

ENTRY(finds_old_local_memory_twin) {
    if (n > 0) through_local<<<blocks_of_threads(n), 256, 0, stream>>>(a, b, out, n, 1.f);
    return cudaGetLastError();
}
