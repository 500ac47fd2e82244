// Sums of products as tensor cores make them: the rounding model, and its numbers by kind of GPU.
//
// PTX leaves order, rounding and subnormals of wmma and mma open (PTX ISA 9.1, section 9.7.14). What the hardware does
// is known from measurements (Fasi, Higham, Mikaitis, Pranesh: "Numerical behavior of NVIDIA tensor cores", 2021; the
// model of Turing to Hopper in microsoft/MMA-Sim): products are exact; they and the addend c are shifted to the largest
// exponent among them, of a product the sum of its factors' exponents, and cut off behind a number of binary digits;
// their sum is exact, and rounded once, toward zero to f32, to nearest to f16.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "half.hpp"
#include "matrix.hpp"

namespace simt {

// All that differs from one kind of GPU to the next.
struct SumModel {
    int digits;                   // binary ones behind the point that are kept, at the largest exponent
    int bytes_a_step;             // of each operand: so many bytes along K are multiplied and added at once
    std::int32_t least_exponent;  // no sum is aligned to a smaller one
};

inline SumModel sum_model(std::uint32_t target) {
    return target >= 90 ? SumModel{25, 32, -133} : SumModel{24, 16, -133};
}

// Numbers taken apart: value = significand * 2^exponent, with 1 <= |significand| < 2, less for subnormal ones. What is
// not finite counts as 0 here and is marked.
struct Parts {
    float significand;
    std::int32_t exponent;
};

inline constexpr std::int32_t kNoExponent = -4096;  // of zero: below all others

// A float by its bits, `Digits` of the significand, an exponent that is stored with `Bias`.
template <int Digits, int Bias>
inline Parts taken_apart(std::uint32_t bits, bool negative, bool& special) {
    constexpr std::uint32_t hidden = 1u << (Digits - 1);
    const std::uint32_t field = bits >> (Digits - 1), fraction = bits & (hidden - 1);
    const std::uint32_t whole = field == 0 ? fraction : fraction | hidden;
    const bool finite = field != 2 * Bias + 1;
    special |= !finite;
    const float size = static_cast<float>(static_cast<std::int32_t>(whole)) * (1.0f / static_cast<float>(hidden));
    const std::int32_t exponent = static_cast<std::int32_t>(field == 0 ? 1 : field) - Bias;
    return {finite ? (negative ? -size : size) : 0.0f, finite && whole != 0 ? exponent : kNoExponent};
}

template <Number T>
inline Parts apart(std::uint32_t bits, bool& special) {
    if constexpr (T == Number::f16) return taken_apart<11, 15>(bits & 0x7fff, bits >> 15 & 1, special);
    if constexpr (T == Number::bf16) return taken_apart<8, 127>(bits & 0x7fff, bits >> 15 & 1, special);
    if constexpr (T == Number::tf32) return taken_apart<11, 127>(bits >> 13 & 0x3ffff, bits >> 31, special);
    if constexpr (T == Number::f32) return taken_apart<24, 127>(bits & 0x7fffffff, bits >> 31, special);
}

template <Number T>
inline float number_of(std::uint32_t bits) {  // for infinities and NaN, where no digit matters
    if constexpr (T == Number::f16) return static_cast<float>(value_of<F16>(bits));
    if constexpr (T == Number::bf16) return static_cast<float>(value_of<Bf16>(bits));
    float value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
}

inline double power_of_two(int exponent) {
    const std::uint64_t bits = static_cast<std::uint64_t>(exponent + 1023) << 52;
    double value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
}

// Toward zero to f32, where `sum` has at most 33 digits.
inline std::uint32_t to_f32(double sum) {
    std::uint64_t bits;
    std::memcpy(&bits, &sum, sizeof bits);
    bits &= ~((std::uint64_t{1} << 29) - 1);
    double cut;
    std::memcpy(&cut, &bits, sizeof cut);
    if (std::abs(cut) < 0x1p-126) cut = std::trunc(cut * 0x1p149) * 0x1p-149;
    const auto value = static_cast<float>(cut) + 0.0f;  // +0, whatever the sign of what vanished
    std::uint32_t result;
    std::memcpy(&result, &value, sizeof result);
    return result;
}

// To nearest, ties to even, to f16.
inline std::uint32_t to_f16(double sum) {
    const double size = std::abs(sum);
    const std::uint32_t sign = std::signbit(sum) ? kSign : 0;
    if (size >= 65520) return sign | F16::infinity;
    if (size < 0x1p-14) {  // a unit is 2^-24; a carry runs into the exponent by itself
        return sign | static_cast<std::uint32_t>(static_cast<std::int32_t>(size * 0x1p24 + 0x1p52 - 0x1p52));
    }
    std::uint64_t bits;
    std::memcpy(&bits, &size, sizeof bits);
    bits += (std::uint64_t{1} << 41) - 1 + (bits >> 42 & 1);
    return sign | static_cast<std::uint32_t>((bits >> 42) - (std::uint64_t{1023 - 15} << 10));
}

// A sum that vanishes is +0, whatever it was.
inline std::uint32_t unsigned_zero(std::uint32_t f16) {
    return f16 == kSign ? 0 : f16;
}

}  // namespace simt
