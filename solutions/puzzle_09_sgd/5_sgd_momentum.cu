// sgd_momentum: SGD with momentum and weight decay, as torch.optim.SGD does it
//
// Why    A plain step follows the last gradient only, which is noisy. Momentum follows a running sum of all gradients
//        so far, the velocity, in which noise cancels; weight decay pulls each weight a little towards 0.
// Given  w and g, n floats (dtype 0) or halves (dtype 1) each; velocity, n floats, kept from step to step and 0 before
//        the first; lr, momentum, weight_decay, floats; a launcher, which calls your kernel with T = float or half.
// Write  the kernel's body, about 7 lines, for both types. In PyTorch's formula, everything in float:
//            gradient = g + weight_decay · w
//            velocity = momentum · velocity + gradient
//            w        = w - lr · velocity              with the new velocity, and rounded once
// Goal   Loads and stores are coalesced, none is done twice.
#include <cuda_fp16.h>
#include <cuda_runtime.h>

template <typename T>
__global__ void sgd_momentum_kernel(T* __restrict__ w, const T* __restrict__ g, float* __restrict__ velocity, float lr,
                                    float momentum, float weight_decay, int n) {
    // --- your code ---
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const float weight = static_cast<float>(w[i]);
    const float gradient = static_cast<float>(g[i]) + weight_decay * weight;
    const float moved = momentum * velocity[i] + gradient;
    velocity[i] = moved;  // a float also for halves: what a step adds may be less than a half of that size can show
    w[i] = static_cast<T>(weight - lr * moved);
    // --- end ---
}

extern "C" cudaError_t sgd_momentum(void* w, const void* g, float* velocity, float lr, float momentum,
                                    float weight_decay, int n, int dtype, cudaStream_t stream) {
    if (n == 0) return cudaSuccess;
    constexpr unsigned threads = 256;
    const unsigned blocks = (n + threads - 1) / threads;
    if (dtype == 0)
        sgd_momentum_kernel<<<blocks, threads, 0, stream>>>(static_cast<float*>(w), static_cast<const float*>(g),
                                                            velocity, lr, momentum, weight_decay, n);
    else
        sgd_momentum_kernel<<<blocks, threads, 0, stream>>>(static_cast<half*>(w), static_cast<const half*>(g),
                                                            velocity, lr, momentum, weight_decay, n);
    return cudaGetLastError();
}
