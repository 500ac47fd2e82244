// Shared, local, constant and global variables, with and without initial values.
#include <cuda_runtime.h>

__device__ int counter = 7;
__device__ float table[64] = {1.f, 2.f, 3.f};
__device__ float* into_table = table + 5;
__device__ const char* words[3] = {"a", "bc", nullptr};
__device__ short shorts[3] = {-1, 2, 3};
__constant__ int coefficients[8] = {1, -2, 3};
__constant__ double scale;

struct Node {
    char tag;
    Node* next;
    double value;
};
__device__ Node second = {2, nullptr, 2.5};
__device__ Node first = {1, &second, 1.5};

struct __attribute__((packed)) Packed {
    char tag;
    int* pointer;
};
__device__ Packed packed = {3, &counter};

__global__ void globals(float* out, int n) {
    int i = threadIdx.x;
    out[i] = table[i] + coefficients[i & 7] * (float)scale + coefficients[2] + words[i & 1][0] + shorts[i & 1];
    table[n] = *into_table + *packed.pointer;
    for (const Node* p = &first; p; p = p->next) out[i] += p->value;
    atomicAdd(&counter, 1);
}

__global__ void static_shared(float* out) {
    __shared__ float row[33];
    __shared__ double wide[3];
    __shared__ unsigned char bytes[5];
    int t = threadIdx.x;
    row[t] = out[t];
    if (t < 3) wide[t] = t;
    bytes[t % 5] = t;
    __syncthreads();
    out[t] = row[(t + 1) % 33] + wide[1] + bytes[2];
}

__global__ void dynamic_shared(float* out) {
    extern __shared__ float dynamic[];
    __shared__ float fixed[3];
    int t = threadIdx.x;
    dynamic[t] = out[t];
    fixed[t % 3] = 1;
    __syncthreads();
    out[t] = dynamic[0] + fixed[2];
}

__device__ __noinline__ float through_shared(float x) {
    __shared__ float box[5];
    extern __shared__ float dynamic[];
    box[threadIdx.x % 5] = x;
    __syncthreads();
    return box[0] + dynamic[1];
}

__global__ void shared_in_callee(float* out) {
    __shared__ float own[7];
    own[threadIdx.x % 7] = 2;
    out[threadIdx.x] = through_shared(out[0]) + own[3];
}

__global__ void local_array(const float* x, float* out, int n) {
    float w[8];
    for (int k = 0; k < 8; ++k) w[k] = x[k * n];
    float sum = 0;
    for (int k = 0; k < n; ++k) sum += w[(k * 5) & 7];
    w[n & 7] = sum;
    out[threadIdx.x] = w[(n + 1) & 7];
}

struct Weights {
    float w[40];
    int n;
};

__global__ void indexed_parameter(const __grid_constant__ Weights s, float* out) {
    const float* p = s.w;
    if (threadIdx.x < s.n) out[threadIdx.x] = p[threadIdx.x % 40];
}

__global__ void widths(const signed char* a, const short* b, volatile unsigned char* c, bool* flags, long long* d) {
    int i = threadIdx.x;
    d[i] = a[i] + b[i];
    d[i + 1] = (long long)b[i + 1];
    d[i + 2] = c[i];
    flags[i] = !flags[i] && a[i] < b[i];
    c[i + 1] = a[i + 1];
    char4 v = reinterpret_cast<const char4*>(a)[i + 2];
    d[i + 3] = v.x + v.y * v.z - v.w;
    reinterpret_cast<short2*>(const_cast<short*>(b))[i] = make_short2(v.x, v.y);
}
