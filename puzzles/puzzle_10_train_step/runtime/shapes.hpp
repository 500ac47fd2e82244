// Whether a call is one at all: as many tensors and numbers as its operation takes, and shapes that fit each other.
#pragma once

#include "refusal.hpp"

// Each of these says what is wrong and returns false, or returns true.

inline bool is_tensor(const char* name, const TensorDesc& x) {
    bool right = x.ndim >= 0 && x.ndim <= 4 && element_bytes(x.dtype) != 0;
    for (int d = 0; right && d < x.ndim; ++d) right = x.shape[d] >= 0 && x.stride[d] >= 0;
    if (!right) refusal().say("%s is no tensor: type, dimensions, shape and strides have to be ones that exist.", name);
    if (right && elements(x) > 0 && x.data == nullptr) {
        refusal().say("%s has elements, and its address is null.", name);
        right = false;
    }
    if (right && !aligned(x, element_bytes(x.dtype))) {
        refusal().say("%s does not begin at a multiple of its elements' size.", name);
        right = false;
    }
    return right;
}

inline bool counts_fit(const OpCall& call, int n_inputs, int n_outputs, int n_attrs) {
    const OpSignature& wanted = signature(call.kind);
    int inputs = 0, attrs = 0;
    while (inputs < most_operands && wanted.inputs[inputs]) ++inputs;
    while (attrs < most_attrs && wanted.attrs[attrs]) ++attrs;
    const bool there = call.inputs && call.outputs && (call.attrs || attrs == 0);
    if (there && n_inputs == inputs && n_outputs == 1 && n_attrs == attrs) return true;
    if (!there) {
        refusal().say("an array of tensors or attributes is null.");
        return false;
    }
    refusal().say("%s takes %d inputs, 1 output and %d attributes, not %d, %d and %d.", wanted.name, inputs, attrs,
                  n_inputs, n_outputs, n_attrs);
    return false;
}

// Whether the bytes from the first to the last element of one meet those of the other.
inline bool overlap(const TensorDesc& x, const TensorDesc& y) {
    if (elements(x) == 0 || elements(y) == 0) return false;
    const auto end = [](const TensorDesc& tensor) {
        std::int64_t last = 0;
        for (int d = 0; d < tensor.ndim; ++d) last += (tensor.shape[d] - 1) * tensor.stride[d];
        return static_cast<const char*>(tensor.data) + (last + 1) * element_bytes(tensor.dtype);
    };
    return x.data < end(y) && y.data < end(x);
}

// Whether no two elements share an address: each stride, from the smallest on, steps over all that smaller ones reach.
inline bool distinct(const TensorDesc& x) {
    if (elements(x) == 0) return true;
    std::int64_t reached = 0;
    bool seen[4] = {};
    for (int round = 0; round < x.ndim; ++round) {
        int next = -1;
        for (int d = 0; d < x.ndim; ++d)
            if (!seen[d] && (next < 0 || x.stride[d] < x.stride[next])) next = d;
        seen[next] = true;
        if (x.shape[next] == 1) continue;
        if (x.stride[next] <= reached) return false;
        reached += (x.shape[next] - 1) * x.stride[next];
    }
    return true;
}

inline bool same_elements(const TensorDesc& x, const TensorDesc& y) {
    bool same = x.data == y.data && x.dtype == y.dtype && same_shape(x, y);
    for (int d = 0; same && d < x.ndim; ++d) same = x.shape[d] == 1 || x.stride[d] == y.stride[d];
    return same;
}

inline bool shapes_fit(const OpCall& call) {
    const bool two = signature(call.kind).inputs[1] != nullptr;
    const TensorDesc &x = call.inputs[0], &y = call.inputs[two ? 1 : 0], &out = call.outputs[0];
    switch (call.kind) {
        case OpKind::EltwiseAdd:
        case OpKind::MseGrad:
        case OpKind::ReluBwd:
        case OpKind::SgdStep:
            return same_shape(x, y) && same_shape(x, out);
        case OpKind::EltwiseRelu:
            return same_shape(x, out);
        case OpKind::BiasAdd:
            return x.ndim == 2 && y.ndim == 1 && same_shape(x, out) && x.shape[1] == y.shape[0];
        case OpKind::Gemm: {
            const bool trans_a = call.attrs[0] != 0, trans_b = call.attrs[1] != 0;
            return x.ndim == 2 && y.ndim == 2 && out.ndim == 2 && x.shape[!trans_a] == y.shape[trans_b] &&
                   x.shape[trans_a] == out.shape[0] && y.shape[!trans_b] == out.shape[1];
        }
        case OpKind::ReduceSum: {
            bool fit = out.ndim == x.ndim - 1;
            for (int d = 0; fit && d < out.ndim; ++d) fit = out.shape[d] == x.shape[d < call.attrs[0] ? d : d + 1];
            return fit;
        }
    }
    return false;
}

inline bool attrs_fit(const OpCall& call) {
    const double* attrs = call.attrs;
    if (call.kind == OpKind::Gemm) return (attrs[0] == 0 || attrs[0] == 1) && (attrs[1] == 0 || attrs[1] == 1);
    if (call.kind != OpKind::ReduceSum) return true;
    return attrs[0] >= 0 && attrs[0] < call.inputs[0].ndim && attrs[0] == static_cast<int>(attrs[0]);
}

// An output may be an input only where element i of the result needs no other element than i; and SgdStep's has to be.
inline bool memory_fits(const OpCall& call) {
    const OpSignature& wanted = signature(call.kind);
    const TensorDesc& out = call.outputs[0];
    if (!distinct(out)) {
        refusal().say("elements of %s share an address, and each has a result of its own.", wanted.output);
        return false;
    }
    if (call.kind == OpKind::SgdStep && !same_elements(call.inputs[0], out)) {
        refusal().say("SgdStep works in place: its output has to be w itself.");
        return false;
    }
    const bool in_place = call.kind != OpKind::Gemm && call.kind != OpKind::ReduceSum;
    for (int i = 0; i < most_operands && wanted.inputs[i]; ++i)
        if (overlap(call.inputs[i], out) && !(in_place && same_elements(call.inputs[i], out))) {
            refusal().say("%s may share memory with %s, which is still being read.", wanted.output, wanted.inputs[i]);
            return false;
        }
    return true;
}

inline bool well_formed(const OpCall& call) {
    const OpSignature& wanted = signature(call.kind);
    for (int i = 0; i < most_operands && wanted.inputs[i]; ++i)
        if (!is_tensor(wanted.inputs[i], call.inputs[i])) return false;
    if (!is_tensor(wanted.output, call.outputs[0])) return false;
    if (!attrs_fit(call) || !shapes_fit(call)) {
        refusal().say("shapes or attributes do not fit %s:", wanted.name);
        say_call(call);
        return false;
    }
    return memory_fits(call);
}
