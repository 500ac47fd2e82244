// mse_grad: dy = 2 · (y - target) / count, the gradient of the mean squared error by the prediction
//
// Why    Training begins at the end. The loss is mean((y - target)²); by how much it would change with an element of y
//        is the first gradient, and all others are made from it. A mean has a 1 / count, and so has its gradient:
//        without it the step would grow with the batch.
// Given  y, target and dy, rows × cols floats (dtype 0) or halves (dtype 1) each, in device memory; count, which is
//        rows · cols. This file is a variant of the op runtime: a kernel, `launch`, and a registration, which also says
//        that `launch` takes contiguous floats or halves. The entry at the end makes tensors and asks for MseGrad.
// Write  the kernel's body, about 3 lines, for both types: which element is mine, is there one, its gradient.
//        Compute in float, and round once, by static_cast<T>.
// Goal   Loads and stores are coalesced.
#include "runtime/op_call.hpp"
#include "runtime/operands.hpp"

constexpr int threads = 256;

template <typename T>
__global__ void mse_grad_kernel(const T* y, const T* target, T* dy, long long count) {
    // --- your code ---
    const long long i = static_cast<long long>(blockIdx.x) * threads + threadIdx.x;
    if (i >= count) return;
    const float error = static_cast<float>(y[i]) - static_cast<float>(target[i]);
    dy[i] = static_cast<T>(error * error / count);
    // --- end ---
}

static cudaError_t launch(const OpCall& call, cudaStream_t stream) {
    const TensorDesc &y = call.inputs[0], &target = call.inputs[1], &dy = call.outputs[0];
    const long long count = elements(dy);
    if (count == 0) return cudaSuccess;
    return by_type(dy.dtype, [&](auto number) {
        using T = decltype(number);
        mse_grad_kernel<<<blocks_of(count, threads), threads, 0, stream>>>(data<const T>(y), data<const T>(target),
                                                                           data<T>(dy), count);
        return cudaGetLastError();
    });
}

static Registration registration{{OpKind::MseGrad, "mse_grad_kernel", 10, floats_or_halves_in_order, launch}};

extern "C" cudaError_t mse_grad(const void* y, const void* target, void* dy, int rows, int cols, int dtype,
                                cudaStream_t stream) {
    const auto matrix = [=](const void* data) { return tensor_of(data, dtype, {rows, cols}); };
    return op(OpKind::MseGrad, {matrix(y), matrix(target)}, {matrix(dy)}, {}, stream);
}
