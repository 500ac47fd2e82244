// SgdStep of floats or halves with any strides: every number of an address is computed, for whatever no faster variant
// takes.
#include "../operands.hpp"

namespace sgd_step_strided {

constexpr int threads = 256;

// Elements along each dimension, and from one to the next in w and in g; dimensions that there are not have one
// element.
struct Layout {
    long long shape[4], w[4], g[4];
};

template <typename T>
__global__ void sgd_step_strided_kernel(T* w, const T* g, float lr, long long n, Layout layout) {
    long long rest = static_cast<long long>(blockIdx.x) * threads + threadIdx.x;
    if (rest >= n) return;
    for (int d = 3; d >= 0; --d) {
        w += rest % layout.shape[d] * layout.w[d];
        g += rest % layout.shape[d] * layout.g[d];
        rest /= layout.shape[d];
    }
    *w = static_cast<T>(static_cast<float>(*w) - lr * static_cast<float>(*g));
}

Supported can(const OpCall& call) {
    return all_are(call, F32) || all_are(call, F16) ? supported : refused("not all tensors are f32, nor are all f16");
}

cudaError_t launch(const OpCall& call, cudaStream_t stream) {
    const TensorDesc &w = call.inputs[0], &g = call.inputs[1];
    const long long n = elements(w);
    if (n == 0) return cudaSuccess;
    Layout layout{{1, 1, 1, 1}, {}, {}};
    for (int d = 0; d < w.ndim; ++d) layout.shape[d] = w.shape[d], layout.w[d] = w.stride[d], layout.g[d] = g.stride[d];
    return by_type(w.dtype, [&](auto number) {
        using T = decltype(number);
        const float lr = static_cast<float>(call.attrs[0]);
        sgd_step_strided_kernel<<<blocks_of(n, threads), threads, 0, stream>>>(data<T>(w), data<const T>(g), lr, n,
                                                                               layout);
        return cudaGetLastError();
    });
}

static const Registration registration{{OpKind::SgdStep, "sgd_step_strided_kernel", 0, can, launch}};

}  // namespace sgd_step_strided
