// SgdStep of floats or halves with any strides, and of halves by a gradient in floats: for whatever no faster variant
// takes. Every number of an address is computed.
#include "../operands.hpp"

namespace sgd_step_any {

constexpr int threads = 256;

// Elements along each dimension, and from one to the next in w and in g; a dimension that is not there has one element.
struct Layout {
    long long shape[4], w[4], g[4];
};

template <typename W, typename G>
__global__ void sgd_step_any_kernel(W* w, const G* g, float lr, long long n, Layout layout) {
    long long rest = static_cast<long long>(blockIdx.x) * threads + threadIdx.x;
    if (rest >= n) return;
    for (int d = 3; d >= 0; --d) {
        w += rest % layout.shape[d] * layout.w[d];
        g += rest % layout.shape[d] * layout.g[d];
        rest /= layout.shape[d];
    }
    *w = static_cast<W>(static_cast<float>(*w) - lr * static_cast<float>(*g));
}

Supported can(const OpCall& call) {
    const bool right = all_operands(call, [](const TensorDesc& x) { return x.dtype == F32 || x.dtype == F16; });
    return right ? supported : refused("w or g is neither f32 nor f16");
}

cudaError_t launch(const OpCall& call, cudaStream_t stream) {
    const TensorDesc &w = call.inputs[0], &g = call.inputs[1];
    const long long n = elements(w);
    if (n == 0) return cudaSuccess;
    Layout layout{{1, 1, 1, 1}, {}, {}};
    for (int d = 0; d < w.ndim; ++d) layout.shape[d] = w.shape[d], layout.w[d] = w.stride[d], layout.g[d] = g.stride[d];
    const float lr = static_cast<float>(call.attrs[0]);
    return by_type(w.dtype, [&](auto weight) {
        return by_type(g.dtype, [&](auto gradient) {
            using W = decltype(weight);
            using G = decltype(gradient);
            sgd_step_any_kernel<<<blocks_of(n, threads), threads, 0, stream>>>(data<W>(w), data<const G>(g), lr, n,
                                                                               layout);
            return cudaGetLastError();
        });
    });
}

static Registration registration{{OpKind::SgdStep, "sgd_step_any_kernel", 0, can, launch}};

}  // namespace sgd_step_any
