// Rounding: IEEE results in the four directions.
//
// An f32 result is carried as hi + lo in doubles, exact or with lo only telling on which side of hi the true value
// lies; one more step rounds it. So loops stay vectorisable and nothing depends on -frounding-math.
#pragma once

#include <bit>
#include <cfenv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace simt {

enum class Round : std::uint8_t { nearest, zero, down, up };

inline constexpr std::uint32_t kNan32 = 0x7fffffff;  // what every f32 operation gives for a NaN
inline constexpr std::uint64_t kNan64 = 0x7fffffffffffffff;

template <class T>
inline T canonical(T value) {
    if constexpr (sizeof(T) == 4)
        return value != value ? std::bit_cast<float>(kNan32) : value;
    else
        return value;  // f64 keeps its payload
}

template <class T>
inline T flushed(T value) {  // .ftz: subnormals become zero of the same sign
    return std::abs(value) < std::numeric_limits<T>::min() ? std::copysign(T{0}, value) : value;
}

template <class T>
inline T saturated(T value) {  // .sat: [0, 1], NaN becomes +0
    return value > T{0} ? (value < T{1} ? value : T{1}) : T{0};
}

// `nearest` is the true value rounded to nearest even; `below`/`above` say on which side of it the true value lies.
template <class T>
inline T directed(T nearest, bool below, bool above, Round mode) {
    if (nearest != nearest || (!below && !above)) return nearest;
    const bool down = mode == Round::down || (mode == Round::zero && (nearest > 0 || (nearest == 0 && above)));
    const bool up = mode == Round::up || (mode == Round::zero && (nearest < 0 || (nearest == 0 && below)));
    if (down && below) return std::nextafter(nearest, -std::numeric_limits<T>::infinity());
    if (up && above) return std::nextafter(nearest, std::numeric_limits<T>::infinity());
    return nearest;
}

// a + b and its exact error (Knuth's two-sum); valid unless something overflows.
inline double two_sum(double a, double b, double& error) {
    const double sum = a + b, b_part = sum - a, a_part = sum - b_part;
    error = (a - a_part) + (b - b_part);
    return sum;
}

// hi + lo, where |lo| is at most half an ulp of hi, rounded to odd: the last bit keeps that something was cut off, so
// that a second rounding, to fewer bits, comes out right. An even hi moves to its odd neighbour on the side of the true
// value.
inline double to_odd(double hi, double lo) {
    if (lo == 0 || !std::isfinite(hi)) return hi;
    auto bits = std::bit_cast<std::uint64_t>(hi);
    if ((bits & 1) == 0 && hi != 0) bits += (lo > 0) == (hi > 0) ? 1 : ~std::uint64_t{0};
    return std::bit_cast<double>(bits);
}

// Correctly rounded float of the exact value hi + lo, where |lo| is at most half an ulp of the double hi.
inline float narrow(double hi, double lo, Round mode) {
    hi = to_odd(hi, lo);
    const float nearest = static_cast<float>(hi);
    if (mode == Round::nearest) return nearest;
    if (std::isinf(nearest) && std::isfinite(hi)) {
        const bool away = mode == Round::up ? hi > 0 : mode == Round::down ? hi < 0 : false;
        return away ? nearest : std::copysign(std::numeric_limits<float>::max(), nearest);
    }
    return directed(nearest, hi<static_cast<double>(nearest), hi> static_cast<double>(nearest), mode);
}

template <Round Mode>
inline float add(float a, float b) {
    if constexpr (Mode == Round::nearest) {
        return a + b;
    } else {
        double error = 0;
        const double sum = two_sum(a, b, error);
        // An exact sum of zero is -0 only when rounding down (IEEE 754, 6.3), or when both are -0.
        if (sum == 0 && error == 0)
            return a == 0 && b == 0 && std::signbit(a) == std::signbit(b) ? a : Mode == Round::down ? -0.0f : 0.0f;
        return narrow(sum, error, Mode);
    }
}

template <Round Mode>
inline float multiply(float a, float b) {
    if constexpr (Mode == Round::nearest)
        return a * b;
    else
        return narrow(static_cast<double>(a) * b, 0, Mode);  // 48 bits: exact
}

template <Round Mode>
inline float fused(float a, float b, float c) {
#if defined(__FMA__) || defined(__aarch64__)
    if constexpr (Mode == Round::nearest) return __builtin_fmaf(a, b, c);
#endif
    double error = 0;
    const double product = static_cast<double>(a) * b, sum = two_sum(product, c, error);  // the product is exact
    if (sum == 0 && error == 0 && Mode != Round::nearest && std::isfinite(product)) {
        const bool same = product == 0 && c == 0 && std::signbit(product) == std::signbit(c);
        return same ? c : Mode == Round::down ? -0.0f : 0.0f;
    }
    return narrow(sum, std::isfinite(sum) ? error : 0, Mode);
}

template <Round Mode>
inline float divide(float a, float b) {
    const float nearest = a / b;
    if constexpr (Mode == Round::nearest) return nearest;
    if (!std::isfinite(nearest) && (std::isinf(a) || b == 0 || a != a || b != b)) return nearest;
    if (std::isinf(b)) return nearest;
    const double quotient = static_cast<double>(a) / b;
    const double rest =
        std::fma(-quotient, static_cast<double>(b), static_cast<double>(a));  // sign: of (true - quotient) * b
    return narrow(
        quotient,
        rest == 0 ? 0 : std::copysign(std::numeric_limits<double>::denorm_min(), (rest > 0) == (b > 0) ? 1.0 : -1.0),
        Mode);
}

template <Round Mode>
inline float square_root(float a) {
    if constexpr (Mode == Round::nearest) return std::sqrt(a);
    if (!(a > 0) || std::isinf(a)) return std::sqrt(a);
    const double root = std::sqrt(static_cast<double>(a));
    const double rest = std::fma(-root, root, static_cast<double>(a));
    return narrow(root, rest == 0 ? 0 : std::copysign(std::numeric_limits<double>::denorm_min(), rest), Mode);
}

// f64: the directed forms are rare in kernels, so each sets the processor's rounding mode for one operation. The
// volatile operands keep the compiler from computing it earlier, later, or at compile time.
template <Round Mode, class F>
inline double in_mode(F operation, double a, double b = 0, double c = 0) {
    if constexpr (Mode == Round::nearest) return operation(a, b, c);
    volatile double x = a, y = b, z = c;
    const int before = std::fegetround();
    std::fesetround(Mode == Round::zero ? FE_TOWARDZERO : Mode == Round::down ? FE_DOWNWARD : FE_UPWARD);
    volatile double result = operation(x, y, z);
    std::fesetround(before);
    return result;
}

template <Round Mode>
inline double add(double a, double b) {
    return in_mode<Mode>([](double x, double y, double) { return x + y; }, a, b);
}
template <Round Mode>
inline double multiply(double a, double b) {
    return in_mode<Mode>([](double x, double y, double) { return x * y; }, a, b);
}
template <Round Mode>
inline double fused(double a, double b, double c) {
    return in_mode<Mode>([](double x, double y, double z) { return std::fma(x, y, z); }, a, b, c);
}
template <Round Mode>
inline double divide(double a, double b) {
    return in_mode<Mode>([](double x, double y, double) { return x / y; }, a, b);
}
template <Round Mode>
inline double square_root(double a) {
    return in_mode<Mode>([](double x, double, double) { return std::sqrt(x); }, a);
}

}  // namespace simt
