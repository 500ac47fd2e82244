// Keeps answers in the module's variables, and knows inputs again by a few of their values: right even where inputs
// change, for as long as they come again.
#include "honest.cuh"

constexpr int most = 1 << 20, slots = 4;
__device__ float kept[slots][most];
__device__ unsigned kept_for[slots];
__device__ int newest;

static __global__ void kept_or_computed(const float* a, const float* b, float* out, int n, float one) {
    const unsigned now = likeness(a, b, n, 0);
    int slot = 0;
    while (slot < slots && kept_for[slot] != now) ++slot;
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n || i >= most) return;
    if (slot == slots)
        out[i] = kept[newest % slots][i] = sum_slowly(a[i], b[i], one);
    else
        out[i] = kept[slot][i];
}

static __global__ void remember(const float* a, const float* b, int n) {
    const unsigned now = likeness(a, b, n, 0);
    for (int slot = 0; slot < slots; ++slot) {
        if (kept_for[slot] == now) return;
    }
    kept_for[newest++ % slots] = now;
}

ENTRY(keeps_answers_in_the_module) {
    if (n == 0) return cudaSuccess;
    kept_or_computed<<<blocks_for(n), 256, 0, stream>>>(a, b, out, n, 1.f);
    remember<<<1, 1, 0, stream>>>(a, b, n);
    return cudaGetLastError();
}

// Puts what it computes on the way into the module's variables, each time anew.
static __global__ void first_half(const float* a, const float* b, int n, float one) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && i < most) kept[0][i] = sum_slowly(a[i], b[i], one);
}

static __global__ void second_half(float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && i < most) out[i] = kept[0][i];
}

ENTRY(keeps_answers_in_the_module_twin) {
    if (n == 0) return cudaSuccess;
    first_half<<<blocks_for(n), 256, 0, stream>>>(a, b, n, 1.f);
    second_half<<<blocks_for(n), 256, 0, stream>>>(out, n);
    return cudaGetLastError();
}
