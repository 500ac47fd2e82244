// sgd_f16_half2: w = w - lr · g, for half, two at a time
//
// Why    A warp that loads one half a lane asks for 64 bytes with an instruction; with two, for 128. Neighbouring
//        halves fit into 4 bytes, and half2 is the type for such a pair: the same bytes, half the instructions.
// Given  w and g, n halves each, n even, both at multiples of 4 bytes, in device memory; lr, a float; the kernel, in
//        which a thread takes 4 pairs that lie a block apart, and its launcher.
// Write  the step of one pair, about 5 lines: both weights and both gradients come as floats, each pair by one load;
//        the two steps, in float; both results rounded, once, and stored together.
// Goal   Nine in ten loads and stores move 4 bytes a lane or more.
#include <cuda_fp16.h>
#include <cuda_runtime.h>

constexpr unsigned threads = 256, of_thread = 4;  // pairs

__device__ inline void step([[maybe_unused]] half2* w, [[maybe_unused]] const half2* __restrict__ g,
                            [[maybe_unused]] float lr) {
    // --- your code ---
    const float2 weights = __half22float2(*w);  // 4 bytes by one load; nothing is lost on the way to float
    const float2 gradients = __half22float2(*g);
    const float first = weights.x - lr * gradients.x;  // lr stays a float: as a half, 10⁻⁸ would be 0
    const float second = weights.y - lr * gradients.y;
    *w = __floats2half2_rn(first, second);
    // --- end ---
}

__global__ void sgd_step_f16_half2_kernel(half* __restrict__ w, const half* __restrict__ g, float lr, int n) {
    const unsigned pairs = n / 2, first = blockIdx.x * of_thread * threads + threadIdx.x;
    half2* weights = reinterpret_cast<half2*>(w) + first;
    const half2* gradients = reinterpret_cast<const half2*>(g) + first;
    if (first + (of_thread - 1) * threads < pairs)  // no branch between its steps: all 8 loads are under way at once
        for (unsigned k = 0; k < of_thread; ++k) step(weights + k * threads, gradients + k * threads, lr);
    else
        for (unsigned k = 0; first + k * threads < pairs; ++k) step(weights + k * threads, gradients + k * threads, lr);
}

extern "C" cudaError_t sgd_f16_half2(half* w, const half* g, float lr, int n, cudaStream_t stream) {
    if (n == 0) return cudaSuccess;
    constexpr unsigned of_block = 2 * of_thread * threads;
    sgd_step_f16_half2_kernel<<<(n + of_block - 1) / of_block, threads, 0, stream>>>(w, g, lr, n);
    return cudaGetLastError();
}
