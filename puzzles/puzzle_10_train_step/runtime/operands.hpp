// What many variants ask of the tensors of a call, and what they need for a launch.
#pragma once

#include <cuda_fp16.h>

#include <climits>

#include "registry.hpp"

// Whether each tensor of the call passes the test, inputs and output.
template <typename Test>
inline bool all_operands(const OpCall& call, Test passes) {
    const OpSignature& wanted = signature(call.kind);
    for (int i = 0; i < most_operands && wanted.inputs[i]; ++i)
        if (!passes(call.inputs[i])) return false;
    return passes(call.outputs[0]);
}

inline bool all_are(const OpCall& call, DType dtype) {
    return all_operands(call, [=](const TensorDesc& x) { return x.dtype == dtype; });
}

inline bool all_contiguous(const OpCall& call) {
    return all_operands(call, contiguous);
}

// Whether an int can count the elements of each tensor.
inline bool all_countable(const OpCall& call) {
    return all_operands(call, [](const TensorDesc& x) { return elements(x) <= INT_MAX; });
}

// What an operation on floats or halves asks for that goes through its tensors from front to back.
inline Supported floats_or_halves_in_order(const OpCall& call) {
    if (!all_are(call, F32) && !all_are(call, F16)) return refused("not all tensors are f32, nor are all f16");
    if (!all_contiguous(call)) return refused("a tensor is not contiguous");
    return supported;
}

// The elements, as the type that `dtype` says they have.
template <typename T>
inline T* data(const TensorDesc& x) {
    return static_cast<T*>(x.data);
}

// What `launch` returns, which is called with a number of the type that `dtype` says, F32 or F16.
template <typename Launch>
inline cudaError_t by_type(std::int32_t dtype, Launch launch) {
    return dtype == F32 ? launch(float{}) : launch(half{});
}

// How many blocks of so many elements hold n.
inline unsigned blocks_of(long long n, long long of_each) {
    return static_cast<unsigned>((n + of_each - 1) / of_each);
}
