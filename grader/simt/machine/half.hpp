// Sixteen-bit floats as bits: f16 and bf16, to double and back with one rounding.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "rounding.hpp"

namespace simt {

struct F16 {
    static constexpr int significand = 11, bias = 15;
    static constexpr std::uint32_t infinity = 0x7c00;
};
struct Bf16 {
    static constexpr int significand = 8, bias = 127;
    static constexpr std::uint32_t infinity = 0x7f80;
};
inline constexpr std::uint32_t kSign = 0x8000, kNan16 = 0x7fff;

template <class F>
inline double value_of(std::uint32_t bits) {
    const std::uint32_t magnitude = bits & 0x7fff, top = magnitude >> (F::significand - 1);
    const auto fraction = static_cast<double>(magnitude & ((1u << (F::significand - 1)) - 1));
    if (magnitude > F::infinity) return std::numeric_limits<double>::quiet_NaN();
    const double size = magnitude == F::infinity ? std::numeric_limits<double>::infinity()
                        : top == 0               ? std::ldexp(fraction, 2 - F::bias - F::significand)
                                                 : std::ldexp(fraction + (1u << (F::significand - 1)),
                                                              static_cast<int>(top) + 1 - F::bias - F::significand);
    return bits & kSign ? -size : size;
}

template <class F>
inline std::uint32_t bits_of(double value, Round mode = Round::nearest) {
    if (value != value) return kNan16;
    const std::uint32_t sign = std::signbit(value) ? kSign : 0;
    const double size = std::abs(value);
    if (size == 0 || std::isinf(size)) return sign | (size == 0 ? 0 : F::infinity);
    const int exponent = std::max(std::ilogb(size), 1 - F::bias);
    const double count = std::ldexp(size, F::significand - 1 - exponent);  // of units in the last place: exact
    const bool away = mode == (sign ? Round::down : Round::up);
    const auto whole = static_cast<std::uint64_t>(mode == Round::nearest ? std::nearbyint(count)
                                                  : away                 ? std::ceil(count)
                                                                         : std::floor(count));
    // A carry runs into the exponent by itself.
    const std::uint64_t bits = whole + (static_cast<std::uint64_t>(exponent + F::bias - 1) << (F::significand - 1));
    if (bits < F::infinity) return sign | static_cast<std::uint32_t>(bits);
    return sign | (mode == Round::nearest || away ? F::infinity : F::infinity - 1);
}

}  // namespace simt
