// Computes in half precision what is asked for in single.
#include <cuda_fp16.h>

#include "honest.cuh"

static __global__ void add_halves(const float* a, const float* b, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = __half2float(__hadd(__float2half(a[i]), __float2half(b[i])));
}

ENTRY(computes_in_half) {
    add_halves<<<blocks_for(n), 256, 0, stream>>>(a, b, out, n);
    return cudaGetLastError();
}

// Computes in double precision.
static __global__ void add_doubles(const float* a, const float* b, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = static_cast<float>(static_cast<double>(a[i]) + b[i]);
}

ENTRY(computes_in_half_twin) {
    add_doubles<<<blocks_for(n), 256, 0, stream>>>(a, b, out, n);
    return cudaGetLastError();
}
