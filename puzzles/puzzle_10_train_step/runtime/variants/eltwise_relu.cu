// EltwiseRelu of floats or halves: y = max(x, 0), one element a thread.
#include "../operands.hpp"

namespace eltwise_relu {

constexpr int threads = 256;

template <typename T>
__global__ void eltwise_relu_kernel(const T* x, T* y, long long n) {
    const long long i = static_cast<long long>(blockIdx.x) * threads + threadIdx.x;
    if (i >= n) return;
    const float value = static_cast<float>(x[i]);
    y[i] = static_cast<T>(value <= 0.0f ? 0.0f : value);  // asked in this way, a NaN stays one
}

cudaError_t launch(const OpCall& call, cudaStream_t stream) {
    const TensorDesc &x = call.inputs[0], &y = call.outputs[0];
    const long long n = elements(y);
    if (n == 0) return cudaSuccess;
    return by_type(y.dtype, [&](auto number) {
        using T = decltype(number);
        eltwise_relu_kernel<<<blocks_of(n, threads), threads, 0, stream>>>(data<const T>(x), data<T>(y), n);
        return cudaGetLastError();
    });
}

static Registration registration{{OpKind::EltwiseRelu, "eltwise_relu_kernel", 10, floats_or_halves_in_order, launch}};

}  // namespace eltwise_relu
