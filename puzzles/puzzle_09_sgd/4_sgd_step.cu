// sgd_step: w = w - lr · g, by the kernel that fits
//
// Why    One entry for all weights of a model: floats or halves, any number, at any address. The fast kernel is for
//        some of them only, and one that is called where it does not fit is wrong, or ends the program.
// Given  w and g, n floats (dtype 0) or halves (dtype 1) each, in device memory, at multiples of 4 or 2 bytes; lr, a
//        float; the kernels of 9.1 to 9.3; blocks, for a grid; the pointers as each kernel wants them.
// Write  the choice, about 8 lines: floats go to the first kernel; halves to the third if they are even in number and
//        both addresses are multiples of 4 bytes, else to the second. The third has of_block halves a block.
// Goal   Each case is left to the kernel that was made for it; nothing is loaded or stored twice.
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstdint>

constexpr unsigned threads = 256, of_thread = 4;                         // pairs
[[maybe_unused]] constexpr unsigned of_block = 2 * of_thread * threads;  // halves

__global__ void sgd_step_f32_kernel(float* w, const float* __restrict__ g, float lr, int n) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) w[i] -= lr * g[i];
}

__global__ void sgd_step_f16_kernel(half* w, const half* __restrict__ g, float lr, int n) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) w[i] = __float2half(__half2float(w[i]) - lr * __half2float(g[i]));
}

__device__ inline void step(half2* w, const half2* __restrict__ g, float lr) {
    const float2 weights = __half22float2(*w), gradients = __half22float2(*g);
    *w = __floats2half2_rn(weights.x - lr * gradients.x, weights.y - lr * gradients.y);
}

__global__ void sgd_step_f16_half2_kernel(half* __restrict__ w, const half* __restrict__ g, float lr, int n) {
    const unsigned pairs = n / 2, first = blockIdx.x * of_thread * threads + threadIdx.x;
    half2* weights = reinterpret_cast<half2*>(w) + first;
    const half2* gradients = reinterpret_cast<const half2*>(g) + first;
    if (first + (of_thread - 1) * threads < pairs)
        for (unsigned k = 0; k < of_thread; ++k) step(weights + k * threads, gradients + k * threads, lr);
    else
        for (unsigned k = 0; first + k * threads < pairs; ++k) step(weights + k * threads, gradients + k * threads, lr);
}

inline unsigned blocks(unsigned elements, unsigned of_each) {
    return (elements + of_each - 1) / of_each;
}

extern "C" cudaError_t sgd_step(void* w, const void* g, float lr, int n, int dtype, cudaStream_t stream) {
    (void)lr, (void)dtype, (void)stream;  // no warning before your code uses them
    if (n == 0) return cudaSuccess;
    [[maybe_unused]] float* const w_f32 = static_cast<float*>(w);
    [[maybe_unused]] const float* const g_f32 = static_cast<const float*>(g);
    [[maybe_unused]] half* const w_f16 = static_cast<half*>(w);
    [[maybe_unused]] const half* const g_f16 = static_cast<const half*>(g);
    // --- your code ---
    // --- end ---
    return cudaGetLastError();
}
