// op_call: one entry for all operations. It looks at the tensors, chooses a variant, and lets it launch.
//
//     op_call → well_formed? → dispatch_v0: the first variant, by priority, whose supported() is true → its launch()
//
// Nothing here allocates, waits, or remembers anything for the next call, so that a list of calls can be captured into
// a graph, and gives the same whatever was called before.
#pragma once

#include "shapes.hpp"

// The first variant of the operation, best first, that supports the call; null where none does.
inline const Variant* dispatch_v0(OpKind kind, const OpCall& call) {
    for (const Registration* at = first_registration; at; at = at->next)
        if (at->variant.kind == kind && at->variant.supported(call)) return &at->variant;
    return nullptr;
}

inline void say_why_none_fits(const OpCall& call) {
    refusal().say("no variant of %s fits:", signature(call.kind).name);
    say_call(call);
    for (const Registration* at = first_registration; at; at = at->next)
        if (at->variant.kind == call.kind)
            refusal().say("\n  %s: %s", at->variant.name, at->variant.supported(call).refusal);
}

// Does the operation `kind` (an OpKind) on these tensors, on this stream. Numbers of attributes are doubles, in the
// order of the signature. Returns cudaErrorInvalidValue where the call makes no sense, cudaErrorNotSupported where no
// variant fits, else what the launch returned; for the first two op_refusal() says why.
extern "C" [[gnu::used]] inline cudaError_t op_call(int kind, const TensorDesc* inputs, int n_inputs,
                                                    const TensorDesc* outputs, int n_outputs, const double* attrs,
                                                    int n_attrs, cudaStream_t stream) {
    refusal().clear();
    if (kind < 0 || kind >= op_kinds) {
        refusal().say("there is no operation %d: they are numbered from 0 to %d.", kind, op_kinds - 1);
        return cudaErrorInvalidValue;
    }
    const OpCall call{static_cast<OpKind>(kind), inputs, outputs, attrs};
    if (!counts_fit(call, n_inputs, n_outputs, n_attrs) || !well_formed(call)) return cudaErrorInvalidValue;
    const Variant* chosen = dispatch_v0(call.kind, call);
    if (chosen) return chosen->launch(call, stream);
    say_why_none_fits(call);
    return cudaErrorNotSupported;
}

// The same from C++: op(OpKind::Gemm, {A, B}, {C}, {0, 1}, stream).
inline cudaError_t op(OpKind kind, std::initializer_list<TensorDesc> inputs, std::initializer_list<TensorDesc> outputs,
                      std::initializer_list<double> attrs, cudaStream_t stream) {
    return op_call(static_cast<int>(kind), inputs.begin(), static_cast<int>(inputs.size()), outputs.begin(),
                   static_cast<int>(outputs.size()), attrs.begin(), static_cast<int>(attrs.size()), stream);
}

// Why this thread's last op_call launched nothing; "" where it did.
extern "C" [[gnu::used]] inline const char* op_refusal() {
    return refusal().text;
}
