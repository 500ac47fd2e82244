// What lanes and threads do together.
#include <cuda_runtime.h>

__global__ void shuffles(float* x, int* q) {
    float v = x[threadIdx.x];
    int w = q[threadIdx.x];
    for (int d = 16; d; d >>= 1) v += __shfl_down_sync(0xffffffffu, v, d);
    v += __shfl_xor_sync(~0u, v, 1, 8) + __shfl_up_sync(~0u, v, 2);
    double wide = __shfl_sync(~0u, (double)v, 4);
    x[threadIdx.x] = v + wide;
    int same;
    q[threadIdx.x] = __match_all_sync(~0u, w, &same) + __match_any_sync(~0u, w) + same;
}

__global__ void lane_zero(int* counter, int* out) {
    int first;
    if (threadIdx.x % 32 == 0) first = atomicAdd(counter, 32);
    first = __shfl_sync(~0u, first, 0);
    out[threadIdx.x] = first + threadIdx.x % 32;
}

__global__ void votes(int* x) {
    int v = x[threadIdx.x];
    unsigned all = __all_sync(~0u, v == 3), any = __any_sync(~0u, v), set = __ballot_sync(~0u, v > 0);
    x[threadIdx.x] = all + any + set + __activemask() + __reduce_add_sync(~0u, v) + __reduce_max_sync(~0u, v);
    __syncwarp();
    __syncwarp(x[0]);
}

__global__ void barriers(int* x, int n) {
    __shared__ int s[128];
    s[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    int c = __syncthreads_count(s[0]) + __syncthreads_and(s[1]) + __syncthreads_or(s[2] > n);
    __threadfence();
    __threadfence_block();
    __threadfence_system();
    asm volatile("bar.sync 1, 64;");
    asm volatile("bar.arrive 2, 64;");
    x[threadIdx.x] = c + s[127 - threadIdx.x];
}

__global__ void tree(float* x) {
    __shared__ float s[256];
    int t = threadIdx.x;
    s[t] = x[t];
    for (int half = 128; half; half >>= 1) {
        __syncthreads();
        if (t < half) s[t] += s[t + half];
    }
    if (t == 0) x[0] = s[0];
}

__global__ void atomics(int* i, unsigned* u, float* f, double* d, unsigned long long* l, int n) {
    __shared__ int s[32];
    s[threadIdx.x & 31] = 0;
    __syncthreads();
    int r = atomicAdd(i, 1) + atomicSub(i + 1, 2) + atomicExch(i + 2, 3) + atomicMin(i + 3, 4) + atomicCAS(i + 5, 1, 2);
    r += atomicInc(u, 6) + atomicDec(u + 1, 7) + atomicMax(u + 2, 4u) + atomicAnd(i + 6, 3) + atomicXor(i + 7, 5);
    atomicAdd(f, 1.f);
    atomicAdd(d, 1.0);
    atomicMax(l, 3ull);
    atomicCAS(l + 1, 1ull, 2ull);
    atomicAdd_block(i + 8, 1);
    atomicAdd_system(i + 9, 1);
    atomicAdd(&s[n], r);
    i[10] = s[threadIdx.x & 31];
}

__global__ void lock(int* mutex, int* data) {
    bool done = false;
    while (!done) {
        if (atomicCAS(mutex, 0, 1) == 0) {
            data[0]++;
            __threadfence();
            atomicExch(mutex, 0);
            done = true;
        }
    }
}
