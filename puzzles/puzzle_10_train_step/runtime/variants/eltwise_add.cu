// EltwiseAdd of floats or halves: y = a + b, one element a thread.
#include "../operands.hpp"

namespace eltwise_add {

constexpr int threads = 256;

template <typename T>
__global__ void eltwise_add_kernel(const T* a, const T* b, T* y, long long n) {
    const long long i = static_cast<long long>(blockIdx.x) * threads + threadIdx.x;
    if (i < n) y[i] = static_cast<T>(static_cast<float>(a[i]) + static_cast<float>(b[i]));  // rounded once
}

cudaError_t launch(const OpCall& call, cudaStream_t stream) {
    const TensorDesc &a = call.inputs[0], &b = call.inputs[1], &y = call.outputs[0];
    const long long n = elements(y);
    if (n == 0) return cudaSuccess;
    return by_type(y.dtype, [&](auto number) {
        using T = decltype(number);
        eltwise_add_kernel<<<blocks_of(n, threads), threads, 0, stream>>>(data<const T>(a), data<const T>(b),
                                                                          data<T>(y), n);
        return cudaGetLastError();
    });
}

static Registration registration{{OpKind::EltwiseAdd, "eltwise_add_kernel", 10, floats_or_halves_in_order, launch}};

}  // namespace eltwise_add
