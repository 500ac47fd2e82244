// Conversions: cvt between integers and floats (PTX ISA 9.1, section 9.7.9.23).
#include <cmath>
#include <limits>
#include <utility>

#include "elementwise.hpp"
#include "operations.hpp"
#include "rounding.hpp"

namespace simt {
namespace {

template <class T>
using SlotOf = std::conditional_t<std::is_floating_point_v<T>, T, std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>>;

template <class T>
constexpr char register_letter = sizeof(T) == 8 ? 'W' : 'w';

template <class To, class From>
std::string shape() {
    return std::string(1, register_letter<To>) + static_cast<char>(register_letter<From> == 'W' ? 'R' : 'r');
}

// A narrow result lies in a 32-bit slot: its bits, the upper half zero above 16.
template <class To>
SlotOf<To> slot(To value) {
    if constexpr (std::is_floating_point_v<To>) return value;
    else if constexpr (sizeof(To) == 1) return static_cast<std::uint16_t>(value);  // sign- or zero-extended to 16 bits
    else return static_cast<SlotOf<To>>(static_cast<std::make_unsigned_t<To>>(value));
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
    if constexpr (Mode == Round::nearest) return std::nearbyint(a);  // the host's mode is to nearest even
    else if constexpr (Mode == Round::zero) return std::trunc(a);
    else if constexpr (Mode == Round::down) return std::floor(a);
    else return std::ceil(a);
}

template <class To, class From, Round Mode, bool Flush>
struct FloatToInteger {
    SlotOf<To> operator()(From a) const {
        using L = std::numeric_limits<To>;
        if (a != a)  // 0, or 1 << (w - 1) where one side has 64 bits
            return sizeof(From) == 8 || sizeof(To) == 8 ? SlotOf<To>{1} << (8 * sizeof(To) - 1) : 0;
        const From whole = to_integral<Mode>(Flush ? flushed(a) : a);
        // 2^digits is exact in either format, the largest integer is not.
        if (whole >= std::ldexp(From{1}, L::digits)) return slot<To>(L::max());
        if (whole < static_cast<From>(L::min())) return slot<To>(L::min());
        return slot<To>(static_cast<To>(whole));
    }
};

template <class To, class From, Round Mode>
struct IntegerToFloat {
    To operator()(SlotOf<From> raw) const {
        const From a = static_cast<From>(raw);
        const To nearest = static_cast<To>(a);
        if constexpr (Mode == Round::nearest || sizeof(From) * 8 <= std::numeric_limits<To>::digits) return nearest;
        else {
            // Compare in integers: nearest is integral, and only 2^w itself lies outside From.
            const bool over = nearest >= std::ldexp(To{1}, std::numeric_limits<From>::digits);
            const From back = over ? std::numeric_limits<From>::max() : static_cast<From>(nearest);
            return directed(nearest, over || back > a, !over && back < a, Mode);
        }
    }
};

template <Round Mode, bool Flush, bool Saturate>
struct Narrow {  // f64 -> f32
    float operator()(double a) const {
        float result = narrow(a, 0, Mode);
        if (Flush) result = flushed(result);
        return Saturate ? saturated(result) : canonical(result);
    }
};
template <bool Flush, bool Saturate>
struct Widen {  // f32 -> f64
    double operator()(float a) const {
        const double result = Flush ? flushed(a) : a;
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
        const T result = Flush ? flushed(a) : a;
        return Saturate ? saturated(result) : canonical(result);
    }
};

struct Mode {
    static constexpr const char* names[4] = {"n", "z", "m", "p"};
};

template <class To, class From>
void add_integer_pair(OperationTable& table, const std::string& types) {
    table.add("cvt" + types, shape<To, From>(), unary<SlotOf<To>, SlotOf<From>, Integer<To, From>>);
    table.add("cvt.sat" + types, shape<To, From>(), unary<SlotOf<To>, SlotOf<From>, Clamped<To, From>>);
}

template <class To, class From, Round M>
void add_float_to_integer(OperationTable& table, const std::string& types) {
    const std::string name = std::string("cvt.r") + Mode::names[static_cast<int>(M)] + "i";
    table.add(name + types, shape<To, From>(), unary<SlotOf<To>, From, FloatToInteger<To, From, M, false>>);
    table.add(name + ".sat" + types, shape<To, From>(), unary<SlotOf<To>, From, FloatToInteger<To, From, M, false>>);
    if constexpr (sizeof(From) == 4) {
        table.add(name + ".ftz" + types, shape<To, From>(), unary<SlotOf<To>, From, FloatToInteger<To, From, M, true>>);
        table.add(name + ".ftz.sat" + types, shape<To, From>(), unary<SlotOf<To>, From, FloatToInteger<To, From, M, true>>);
    }
}

template <class Integral, class Float, Round M>
void add_mode(OperationTable& table, const std::string& integral, const std::string& real) {
    add_float_to_integer<Integral, Float, M>(table, "." + integral + "." + real);
    const std::string name = std::string("cvt.r") + Mode::names[static_cast<int>(M)];
    table.add(name + "." + real + "." + integral, shape<Float, Integral>(), unary<Float, SlotOf<Integral>, IntegerToFloat<Float, Integral, M>>);
}

template <class Integral>
void add_integral(OperationTable& table, const std::string& name) {
    add_integer_pair<Integral, std::uint8_t>(table, "." + name + ".u8");
    add_integer_pair<Integral, std::int8_t>(table, "." + name + ".s8");
    add_integer_pair<Integral, std::uint16_t>(table, "." + name + ".u16");
    add_integer_pair<Integral, std::int16_t>(table, "." + name + ".s16");
    add_integer_pair<Integral, std::uint32_t>(table, "." + name + ".u32");
    add_integer_pair<Integral, std::int32_t>(table, "." + name + ".s32");
    add_integer_pair<Integral, std::uint64_t>(table, "." + name + ".u64");
    add_integer_pair<Integral, std::int64_t>(table, "." + name + ".s64");
    const auto modes = [&]<class Float>(Float, const std::string& real) {
        add_mode<Integral, Float, Round::nearest>(table, name, real);
        add_mode<Integral, Float, Round::zero>(table, name, real);
        add_mode<Integral, Float, Round::down>(table, name, real);
        add_mode<Integral, Float, Round::up>(table, name, real);
    };
    modes(float{}, "f32");
    modes(double{}, "f64");
}

template <class T, Round M, bool Flush, bool Saturate>
void add_integral_rounding(OperationTable& table, const std::string& type) {
    const std::string name = std::string("cvt.r") + Mode::names[static_cast<int>(M)] + "i" + (Flush ? ".ftz" : "") + (Saturate ? ".sat" : "");
    table.add(name + "." + type + "." + type, shape<T, T>(), unary<T, T, RoundToIntegral<T, M, Flush, Saturate>>);
}

template <bool Flush, bool Saturate>
void add_float_forms(OperationTable& table) {
    const std::string tail = std::string(Flush ? ".ftz" : "") + (Saturate ? ".sat" : "");
    table.add("cvt" + tail + ".f32.f32", "wr", unary<float, float, SameFloat<float, Flush, Saturate>>);
    table.add("cvt" + tail + ".f64.f32", "Wr", unary<double, float, Widen<Flush, Saturate>>);
    table.add("cvt.rn" + tail + ".f32.f64", "wR", unary<float, double, Narrow<Round::nearest, Flush, Saturate>>);
    table.add("cvt.rz" + tail + ".f32.f64", "wR", unary<float, double, Narrow<Round::zero, Flush, Saturate>>);
    table.add("cvt.rm" + tail + ".f32.f64", "wR", unary<float, double, Narrow<Round::down, Flush, Saturate>>);
    table.add("cvt.rp" + tail + ".f32.f64", "wR", unary<float, double, Narrow<Round::up, Flush, Saturate>>);
    add_integral_rounding<float, Round::nearest, Flush, Saturate>(table, "f32");
    add_integral_rounding<float, Round::zero, Flush, Saturate>(table, "f32");
    add_integral_rounding<float, Round::down, Flush, Saturate>(table, "f32");
    add_integral_rounding<float, Round::up, Flush, Saturate>(table, "f32");
    if constexpr (!Flush) {
        table.add("cvt" + tail + ".f64.f64", "WR", unary<double, double, SameFloat<double, false, Saturate>>);
        add_integral_rounding<double, Round::nearest, false, Saturate>(table, "f64");
        add_integral_rounding<double, Round::zero, false, Saturate>(table, "f64");
        add_integral_rounding<double, Round::down, false, Saturate>(table, "f64");
        add_integral_rounding<double, Round::up, false, Saturate>(table, "f64");
    }
}

}  // namespace

void add_convert_operations(OperationTable& table) {
    add_integral<std::uint8_t>(table, "u8");
    add_integral<std::int8_t>(table, "s8");
    add_integral<std::uint16_t>(table, "u16");
    add_integral<std::int16_t>(table, "s16");
    add_integral<std::uint32_t>(table, "u32");
    add_integral<std::int32_t>(table, "s32");
    add_integral<std::uint64_t>(table, "u64");
    add_integral<std::int64_t>(table, "s64");
    add_float_forms<false, false>(table);
    add_float_forms<false, true>(table);
    add_float_forms<true, false>(table);
    add_float_forms<true, true>(table);
}

}  // namespace simt
