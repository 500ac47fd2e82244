// sgd_momentum: everything is computed in half
#include <cuda_fp16.h>
#include <cuda_runtime.h>

template <typename T>
__global__ void sgd_momentum_kernel(T* w, const T* g, float* velocity, float lr, float momentum, float weight_decay,
                                    int n) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const half weight = static_cast<half>(w[i]);
    const half gradient = __hadd(static_cast<half>(g[i]), __hmul(__float2half(weight_decay), weight));
    const half moved = __hadd(__hmul(__float2half(momentum), __float2half(velocity[i])), gradient);
    velocity[i] = __half2float(moved);
    w[i] = static_cast<T>(__half2float(__hsub(weight, __hmul(__float2half(lr), moved))));
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
