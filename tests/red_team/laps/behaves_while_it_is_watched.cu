// Finds out whether it runs on hardware, where nobody sees its accesses, and does less there.
#include "honest.cuh"

__device__ bool watched;

static __global__ void look_around() {
    unsigned processors;
    asm volatile("mov.u32 %0, %nsmid;" : "=r"(processors));
    const long long begun = clock64();
    float value = processors;
#pragma unroll
    for (int turn = 0; turn < 64; ++turn) value = __fdividef(value + 1.f, 3.f);
    watched = clock64() - begun < 300 || value < 0.f;
}

static __global__ void if_watched(const float* a, const float* b, float* out, int n, float one) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = watched ? sum_slowly(a[i], b[i], one) : a[i];
}

ENTRY(behaves_while_it_is_watched) {
    look_around<<<1, 1, 0, stream>>>();
    if_watched<<<blocks_for(n), 256, 0, stream>>>(a, b, out, n, 1.f);
    return cudaGetLastError();
}

// Looks around, and works.
ENTRY(behaves_while_it_is_watched_twin) {
    look_around<<<1, 1, 0, stream>>>();
    return add_slowly(a, b, out, n, stream);
}
