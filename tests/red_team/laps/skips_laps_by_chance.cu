// Works in one run of five, whichever they are: the median is that of a run without work, and whoever looks at some
// runs may be lucky.
#include "honest.cuh"

__device__ bool works;

static __global__ void decide(bool always) {
    unsigned long long now;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
    works = always || (now >> 10) % 5 == 0;
}

static __global__ void if_decided(const float* a, const float* b, float* out, int n, float one) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (works && i < n) out[i] = sum_slowly(a[i], b[i], one);
}

ENTRY(skips_laps_by_chance) {
    decide<<<1, 1, 0, stream>>>(false);
    if_decided<<<blocks_for(n), 256, 0, stream>>>(a, b, out, n, 1.f);
    return cudaGetLastError();
}

// Looks at the clock, and works.
ENTRY(skips_laps_by_chance_twin) {
    decide<<<1, 1, 0, stream>>>(true);
    if_decided<<<blocks_for(n), 256, 0, stream>>>(a, b, out, n, 1.f);
    return cudaGetLastError();
}
