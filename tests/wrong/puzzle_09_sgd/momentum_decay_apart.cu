// sgd_momentum: the decay does not go through the velocity
#include <cuda_fp16.h>
#include <cuda_runtime.h>

template <typename T>
__global__ void sgd_momentum_kernel(T* w, const T* g, float* velocity, float lr, float momentum, float weight_decay,
                                    int n) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const float weight = static_cast<float>(w[i]), gradient = static_cast<float>(g[i]);
    velocity[i] = momentum * velocity[i] + gradient;
    w[i] = static_cast<T>(weight - lr * weight_decay * weight - lr * velocity[i]);
}

template <typename T>
void launch(void* w, const void* g, float* velocity, float lr, float momentum, float decay, int n,
            cudaStream_t stream) {
    sgd_momentum_kernel<<<(n + 255) / 256, 256, 0, stream>>>(static_cast<T*>(w), static_cast<const T*>(g), velocity, lr,
                                                             momentum, decay, n);
}

extern "C" cudaError_t sgd_momentum(void* w, const void* g, float* velocity, float lr, float momentum,
                                    float weight_decay, int n, int dtype, cudaStream_t stream) {
    if (n == 0) return cudaSuccess;
    if (dtype == 0)
        launch<float>(w, g, velocity, lr, momentum, weight_decay, n, stream);
    else
        launch<half>(w, g, velocity, lr, momentum, weight_decay, n, stream);
    return cudaGetLastError();
}
