// The registry: all variants of all operations, each registered by its own file.
#pragma once

#include <cuda_runtime.h>

#include <cstring>

#include "op_kind.hpp"
#include "tensor_desc.hpp"

// A call whose numbers and shapes fit its operation (shapes.hpp has looked): a variant need not look again.
struct OpCall {
    OpKind kind;
    const TensorDesc* inputs;
    const TensorDesc* outputs;
    const double* attrs;  // in the order of the signature
};

// What a variant says of a call: that it can do it, or why not.
struct Supported {
    const char* refusal;  // null where it can
    explicit operator bool() const { return refusal == nullptr; }
};
constexpr Supported supported{nullptr};
constexpr Supported refused(const char* why) {
    return {why};
}

// One way to do an operation.
struct Variant {
    OpKind kind;
    const char* name;  // that of its kernel, so that a launch tells its variant
    int priority;      // the highest is asked first
    Supported (*supported)(const OpCall& call);
    cudaError_t (*launch)(const OpCall& call, cudaStream_t stream);
};

// The list of all, best first. It is `static`, so that each built file has a list of its own: what is `inline` in a
// header is one for all files that a process has loaded.
class Registration;
static Registration* first_registration = nullptr;  // a constant, and so there before any of them is made

// A variant's place in the list. A file makes one, as a variable; it enters itself when the program is loaded:
//     static Registration registration{{OpKind::EltwiseAdd, "my_kernel", 10, my_supported, my_launch}};
class Registration {
  public:
    explicit Registration(const Variant& made) : variant(made) {
        Registration** place = &first_registration;
        while (*place && (*place)->comes_before(*this)) place = &(*place)->next;
        next = *place;
        *place = this;
    }
    Registration(const Registration&) = delete;
    Registration& operator=(const Registration&) = delete;

    const Variant variant;
    Registration* next;

  private:
    // By priority; of two with the same by name, so that the order in which files are loaded decides nothing.
    bool comes_before(const Registration& other) const {
        if (variant.priority != other.variant.priority) return variant.priority > other.variant.priority;
        return std::strcmp(variant.name, other.variant.name) < 0;
    }
};
