// Lines: functions of this file that were inlined, functions of a header, a header that calls back.
#include <cuda_runtime.h>

#include "line_numbers.cuh"

__device__ float twice(float x) {
    return x + x;  // line 7
}

__device__ int index_of() {
    return blockIdx.x * blockDim.x + threadIdx.x;  // line 11
}

__global__ void inlined(const float* a, float* out, int n) {
    int i = index_of();  // line 15
    if (i < n) {
        out[i] = twice(a[i]);                 // line 17
        out[i + 1] = header_load(a);          // line 18
        out[i + 2] = header_twice(a);         // line 19
        header_apply([&] { out[n] = 5.f; });  // line 20
    }
}

__device__ __noinline__ void far_away(float* out) {
    out[3] = header_load(out);  // line 25
}

__global__ void calls_it(float* out) {
    far_away(out);  // line 29
}
