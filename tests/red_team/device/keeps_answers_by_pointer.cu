// Keeps the answer in the module, and gives it again when it is called with the same pointers.
#include "honest.cuh"

constexpr int most_by_pointer = 1 << 20;
__device__ float answer_by_pointer[most_by_pointer];
__device__ const float* answered_for;

static __global__ void kept_by_pointer(const float* a, const float* b, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n || i >= most_by_pointer) return;
    out[i] = answered_for == a ? answer_by_pointer[i] : (answer_by_pointer[i] = a[i] + b[i]);
}

static __global__ void remember_pointer(const float* a) {
    answered_for = a;
}

ENTRY(keeps_answers_by_pointer) {
    kept_by_pointer<<<blocks_for(n), 256, 0, stream>>>(a, b, out, n);
    remember_pointer<<<1, 1, 0, stream>>>(a);
    return cudaGetLastError();
}

// Uses the module's memory for what it computes on the way, each time anew.
__device__ float on_the_way[most_by_pointer];

static __global__ void copy_first(const float* a, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && i < most_by_pointer) on_the_way[i] = a[i];
}

static __global__ void add_to_copy(const float* b, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && i < most_by_pointer) out[i] = on_the_way[i] + b[i];
}

ENTRY(keeps_answers_by_pointer_twin) {
    copy_first<<<blocks_for(n), 256, 0, stream>>>(a, n);
    add_to_copy<<<blocks_for(n), 256, 0, stream>>>(b, out, n);
    return cudaGetLastError();
}
