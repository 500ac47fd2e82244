// story: what `grader debug` has to follow: loops, calls, arrays, structs, shared memory, halves, pointers
#include <cuda_fp16.h>
#include <cuda_runtime.h>

constexpr int T = 8;

struct Pair {
    float x;
    int n;
};

__device__ float scaled(float v, int by) {
    float product = v * by;
    return product;
}

template <int N>
__global__ void story_kernel(const float* __restrict__ a, const float* b, float* out, int n) {
    __shared__ float tile[T][N];
    __shared__ half halves[T];
    const int t = threadIdx.x;
    const unsigned i = blockIdx.x * blockDim.x + t;
    tile[t % T][1] = i < n ? a[i] : 0.f;
    halves[t % T] = __float2half(1.5f);
    __syncthreads();
    float sum = 0;
    for (int k = 0; k < n; ++k) {
        float next = b[k];
        sum += next;
    }
    const float* p = a;
    while (p < a + 3) ++p;
    float parts[3] = {sum, 1, 2};
    parts[1] = scaled(parts[0], 2) + scaled(1, 3);
    Pair pair;
    pair.n = 7;
    pair.x = tile[t % T][1] + __half2float(halves[t % T]);
    if (i < n) out[i] = parts[1] + pair.x;
}

extern "C" cudaError_t vector_add(const float* a, const float* b, float* out, int n, cudaStream_t stream) {
    if (n == 0) return cudaSuccess;
    story_kernel<2><<<(n + T - 1) / T, T, 0, stream>>>(a, b, out, n);
    return cudaGetLastError();
}
