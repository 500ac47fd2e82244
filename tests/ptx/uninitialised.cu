// Variables that are not assigned on every way; only some of the kernels are wrong.
#include <cuda_runtime.h>

__global__ void never_started(const float* a, const float* b, float* out, int n) {
    float acc;
    for (int k = 0; k < n; ++k) acc += a[k] * b[k];
    out[threadIdx.x] = acc;
}

__global__ void some_lanes(const float* a, float* out, int n) {
    int i = threadIdx.x;
    float v;
    if (i < n) v = a[i];
    out[i] = v + a[0];
}

__global__ void asked_again(const float* a, float* out, int n) {
    int i = threadIdx.x;
    float v;
    if (i < n) v = a[i];
    __syncthreads();
    if (i < n) out[i] = v * 2;
}

__global__ void chosen(const float* a, float* out, int n) {
    int i = threadIdx.x;
    float v;
    if (a[i] > 0) v = a[i + n];
    __syncthreads();
    out[i] = a[i] > 0 ? v : 0.f;
}

__global__ void to_shared(const float* a, float* out, int n) {
    __shared__ float s[256];
    int i = threadIdx.x;
    float v;
    if (i < n) v = a[i];
    s[i] = v;
    __syncthreads();
    out[i] = s[0];
}

__global__ void branches_on_it(const int* a, int* out, int n) {
    int limit;
    if (n > 3) limit = a[n];
    if (a[0] < limit) out[0] = 1;
    out[limit] = 2;
}
