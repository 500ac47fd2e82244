// Conversions: cvt between integers and floats (PTX ISA 9.1, section 9.7.9.23).
//
// What a NaN carries, PTX leaves open; here it is what an H200 makes of it.
#include <cmath>
#include <limits>
#include <utility>

#include "elementwise.hpp"
#include "half.hpp"
#include "operations.hpp"
#include "rounding.hpp"

namespace simt {
namespace {

template <class T>
using SlotOf = std::conditional_t<std::is_floating_point_v<T>, T,
                                  std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>>;

template <class To, class From>
constexpr std::string_view shape() {
    if (sizeof(To) == 8) return sizeof(From) == 8 ? "WR" : "Wr";
    return sizeof(From) == 8 ? "wR" : "wr";
}

// A narrow result lies in a 32-bit slot: its bits, the upper half zero above 16.
template <class To>
SlotOf<To> slot(To value) {
    if constexpr (std::is_floating_point_v<To>)
        return value;
    else if constexpr (sizeof(To) == 1)
        return static_cast<std::uint16_t>(value);  // sign- or zero-extended to 16 bits
    else
        return static_cast<SlotOf<To>>(static_cast<std::make_unsigned_t<To>>(value));
}

template <class To, class From>
struct Integer {
    SlotOf<To> operator()(SlotOf<From> a) const { return slot<To>(static_cast<To>(static_cast<From>(a))); }
};

template <class To, class From>
struct Clamped {  // .sat to an integer: limits of the destination
    SlotOf<To> operator()(SlotOf<From> raw) const {
        const From a = static_cast<From>(raw);
        if (std::cmp_less(a, std::numeric_limits<To>::min())) return slot<To>(std::numeric_limits<To>::min());
        if (std::cmp_greater(a, std::numeric_limits<To>::max())) return slot<To>(std::numeric_limits<To>::max());
        return slot<To>(static_cast<To>(a));
    }
};

template <Round Mode, class T>
T to_integral(T a) {
    if constexpr (Mode == Round::nearest)
        return std::nearbyint(a);  // the host's mode is to nearest even
    else if constexpr (Mode == Round::zero)
        return std::trunc(a);
    else if constexpr (Mode == Round::down)
        return std::floor(a);
    else
        return std::ceil(a);
}

// What a float is clamped to. Limits are exact in a double; 2^63 and 2^64 stand for the largest 64-bit integers.
struct Limits {
    double low, high;  // the result is `lowest`, `highest` below and from here on
    std::uint64_t lowest, highest, not_a_number;
};

template <class To, class From>
constexpr Limits limits() {
    using L = std::numeric_limits<To>;
    constexpr double high =
        L::digits < 32 ? double(std::uint64_t{1} << L::digits) : 0x1p31 * double(std::uint64_t{1} << (L::digits - 31));
    // NaN: 0, or 1 << (w - 1) where one side has 64 bits
    const bool wide = sizeof(From) == 8 || sizeof(To) == 8;
    const To nan = wide ? static_cast<To>(std::uint64_t{1} << (8 * sizeof(To) - 1)) : To{0};
    const auto bits = [](To value) { return std::uint64_t(slot<To>(value)); };
    return {double(L::min()), high, bits(L::min()), bits(L::max()), bits(nan)};
}

// Rounded and clamped, as bits of 64; the caller keeps what its slot holds.
template <class From, Round Mode, bool Flush>
[[gnu::noinline]] void float_to_integer(const From* a, const Limits& limits, std::uint64_t mask,
                                        std::uint64_t* result) {
    for (int lane = 0; lane < kLanes; ++lane) {
        const double whole = to_integral<Mode>(Flush ? flushed(a[lane]) : a[lane]);
        const bool large = whole >= 0x1p63;
        const auto bits = static_cast<std::uint64_t>(static_cast<std::int64_t>(
            whole >= limits.low && whole < limits.high ? (large ? whole - 0x1p63 : whole) : 0));
        result[lane] = whole != whole         ? limits.not_a_number
                       : whole >= limits.high ? limits.highest
                       : whole < limits.low   ? limits.lowest
                                              : ((large ? bits + (std::uint64_t{1} << 63) : bits) & mask);
    }
}

template <class To, class From, Round Mode, bool Flush>
void finish_conversion(Warp& warp, const Instruction& instruction, const From* from, const Limits& limits) {
    constexpr std::uint64_t mask = sizeof(To) == 8 ? ~std::uint64_t{0} : sizeof(To) == 4 ? 0xffffffffu : 0xffffu;
    alignas(64) std::array<std::uint64_t, kLanes> wide;
    float_to_integer<From, Mode, Flush>(from, limits, mask, wide.data());
    alignas(64) std::array<SlotOf<To>, kLanes> result;
    for (int lane = 0; lane < kLanes; ++lane) result[lane] = static_cast<SlotOf<To>>(wide[lane]);
    warp.assign(instruction.operand[0], result.data());
}

template <class To, class From, Round Mode, bool Flush>
void convert_to_integer(Warp& warp, const Instruction& instruction) {
    finish_conversion<To, From, Mode, Flush>(warp, instruction, warp.source<From>(instruction.operand[1]),
                                             limits<To, From>());
}

template <class F, class To, Round Mode>
void convert_half_to_integer(Warp& warp, const Instruction& instruction) {
    const auto* bits = warp.source<std::uint32_t>(instruction.operand[1]);
    std::array<double, kLanes> values;
    for (int lane = 0; lane < kLanes; ++lane) values[lane] = value_of<F>(bits[lane] & 0xffff);
    finish_conversion<To, double, Mode, false>(warp, instruction, values.data(), limits<To, float>());
}

// A double on the same side of every number of fewer bits: the last of 53 bits keeps that something was cut off.
template <class From>
double to_double(From a) {
    if constexpr (sizeof(From) < 8) return a;
    const bool negative = std::cmp_less(a, 0);
    const std::uint64_t size = negative ? 0 - static_cast<std::uint64_t>(a) : static_cast<std::uint64_t>(a);
    const double value =
        size >> 53 ? static_cast<double>(size >> 11 | ((size & 0x7ff) ? 1 : 0)) * 0x1p11 : static_cast<double>(size);
    return negative ? -value : value;
}

template <class F, class From, Round Mode>
struct IntegerToHalf {
    std::uint32_t operator()(SlotOf<From> raw) const { return bits_of<F>(to_double(static_cast<From>(raw)), Mode); }
};
template <class F, Round Mode>
struct RoundHalfToIntegral {
    std::uint32_t operator()(std::uint32_t bits) const {
        return bits_of<F>(to_integral<Mode>(value_of<F>(bits & 0xffff)));
    }
};

// Compares in integers: `nearest` is integral, and only 2^w itself lies outside From.
template <class To, class From>
To directed_float(From a, Round mode) {
    const To nearest = static_cast<To>(a);
    const bool over = nearest >= std::ldexp(To{1}, std::numeric_limits<From>::digits);
    const From back = over ? std::numeric_limits<From>::max() : static_cast<From>(nearest);
    return directed(nearest, over || back > a, !over && back < a, mode);
}

template <class To, class From, Round Mode>
struct IntegerToFloat {
    To operator()(SlotOf<From> raw) const {
        const From a = static_cast<From>(raw);
        if constexpr (Mode == Round::nearest || sizeof(From) * 8 <= std::numeric_limits<To>::digits)
            return static_cast<To>(a);
        else
            return directed_float<To>(a, Mode);
    }
};

template <Round Mode, bool Flush, bool Saturate>
struct Narrow {  // f64 -> f32
    float operator()(double a) const {
        float result = narrow(a, 0, Mode);
        if (Flush) result = flushed(result);
        return Saturate ? saturated(result) : result;
    }
};
template <bool Flush, bool Saturate>
struct Widen {  // f32 -> f64
    double operator()(float a) const {
        const double result = Flush ? canonical(flushed(a)) : a;
        return Saturate ? saturated(result) : result;
    }
};
template <class T, Round Mode, bool Flush, bool Saturate>
struct RoundToIntegral {
    T operator()(T a) const {
        const T result = to_integral<Mode>(Flush ? flushed(a) : a);
        return Saturate ? saturated(result) : canonical(result);
    }
};
template <class T, bool Flush, bool Saturate>
struct SameFloat {
    T operator()(T a) const {
        const T result = Flush ? canonical(flushed(a)) : a;
        return Saturate ? saturated(result) : result;
    }
};

constexpr std::string_view mode_name(Round mode) {
    return mode == Round::nearest ? "rn" : mode == Round::zero ? "rz" : mode == Round::down ? "rm" : "rp";
}

template <class To, class From>
void add_integer_pair(OperationTable& table, std::string_view to, std::string_view from) {
    if constexpr (sizeof(To) != 8 || sizeof(From) != 8)  // that would be a copy
        table.add({"cvt.", to, ".", from}, shape<To, From>(), unary<SlotOf<To>, SlotOf<From>, Integer<To, From>>);
    table.add({"cvt.sat.", to, ".", from}, shape<To, From>(), unary<SlotOf<To>, SlotOf<From>, Clamped<To, From>>);
}

template <class Integral, class Float, Round M>
void add_mode(OperationTable& table, std::string_view integral, std::string_view real) {
    for (const std::string_view saturating : {"i.", "i.sat."}) {  // conversions to integers clamp anyway
        table.add({"cvt.", mode_name(M), saturating, integral, ".", real}, shape<Integral, Float>(),
                  convert_to_integer<Integral, Float, M, false>);
        if constexpr (sizeof(Float) == 4) {
            const std::string_view flushing = saturating == "i." ? "i.ftz." : "i.ftz.sat.";
            table.add({"cvt.", mode_name(M), flushing, integral, ".", real}, shape<Integral, Float>(),
                      convert_to_integer<Integral, Float, M, true>);
        }
    }
    table.add({"cvt.", mode_name(M), ".", real, ".", integral}, shape<Float, Integral>(),
              unary<Float, SlotOf<Integral>, IntegerToFloat<Float, Integral, M>>);
}

template <class F, class Integral, Round M>
void add_half_mode(OperationTable& table, std::string_view integral, std::string_view real) {
    table.add({"cvt.", mode_name(M), "i.", integral, ".", real}, sizeof(Integral) == 8 ? "Wr" : "wr",
              convert_half_to_integer<F, Integral, M>);
    table.add({"cvt.", mode_name(M), ".", real, ".", integral}, sizeof(Integral) == 8 ? "wR" : "wr",
              unary<std::uint32_t, SlotOf<Integral>, IntegerToHalf<F, Integral, M>>);
}

template <class F, class Integral>
void add_half_modes(OperationTable& table, std::string_view integral, std::string_view real) {
    add_half_mode<F, Integral, Round::nearest>(table, integral, real);
    add_half_mode<F, Integral, Round::zero>(table, integral, real);
    add_half_mode<F, Integral, Round::down>(table, integral, real);
    add_half_mode<F, Integral, Round::up>(table, integral, real);
}

template <class Integral, class Float>
void add_modes(OperationTable& table, std::string_view integral, std::string_view real) {
    add_mode<Integral, Float, Round::nearest>(table, integral, real);
    add_mode<Integral, Float, Round::zero>(table, integral, real);
    add_mode<Integral, Float, Round::down>(table, integral, real);
    add_mode<Integral, Float, Round::up>(table, integral, real);
}

template <class Integral>
void add_integral(OperationTable& table, std::string_view name) {
    add_integer_pair<Integral, std::uint8_t>(table, name, "u8");
    add_integer_pair<Integral, std::int8_t>(table, name, "s8");
    add_integer_pair<Integral, std::uint16_t>(table, name, "u16");
    add_integer_pair<Integral, std::int16_t>(table, name, "s16");
    add_integer_pair<Integral, std::uint32_t>(table, name, "u32");
    add_integer_pair<Integral, std::int32_t>(table, name, "s32");
    add_integer_pair<Integral, std::uint64_t>(table, name, "u64");
    add_integer_pair<Integral, std::int64_t>(table, name, "s64");
    add_modes<Integral, float>(table, name, "f32");
    add_modes<Integral, double>(table, name, "f64");
    add_half_modes<F16, Integral>(table, name, "f16");
    add_half_modes<Bf16, Integral>(table, name, "bf16");
}

template <class T, Round M, bool Flush, bool Saturate>
void add_integral_rounding(OperationTable& table, std::string_view tail, std::string_view type) {
    table.add({"cvt.", mode_name(M), "i", tail, ".", type, ".", type}, shape<T, T>(),
              unary<T, T, RoundToIntegral<T, M, Flush, Saturate>>);
}

template <Round M, bool Flush, bool Saturate>
void add_float_mode(OperationTable& table, std::string_view tail) {
    table.add({"cvt.", mode_name(M), tail, ".f32.f64"}, "wR", unary<float, double, Narrow<M, Flush, Saturate>>);
    add_integral_rounding<float, M, Flush, Saturate>(table, tail, "f32");
    if constexpr (!Flush) add_integral_rounding<double, M, false, Saturate>(table, tail, "f64");
    if constexpr (!Flush && !Saturate) {
        using Word = std::uint32_t;
        table.add({"cvt.", mode_name(M), "i.f16.f16"}, "wr", unary<Word, Word, RoundHalfToIntegral<F16, M>>);
        table.add({"cvt.", mode_name(M), "i.bf16.bf16"}, "wr", unary<Word, Word, RoundHalfToIntegral<Bf16, M>>);
    }
}

template <bool Flush, bool Saturate>
void add_float_forms(OperationTable& table, std::string_view tail) {
    table.add({"cvt", tail, ".f32.f32"}, "wr", unary<float, float, SameFloat<float, Flush, Saturate>>);
    table.add({"cvt", tail, ".f64.f32"}, "Wr", unary<double, float, Widen<Flush, Saturate>>);
    if constexpr (!Flush)
        table.add({"cvt", tail, ".f64.f64"}, "WR", unary<double, double, SameFloat<double, false, Saturate>>);
    add_float_mode<Round::nearest, Flush, Saturate>(table, tail);
    add_float_mode<Round::zero, Flush, Saturate>(table, tail);
    add_float_mode<Round::down, Flush, Saturate>(table, tail);
    add_float_mode<Round::up, Flush, Saturate>(table, tail);
}

// To the nearest number of 10 digits behind the point, in the format of a float: by what is added before the rest is
// cut off. A carry runs into the exponent by itself. Of a NaN an H200 cuts off as much with .rna, which can make it an
// infinity, and gives one of its own otherwise.
template <class Rest>
void tensor_float(Warp& warp, const Instruction& instruction) {
    apply<std::uint32_t, std::uint32_t>(warp, instruction, [](std::uint32_t bits) {
        if ((bits & 0x7fffffffu) <= 0x7f800000u) return (bits + Rest{}(bits)) & ~0x1fffu;
        return (Rest::keeps_nan ? bits : 0x7fffffffu) & ~0x1fffu;
    });
}
struct AwayFromZero {
    static constexpr bool keeps_nan = true;
    std::uint32_t operator()(std::uint32_t) const { return 0x1000; }
};
struct ToEven {
    static constexpr bool keeps_nan = false;
    std::uint32_t operator()(std::uint32_t bits) const { return 0x0fff + (bits >> 13 & 1); }
};
struct Nothing {
    static constexpr bool keeps_nan = false;
    std::uint32_t operator()(std::uint32_t) const { return 0; }
};

}  // namespace

void add_convert_operations(OperationTable& table) {
    table.add("cvt.rna.tf32.f32", "wr", tensor_float<AwayFromZero>);
    table.add("cvt.rn.tf32.f32", "wr", tensor_float<ToEven>);
    table.add("cvt.rz.tf32.f32", "wr", tensor_float<Nothing>);
    add_integral<std::uint8_t>(table, "u8");
    add_integral<std::int8_t>(table, "s8");
    add_integral<std::uint16_t>(table, "u16");
    add_integral<std::int16_t>(table, "s16");
    add_integral<std::uint32_t>(table, "u32");
    add_integral<std::int32_t>(table, "s32");
    add_integral<std::uint64_t>(table, "u64");
    add_integral<std::int64_t>(table, "s64");
    add_float_forms<false, false>(table, "");
    add_float_forms<false, true>(table, ".sat");
    add_float_forms<true, false>(table, ".ftz");
    add_float_forms<true, true>(table, ".ftz.sat");
}

}  // namespace simt
