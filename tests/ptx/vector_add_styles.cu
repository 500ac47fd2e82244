// Vector add as learners write it.
#include <cuda_runtime.h>

__global__ void plain(const float* a, const float* b, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = a[i] + b[i];
}

__global__ void restricted(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    out[i] = __ldg(a + i) + b[i];
}

__global__ void grid_stride(const float* a, const float* b, float* out, size_t n) {
    size_t step = (size_t)gridDim.x * blockDim.x;
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) out[i] = a[i] + b[i];
}

__global__ void unrolled(const float* a, const float* b, float* out, int n) {
    int base = blockIdx.x * blockDim.x * 4 + threadIdx.x;
#pragma unroll
    for (int k = 0; k < 4; ++k) {
        int i = base + k * blockDim.x;
        if (i < n) out[i] = a[i] + b[i];
    }
}

__global__ void by_four(const float* a, const float* b, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n / 4) {
        float4 u = reinterpret_cast<const float4*>(a)[i];
        float4 v = reinterpret_cast<const float4*>(b)[i];
        reinterpret_cast<float4*>(out)[i] = make_float4(u.x + v.x, u.y + v.y, u.z + v.z, u.w + v.w);
    }
    if (i < n % 4) out[n / 4 * 4 + i] = a[n / 4 * 4 + i] + b[n / 4 * 4 + i];
}

template <typename T, int V>
__global__ void templated(const T* a, const T* b, T* out, int n) {
    int i = (blockIdx.x * blockDim.x + threadIdx.x) * V;
    for (int k = 0; k < V && i + k < n; ++k) out[i + k] = a[i + k] + b[i + k];
}
template __global__ void templated<double, 2>(const double*, const double*, double*, int);
template __global__ void templated<signed char, 3>(const signed char*, const signed char*, signed char*, int);
template __global__ void templated<unsigned short, 1>(const unsigned short*, const unsigned short*, unsigned short*,
                                                      int);
template __global__ void templated<long long, 1>(const long long*, const long long*, long long*, int);

struct Arguments {
    const float* a;
    const float* b;
    float* out;
    int n;
};

__global__ void by_structure(Arguments s) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < s.n) s.out[i] = s.a[i] + s.b[i];
}
