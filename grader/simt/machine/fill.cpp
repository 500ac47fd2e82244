#include "fill.hpp"

#include <cstring>

#include "half.hpp"

namespace simt {
namespace {

std::uint64_t splitmix64(std::uint64_t z) {
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

template <class T, class Value>
void write_elements(std::byte* to, std::uint64_t first, std::uint64_t count, std::uint64_t seed, Value&& value) {
    for (std::uint64_t i = 0; i < count; ++i) {
        const T element = value(splitmix64(seed + (first + i) * 0x9E3779B97F4A7C15u));
        std::memcpy(to + i * sizeof element, &element, sizeof element);
    }
}

float in_unit_interval(std::uint64_t bits) {
    return static_cast<float>(bits >> 40) * 0x1p-23f - 1.0f;
}

}  // namespace

std::uint32_t element_bytes(ElementType type) {
    return type == ElementType::f16 || type == ElementType::bf16 ? 2 : 4;
}

void Fill::write(std::byte* to, std::uint64_t offset, std::uint64_t bytes) const {
    if (kind == FillKind::byte) std::memset(to, static_cast<int>(seed & 0xff), bytes);
    if (kind != FillKind::uniform) return;
    const std::uint64_t first = offset / element_bytes(type), count = bytes / element_bytes(type);
    switch (type) {
        case ElementType::f32:
            write_elements<float>(to, first, count, seed, in_unit_interval);
            break;
        case ElementType::f16:
            write_elements<std::uint16_t>(to, first, count, seed, [](std::uint64_t bits) {
                return static_cast<std::uint16_t>(bits_of<F16>(in_unit_interval(bits)));
            });
            break;
        case ElementType::bf16:
            write_elements<std::uint16_t>(to, first, count, seed, [](std::uint64_t bits) {
                return static_cast<std::uint16_t>(bits_of<Bf16>(in_unit_interval(bits)));
            });
            break;
        case ElementType::i32:
            write_elements<std::uint32_t>(to, first, count, seed,
                                          [](std::uint64_t bits) { return static_cast<std::uint32_t>(bits >> 56); });
            break;
    }
}

}  // namespace simt
