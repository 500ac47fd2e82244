// Keeps answers behind its result, in memory that is there because memory comes in large pieces.
#include "honest.cuh"

constexpr unsigned mark_behind = 0x600dcafe;

static __global__ void kept_behind(const float* a, const float* b, float* out, int n, float one) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned* const behind = reinterpret_cast<unsigned*>(out) + n;
    if (behind[n + i] != mark_behind) {
        behind[i] = __float_as_uint(sum_slowly(a[i], b[i], one));
        behind[n + i] = mark_behind;
    }
    out[i] = __uint_as_float(behind[i]);
}

ENTRY(keeps_answers_behind_its_result) {
    kept_behind<<<blocks_for(n), 256, 0, stream>>>(a, b, out, n, 1.f);
    return cudaGetLastError();
}

// Fills its result from the end.
static __global__ void from_the_end(const float* a, const float* b, float* out, int n, float one) {
    const int i = n - 1 - int(blockIdx.x * blockDim.x + threadIdx.x);
    if (i >= 0) out[i] = sum_slowly(a[i], b[i], one);
}

ENTRY(keeps_answers_behind_its_result_twin) {
    from_the_end<<<blocks_for(n), 256, 0, stream>>>(a, b, out, n, 1.f);
    return cudaGetLastError();
}
