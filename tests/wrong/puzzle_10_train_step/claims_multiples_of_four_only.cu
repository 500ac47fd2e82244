// sgd_supported: when may the update in pairs be taken?
//
// Why    dispatch_v0 goes through the variants of an operation, best first, and takes the first that says that it can
//        do the call. One that claims too much makes wrong weights, or ends the program. One that claims too little is
//        never taken, and nobody learns why training is slow.
// Given  SgdStep of w and g, of one shape, each with a type, strides and an address of its own; variants that take
//        contiguous floats and contiguous halves, by 9.1 and 9.2, and one that is slow and takes all; the launch
//        of 9.3, for an even number of contiguous halves in w and in g, both at multiples of 4 bytes. From the runtime:
//        contiguous(w), elements(w), aligned(w, bytes), w.dtype, which is F32 or F16, refused("why").
// Write  the answer, about 5 lines: refused(…) with the reason, in a few words, for each thing that does not fit; else
//        `supported`.
// Goal   Each case is left to the kernel that was made for it.
#include "runtime/op_call.hpp"
#include "runtime/operands.hpp"

// w = w - lr · g in pairs of halves: 9.3
extern "C" cudaError_t sgd_f16_half2(half* w, const half* g, float lr, int n, cudaStream_t stream);

static Supported in_pairs(const OpCall& call) {
    const TensorDesc &w = call.inputs[0], &g = call.inputs[1];
    (void)w, (void)g;  // no warning before your code uses them
    if (!all_countable(call)) return refused("more elements than an int can count");
    // --- your code ---
    if (w.dtype != F16 || g.dtype != F16) return refused("w and g are not both f16");
    if (!contiguous(w) || !contiguous(g)) return refused("w or g is not contiguous");
    if (elements(w) % 4 != 0) return refused("an odd number of elements");
    if (!aligned(w, sizeof(half2)) || !aligned(g, sizeof(half2))) return refused("w or g is not 4-byte aligned");
    return supported;
    // --- end ---
    return refused("nobody has said yet when it fits");
}

static cudaError_t launch(const OpCall& call, cudaStream_t stream) {
    const TensorDesc &w = call.inputs[0], &g = call.inputs[1];
    const float lr = static_cast<float>(call.attrs[0]);
    return sgd_f16_half2(data<half>(w), data<const half>(g), lr, static_cast<int>(elements(w)), stream);
}

static Registration registration{{OpKind::SgdStep, "sgd_step_f16_half2_kernel", 20, in_pairs, launch}};

// w[i · w_step] -= lr · g[i · g_step] for i < n, which leaves what lies between as it is. dtype: 0 floats, 1 halves, 2
// halves by a gradient in floats.
extern "C" cudaError_t sgd_supported(void* w, const void* g, float lr, int n, int w_step, int g_step, int dtype,
                                     cudaStream_t stream) {
    TensorDesc weights = tensor_of(w, dtype == 0 ? F32 : F16, {n}),
               gradients = tensor_of(g, dtype == 1 ? F16 : F32, {n});
    weights.stride[0] = w_step, gradients.stride[0] = g_step;
    return op(OpKind::SgdStep, {weights, gradients}, {weights}, {lr}, stream);
}
