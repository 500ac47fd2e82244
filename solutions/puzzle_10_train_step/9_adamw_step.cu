// adamw_step: one step of AdamW, as torch.optim.AdamW does it
//
// Why    SGD takes the same rate for every weight. AdamW divides each gradient by its usual size, so that weights with
//        small gradients move as far as those with large ones; it is what Transformers are trained with. For every
//        weight it keeps two running means, of the gradient and of its square, which are floats also for halves.
// Given  w and g, n floats (dtype 0) or halves (dtype 1) each; m and v, n floats, 0 before the first step; lr, beta1,
//        beta2, eps and weight_decay; step, the number of this one, from 1 on. The launcher makes of it what the means
//        lack at first: correction1 = 1 - beta1^step, correction2 = 1 - beta2^step.
// Write  the kernel's body, about 9 lines, for both types. In PyTorch's formula, everything in float:
//            m = beta1 · m + (1 - beta1) · g
//            v = beta2 · v + (1 - beta2) · g²
//            w = w - lr · weight_decay · w - lr · (m / correction1) / (√(v / correction2) + eps)
//        with the new means, and w rounded once.
// Goal   Loads and stores are coalesced.
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cmath>

template <typename T>
__global__ void adamw_step_kernel(T* __restrict__ w, const T* __restrict__ g, float* __restrict__ m,
                                  float* __restrict__ v, float lr, float beta1, float beta2, float eps,
                                  float weight_decay, float correction1, float correction2, int n) {
    // --- your code ---
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const float weight = static_cast<float>(w[i]), gradient = static_cast<float>(g[i]);
    const float mean = beta1 * m[i] + (1.0f - beta1) * gradient;
    const float square = beta2 * v[i] + (1.0f - beta2) * gradient * gradient;
    m[i] = mean;
    v[i] = square;
    const float move = mean / correction1 / (sqrtf(square / correction2) + eps);
    w[i] = static_cast<T>(weight - lr * weight_decay * weight - lr * move);
    // --- end ---
}

extern "C" cudaError_t adamw_step(void* w, const void* g, float* m, float* v, float lr, float beta1, float beta2,
                                  float eps, float weight_decay, int step, int n, int dtype, cudaStream_t stream) {
    if (n == 0) return cudaSuccess;
    constexpr unsigned threads = 256;
    const unsigned blocks = (n + threads - 1) / threads;
    // In double: for the first steps 1 - beta2^step is a difference of nearly equal numbers.
    const auto correction1 = static_cast<float>(1 - std::pow(static_cast<double>(beta1), step));
    const auto correction2 = static_cast<float>(1 - std::pow(static_cast<double>(beta2), step));
    if (dtype == 0)
        adamw_step_kernel<<<blocks, threads, 0, stream>>>(static_cast<float*>(w), static_cast<const float*>(g), m, v,
                                                          lr, beta1, beta2, eps, weight_decay, correction1, correction2,
                                                          n);
    else
        adamw_step_kernel<<<blocks, threads, 0, stream>>>(static_cast<half*>(w), static_cast<const half*>(g), m, v, lr,
                                                          beta1, beta2, eps, weight_decay, correction1, correction2, n);
    return cudaGetLastError();
}
