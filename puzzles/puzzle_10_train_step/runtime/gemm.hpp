// A product as its kernels see it: which rows and columns, whatever is turned and wherever the elements lie.
#pragma once

#include "operands.hpp"

// Element (i, j) lies at data[i * row + j * col].
struct Strides {
    long long row, col;
};

// C [M, N] = A [M, K] · B [K, N], where A and B are the matrices after turning: for those that the call turns, the
// strides have changed places.
struct Product {
    long long M, N, K;
    Strides a, b, c;
};

inline bool trans_a(const OpCall& call) {
    return call.attrs[0] != 0;
}

inline bool trans_b(const OpCall& call) {
    return call.attrs[1] != 0;
}

inline Product product(const OpCall& call) {
    const TensorDesc &A = call.inputs[0], &B = call.inputs[1], &C = call.outputs[0];
    const auto strides = [](const TensorDesc& x, bool turned) {
        return Strides{x.stride[turned ? 1 : 0], x.stride[turned ? 0 : 1]};
    };
    return {C.shape[0],
            C.shape[1],
            A.shape[trans_a(call) ? 0 : 1],
            strides(A, trans_a(call)),
            strides(B, trans_b(call)),
            strides(C, false)};
}

// What the kernels of puzzle 2 ask for: contiguous floats, the one way of turning that each is written for.
inline Supported as_in_puzzle_2(const OpCall& call, bool turns_a, bool turns_b) {
    if (!all_are(call, F32)) return refused("not all tensors are f32");
    if (trans_a(call) != turns_a || trans_b(call) != turns_b) return refused("it turns other matrices than these");
    if (!all_contiguous(call)) return refused("a tensor is not contiguous");
    const Product size = product(call);
    if (size.M > INT_MAX || size.N > INT_MAX || size.K > INT_MAX) return refused("a dimension is too large for an int");
    return supported;
}

// Calls an entry of puzzle 2.
template <typename Entry>
inline cudaError_t call_entry(Entry entry, const OpCall& call, cudaStream_t stream) {
    const auto [M, N, K, a, b, c] = product(call);
    return entry(data<float>(call.inputs[0]), data<float>(call.inputs[1]), data<float>(call.outputs[0]),
                 static_cast<int>(M), static_cast<int>(N), static_cast<int>(K), stream);
}
