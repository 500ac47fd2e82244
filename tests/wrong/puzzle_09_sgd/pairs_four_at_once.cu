// sgd_f16_half2: 16 bytes an access, at addresses that are multiples of 4
#include <cuda_fp16.h>
#include <cuda_runtime.h>

union Four {
    uint4 words;
    half2 pair[4];
    __device__ Four(uint4 loaded) : words(loaded) {}
};

__global__ void sgd_step_f16_half2_kernel(half* w, const half* g, float lr, int n) {
    const unsigned first = 8 * (blockIdx.x * blockDim.x + threadIdx.x);
    if (first + 8 <= n) {
        Four weights(*reinterpret_cast<uint4*>(w + first));
        const Four gradients(*reinterpret_cast<const uint4*>(g + first));
        for (int k = 0; k < 4; ++k) {
            const float2 weight = __half22float2(weights.pair[k]), gradient = __half22float2(gradients.pair[k]);
            weights.pair[k] = __floats2half2_rn(weight.x - lr * gradient.x, weight.y - lr * gradient.y);
        }
        *reinterpret_cast<uint4*>(w + first) = weights.words;
    } else {
        for (unsigned i = first; i < n; ++i) w[i] = __float2half(__half2float(w[i]) - lr * __half2float(g[i]));
    }
}

extern "C" cudaError_t sgd_f16_half2(half* w, const half* g, float lr, int n, cudaStream_t stream) {
    if (n == 0) return cudaSuccess;
    sgd_step_f16_half2_kernel<<<(n + 2047) / 2048, 256, 0, stream>>>(w, g, lr, n);
    return cudaGetLastError();
}
