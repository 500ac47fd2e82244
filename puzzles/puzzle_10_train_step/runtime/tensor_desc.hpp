// What the runtime knows of a tensor: where it lies, what its elements are, and how to find each of them.
//
// The layout is the same in C, in C++ and in Python's ctypes, and does not change: docs/tensor-desc.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>

enum DType : std::int32_t { F32 = 0, F16 = 1, BF16 = 2, I32 = 3, I64 = 4 };

struct TensorDesc {
    void* data;              // the element at [0, 0, …], in device memory
    std::int32_t dtype;      // a DType
    std::int32_t ndim;       // 0 to 4: how many of the numbers below count
    std::int64_t shape[4];   // elements along each dimension
    std::int64_t stride[4];  // along each dimension, from one element to the next, counted in elements
};

static_assert(sizeof(TensorDesc) == 80 && alignof(TensorDesc) == 8, "others have this layout, too");
static_assert(offsetof(TensorDesc, data) == 0 && offsetof(TensorDesc, dtype) == 8 && offsetof(TensorDesc, ndim) == 12);
static_assert(offsetof(TensorDesc, shape) == 16 && offsetof(TensorDesc, stride) == 48);

// A contiguous tensor of this shape. Whether it may be written to is said by its place in a call, not by its address.
inline TensorDesc tensor_of(const void* data, std::int32_t dtype, std::initializer_list<std::int64_t> shape) {
    TensorDesc x{const_cast<void*>(data), dtype, static_cast<std::int32_t>(shape.size()), {}, {}};
    for (int d = 0; d < x.ndim; ++d) x.shape[d] = shape.begin()[d];
    std::int64_t stride = 1;
    for (int d = x.ndim - 1; d >= 0; --d) {
        x.stride[d] = stride;
        stride *= x.shape[d];
    }
    return x;
}

// Bytes of an element; 0 for a type that does not exist.
inline int element_bytes(std::int32_t dtype) {
    switch (dtype) {
        case F32:
        case I32:
            return 4;
        case F16:
        case BF16:
            return 2;
        case I64:
            return 8;
        default:
            return 0;
    }
}

// How many elements it has: 1 without dimensions, 0 if any of them is empty.
inline std::int64_t elements(const TensorDesc& x) {
    std::int64_t count = 1;
    for (int d = 0; d < x.ndim; ++d) count *= x.shape[d];
    return count;
}

// Whether its elements lie one behind the other, the last dimension innermost, as in a new tensor of this shape. The
// stride of a dimension with a single element is never used, and may be anything.
inline bool contiguous(const TensorDesc& x) {
    if (elements(x) == 0) return true;
    std::int64_t wanted = 1;
    for (int d = x.ndim - 1; d >= 0; --d) {
        if (x.shape[d] != 1 && x.stride[d] != wanted) return false;
        wanted *= x.shape[d];
    }
    return true;
}

// Whether its first element lies at a multiple of so many bytes.
inline bool aligned(const TensorDesc& x, std::size_t bytes) {
    return reinterpret_cast<std::uintptr_t>(x.data) % bytes == 0;
}

inline bool same_shape(const TensorDesc& x, const TensorDesc& y) {
    if (x.ndim != y.ndim) return false;
    for (int d = 0; d < x.ndim; ++d)
        if (x.shape[d] != y.shape[d]) return false;
    return true;
}
