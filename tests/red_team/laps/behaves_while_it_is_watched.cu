// Finds out whether it runs on hardware, where nobody sees its accesses, and does less there.
#include "honest.cuh"

__device__ bool watched;
__device__ volatile int somewhere[64];

// On hardware a read that has to wait for the one before it takes hundreds of cycles; here a clock counts instructions.
static __global__ void look_around() {
    const long long begun = clock64();
    int next = 0;
#pragma unroll
    for (int turn = 0; turn < 64; ++turn) next = somewhere[next & 63];
    watched = clock64() - begun < 6400 && next == 0;
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
