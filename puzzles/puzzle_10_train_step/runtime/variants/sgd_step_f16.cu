// SgdStep of contiguous halves: the kernel of 9.2.
#include <cuda_fp16.h>

#include "../operands.hpp"

extern "C" cudaError_t sgd_f16(half* w, const half* g, float lr, int n, cudaStream_t stream);

namespace variant_sgd_f16 {

Supported can(const OpCall& call) {
    if (!all_are(call, F16)) return refused("not all tensors are f16");
    if (!all_contiguous(call)) return refused("a tensor is not contiguous");
    return all_countable(call) ? supported : refused("more elements than an int can count");
}

cudaError_t launch(const OpCall& call, cudaStream_t stream) {
    const TensorDesc &w = call.inputs[0], &g = call.inputs[1];
    return sgd_f16(data<half>(w), data<const half>(g), static_cast<float>(call.attrs[0]), static_cast<int>(elements(w)),
                   stream);
}

static Registration registration{{OpKind::SgdStep, "sgd_step_f16_kernel", 10, can, launch}};

}  // namespace variant_sgd_f16
