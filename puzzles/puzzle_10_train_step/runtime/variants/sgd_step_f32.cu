// SgdStep of contiguous floats: the kernel of 9.1.
#include "../operands.hpp"

extern "C" cudaError_t sgd_f32(float* w, const float* g, float lr, int n, cudaStream_t stream);

namespace variant_sgd_f32 {

Supported can(const OpCall& call) {
    if (!all_are(call, F32)) return refused("not all tensors are f32");
    if (!all_contiguous(call)) return refused("a tensor is not contiguous");
    return all_countable(call) ? supported : refused("more elements than an int can count");
}

cudaError_t launch(const OpCall& call, cudaStream_t stream) {
    const TensorDesc &w = call.inputs[0], &g = call.inputs[1];
    return sgd_f32(data<float>(w), data<const float>(g), static_cast<float>(call.attrs[0]),
                   static_cast<int>(elements(w)), stream);
}

static Registration registration{{OpKind::SgdStep, "sgd_step_f32_kernel", 10, can, launch}};

}  // namespace variant_sgd_f32
