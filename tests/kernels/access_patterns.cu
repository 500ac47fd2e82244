// Accesses whose addresses are data: lane i of a warp goes to element where[i], or stays away if that is negative.
#include <cuda_runtime.h>

constexpr int kElements = 1024;

template <class T>
__device__ void load_shared(const int* where, const T* in, T* out) {
    __shared__ T s[kElements];
    for (int i = threadIdx.x; i < kElements; i += 32) s[i] = in[i];
    __syncthreads();
    int i = where[threadIdx.x];
    if (i >= 0) out[threadIdx.x] = s[i];
}

template <class T>
__device__ void store_shared(const int* where, const T* in, T* out) {
    __shared__ T s[kElements];
    for (int i = threadIdx.x; i < kElements; i += 32) s[i] = in[i];
    __syncthreads();
    int i = where[threadIdx.x];
    if (i >= 0) s[i] = in[0];
    __syncthreads();
    out[threadIdx.x] = s[threadIdx.x];
}

template <class T>
__device__ void load_global(const int* where, const T* in, T* out) {
    int i = where[threadIdx.x];
    if (i >= 0) out[threadIdx.x] = in[i];
}

template <class T>
__device__ void store_global(const int* where, const T* in, T* out) {
    int i = where[threadIdx.x];
    if (i >= 0) out[i] = in[0];
}

template <class T>
__device__ void add_shared(const int* where, const T* in, T* out) {
    __shared__ T s[kElements];
    for (int i = threadIdx.x; i < kElements; i += 32) s[i] = in[i];
    __syncthreads();
    int i = where[threadIdx.x];
    if (i >= 0) atomicAdd(&s[i], in[threadIdx.x]);
    __syncthreads();
    out[threadIdx.x] = s[threadIdx.x];
}

template <class T>
__device__ void add_global(const int* where, const T* in, T* out) {
    int i = where[threadIdx.x];
    if (i >= 0) atomicAdd(&out[i], in[threadIdx.x]);
}

#define KERNEL(name, type)                                                       \
    __global__ void name##_##type(const int* where, const type* in, type* out) { \
        name<type>(where, in, out);                                              \
    }
#define KERNELS(name)   \
    KERNEL(name, char)  \
    KERNEL(name, short) \
    KERNEL(name, int)   \
    KERNEL(name, int2)  \
    KERNEL(name, int4)

KERNELS(load_shared)
KERNELS(store_shared)
KERNELS(load_global)
KERNELS(store_global)
KERNEL(add_shared, int)
KERNEL(add_global, int)
