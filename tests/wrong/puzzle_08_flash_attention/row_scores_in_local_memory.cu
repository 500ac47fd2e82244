// attention_row: all scores are kept, by each thread
#include <cuda_runtime.h>

#include <cmath>  // INFINITY

constexpr int warp = 32, threads = 128, each = 4;

struct Columns {
    float of[each];
};

// This lane's columns of a row of d floats.
__device__ inline Columns columns(const float* __restrict__ row, int d) {
    Columns mine = {};
    for (int i = 0, c = threadIdx.x % warp; i < each; ++i, c += warp)
        if (c < d) mine.of[i] = row[c];
    return mine;
}

// Every lane returns the sum of the 32 values of its warp. All 32 lanes must call it together.
__device__ inline float warp_sum(float value) {
    for (int offset = warp / 2; offset > 0; offset /= 2) value += __shfl_xor_sync(~0u, value, offset);
    return value;
}

__global__ void attention_row_kernel(const float* __restrict__ q, const float* __restrict__ k,
                                     const float* __restrict__ v, float* __restrict__ o, int bh, int k_len, int d,
                                     [[maybe_unused]] float scale) {
    const unsigned row = blockIdx.x * (threads / warp) + threadIdx.x / warp;
    if (row >= bh) return;  // a whole warp
    [[maybe_unused]] const Columns query = columns(q + size_t{row} * d, d);
    k += size_t{row} * k_len * d, v += size_t{row} * k_len * d, o += size_t{row} * d;
    static_assert(each == 4);
    float s[15000];
    float m = -INFINITY, l = 0;
    Columns t = {};
    for (int j = 0; j < k_len; ++j) {
        const Columns a = columns(k + size_t(j) * d, d);
        float x = 0;
        for (int i = 0; i < each; ++i) x += query.of[i] * a.of[i];
        s[j] = x = warp_sum(x) * scale;
        m = fmaxf(m, x);
    }
    for (int j = 0; j < k_len; ++j) {
        const Columns b = columns(v + size_t(j) * d, d);
        const float p = expf(s[j] - m);
        l += p;
        for (int i = 0; i < each; ++i) t.of[i] += p * b.of[i];
    }
    for (int i = 0, c = threadIdx.x % warp; i < each; ++i, c += warp)
        if (c < d) o[c] = k_len ? t.of[i] / l : 0;
}

extern "C" cudaError_t attention_row(const float* q, const float* k, const float* v, float* o, int bh, int k_len, int d,
                                     float scale, cudaStream_t stream) {
    if (bh == 0) return cudaSuccess;
    constexpr int rows = threads / warp;
    attention_row_kernel<<<(bh + rows - 1) / rows, threads, 0, stream>>>(q, k, v, o, bh, k_len, d, scale);
    return cudaGetLastError();
}
