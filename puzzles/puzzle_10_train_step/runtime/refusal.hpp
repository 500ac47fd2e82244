// Why a call launched nothing, in words.
#pragma once

#include <cstdarg>
#include <cstdio>

#include "registry.hpp"

// The text of this thread's last call; what no longer fits is cut off.
struct Refusal {
    char text[4096];
    std::size_t length;

    void clear() { text[length = 0] = '\0'; }

    [[gnu::format(printf, 2, 3)]] void say(const char* format, ...) {
        std::va_list values;
        va_start(values, format);
        const int written = std::vsnprintf(text + length, sizeof text - length, format, values);
        va_end(values);
        if (written > 0) length = length + written < sizeof text ? length + written : sizeof text - 1;
    }
};

static thread_local Refusal last_refusal;  // static for the reason that the registry is

inline Refusal& refusal() {
    return last_refusal;
}

inline const char* dtype_name(std::int32_t dtype) {
    static const char* const names[] = {"f32", "f16", "bf16", "i32", "i64"};
    return element_bytes(dtype) ? names[dtype] : "of no known type";
}

// "f16 [3, 5], strides [5, 1], 2-byte aligned"
inline void say_tensor(const TensorDesc& x) {
    const auto list = [&](const std::int64_t (&values)[4]) {
        refusal().say("[");
        for (int d = 0; d < x.ndim; ++d) refusal().say(d ? ", %lld" : "%lld", static_cast<long long>(values[d]));
        refusal().say("]");
    };
    std::size_t bytes = 256;
    while (!aligned(x, bytes)) bytes /= 2;
    refusal().say("%s ", dtype_name(x.dtype));
    list(x.shape);
    refusal().say(", strides ");
    list(x.stride);
    refusal().say(", %zu-byte aligned", bytes);
}

// The call, a tensor in a line.
inline void say_call(const OpCall& call) {
    const OpSignature& wanted = signature(call.kind);
    const auto line = [](const char* name, const TensorDesc& x) {
        refusal().say("\n  %s: ", name);
        say_tensor(x);
    };
    for (int i = 0; i < most_operands && wanted.inputs[i]; ++i) line(wanted.inputs[i], call.inputs[i]);
    refusal().say("\n  →");
    line(wanted.output, call.outputs[0]);
    for (int i = 0; i < most_attrs && wanted.attrs[i]; ++i)
        refusal().say("\n  %s = %g", wanted.attrs[i], call.attrs[i]);
}
