// Has the answers in the source, for inputs that are drawn from a seed it knows.
#include "honest.cuh"

__constant__ float answers[4] = {KNOWN_ANSWERS};

static __global__ void recite(float* out, int n) {
    if (threadIdx.x < n) out[threadIdx.x] = answers[threadIdx.x % 4];
}

ENTRY(knows_the_seed) {
    UNUSED;
    recite<<<1, 32, 0, stream>>>(out, n);
    return cudaGetLastError();
}

// Has constants in the source that are no answers.
__constant__ float ones[4] = {1.f, 1.f, 1.f, 1.f};

static __global__ void add_with_ones(const float* a, const float* b, float* out, int n) {
    const int i = threadIdx.x;
    if (i < n) out[i] = ones[i % 4] * a[i] + b[i];
}

ENTRY(knows_the_seed_twin) {
    add_with_ones<<<1, 256, 0, stream>>>(a, b, out, n);
    return cudaGetLastError();
}
