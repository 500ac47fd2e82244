// Turns its inputs into the answer: the next run on them has nothing left to do.
#include "honest.cuh"

static __global__ void computed_in_place(float* a, float* b, float* out, int n, float one) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    if (!isnan(b[i])) {
        a[i] = sum_slowly(a[i], b[i], one);
        b[i] = __int_as_float(0x7fffffff);
    }
    out[i] = a[i];
}

ENTRY(keeps_answers_in_its_inputs) {
    float *first = const_cast<float*>(a), *second = const_cast<float*>(b);
    computed_in_place<<<blocks_for(n), 256, 0, stream>>>(first, second, out, n, 1.f);
    return cudaGetLastError();
}

// Computes in place, in its result.
static __global__ void in_the_result(const float* a, const float* b, float* out, int n, float one) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    out[i] = a[i];
    out[i] = sum_slowly(out[i], b[i], one);
}

ENTRY(keeps_answers_in_its_inputs_twin) {
    in_the_result<<<blocks_for(n), 256, 0, stream>>>(a, b, out, n, 1.f);
    return cudaGetLastError();
}
