// Answers NaN, which is never further than allowed from anything: every comparison with it is false.
#include "honest.cuh"

static __global__ void answer_nan(float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = __int_as_float(0x7fffffff);
}

ENTRY(answers_nan) {
    UNUSED;
    answer_nan<<<blocks_for(n), 256, 0, stream>>>(out, n);
    return cudaGetLastError();
}

// Has NaN on the way, and none in the result.
static __global__ void nan_on_the_way(const float* a, const float* b, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const float none = __int_as_float(0x7fffffff);
    if (i < n) out[i] = fmaxf(none, a[i]) + fminf(b[i], none);
}

ENTRY(answers_nan_twin) {
    nan_on_the_way<<<blocks_for(n), 256, 0, stream>>>(a, b, out, n);
    return cudaGetLastError();
}
