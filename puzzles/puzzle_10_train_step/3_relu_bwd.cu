// relu_bwd: dx = dy where x > 0, else 0, the gradient of the ReLU
//
// Why    max(x, 0) passes on a positive x as it is, and nothing of any other. So does its gradient: what reaches the
//        output is passed on to the input where x was positive, and is gone elsewhere. At 0 there is no slope to speak
//        of; PyTorch takes 0 there, and so do we.
// Given  dy, x (what went into the ReLU) and dx, n floats (dtype 0) or halves (dtype 1) each, in device memory. As in
//        10.2 the file is a variant of the op runtime.
// Write  the kernel's body, about 2 lines, for both types.
// Goal   Loads and stores are coalesced.
#include "runtime/op_call.hpp"
#include "runtime/operands.hpp"

constexpr int threads = 256;

template <typename T>
__global__ void relu_bwd_kernel(const T* dy, const T* x, T* dx, long long n) {
    // --- your code ---
    // --- end ---
}

static cudaError_t launch(const OpCall& call, cudaStream_t stream) {
    const TensorDesc &dy = call.inputs[0], &x = call.inputs[1], &dx = call.outputs[0];
    const long long n = elements(dx);
    if (n == 0) return cudaSuccess;
    return by_type(dx.dtype, [&](auto number) {
        using T = decltype(number);
        relu_bwd_kernel<<<blocks_of(n, threads), threads, 0, stream>>>(data<const T>(dy), data<const T>(x), data<T>(dx),
                                                                       n);
        return cudaGetLastError();
    });
}

static Registration registration{{OpKind::ReluBwd, "relu_bwd_kernel", 10, floats_or_halves_in_order, launch}};

extern "C" cudaError_t relu_bwd(const void* dy, const void* x, void* dx, int n, int dtype, cudaStream_t stream) {
    const auto vector = [=](const void* data) { return tensor_of(data, dtype, {n}); };
    return op(OpKind::ReluBwd, {vector(dy), vector(x)}, {vector(dx)}, {}, stream);
}
