// Fill: values that a large buffer holds from the beginning, computed when a page of it is first touched.
#pragma once

#include <cstddef>
#include <cstdint>

namespace simt {

enum class FillKind : std::uint32_t { nothing, uniform, byte };
enum class ElementType : std::uint32_t { f32, f16, bf16, i32 };

// uniform: element i is splitmix64(seed + i * 0x9E3779B97F4A7C15), its top 24 bits as a number in [-1, 1), rounded to
// the type; its top 8 bits for integers. grader/simt/sampled_values.py computes the same.
struct Fill {
    FillKind kind = FillKind::nothing;
    ElementType type = ElementType::f32;
    std::uint64_t seed = 0;  // byte: the value

    // The bytes [offset, offset + bytes) of the buffer, whole elements, go to `to`.
    void write(std::byte* to, std::uint64_t offset, std::uint64_t bytes) const;
};

std::uint32_t element_bytes(ElementType type);

}  // namespace simt
