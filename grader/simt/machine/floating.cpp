// Floating point, f32 and f64, as the PTX ISA 9.1 defines it (section 9.7.3).
//
// Exact forms give the bits that IEEE 754 defines. A NaN is 0x7fffffff (f32) or, since PTX leaves that open for f64,
// the one that an H200 gives. The .approx forms are computed to within half an ulp by the host's library, which lies
// inside the error that PTX states for each.
#include <array>
#include <bit>
#include <cmath>

#include "elementwise.hpp"
#include "operations.hpp"
#include "rounding.hpp"

namespace simt {
namespace {

double quieted(double nan) {
    return std::bit_cast<double>(std::bit_cast<std::uint64_t>(nan) | std::uint64_t{1} << 51);
}

// Of NaNs among the operands of f64 the last one comes out, of a quotient's the first.
template <class F>
constexpr bool kFirstNan = false;

template <class F, class... Args>
double with_nan_of(double result, Args... args) {
    if (result == result) return result;
    bool found = false;
    const auto look = [&](double a) {
        if (a != a && !(kFirstNan<F> && found)) result = quieted(a), found = true;
    };
    (look(args), ...);
    return result;
}

// Wraps a function of floats: .ftz on the way in and out, .sat, the NaN.
template <class T, class F, bool Flush, bool Saturate>
struct Arithmetic {
    template <class... Args>
    T operator()(Args... args) const {
        T result = Flush ? flushed(F{}(flushed(args)...)) : F{}(args...);
        if (Saturate) return saturated(result);
        if constexpr (sizeof(T) == 8) return with_nan_of<F>(result, args...);
        return canonical(result);
    }
};

template <Round Mode>
struct Add {
    template <class T>
    T operator()(T a, T b) const {
        return add<Mode>(a, b);
    }
};
template <Round Mode>
struct Subtract {
    template <class T>
    T operator()(T a, T b) const {
        return add<Mode>(a, -b);
    }
};
template <Round Mode>
struct Multiply {
    template <class T>
    T operator()(T a, T b) const {
        return multiply<Mode>(a, b);
    }
};
template <Round Mode>
struct Fused {
    template <class T>
    T operator()(T a, T b, T c) const {
        return fused<Mode>(a, b, c);
    }
};
template <Round Mode>
struct Divide {
    template <class T>
    T operator()(T a, T b) const {
        return divide<Mode>(a, b);
    }
};
template <Round Mode>
constexpr bool kFirstNan<Divide<Mode>> = true;
template <Round Mode>
struct Reciprocal {
    template <class T>
    T operator()(T a) const {
        return divide<Mode>(T{1}, a);
    }
};
template <Round Mode>
struct SquareRoot {
    template <class T>
    T operator()(T a) const {
        return square_root<Mode>(a);
    }
};

// A NaN loses to a number; -0 lies below +0.
struct Least {
    template <class T>
    T operator()(T a, T b) const {
        if (a != a) return b;
        if (b != b) return a;
        return a < b || (a == b && std::signbit(a)) ? a : b;
    }
};
struct Most {
    template <class T>
    T operator()(T a, T b) const {
        if (a != a) return b;
        if (b != b) return a;
        return a > b || (a == b && !std::signbit(a)) ? a : b;
    }
};
// With .NaN it wins.
struct LeastOrNan {
    template <class T>
    T operator()(T a, T b) const {
        return a != a ? a : b != b ? b : Least{}(a, b);
    }
};
struct MostOrNan {
    template <class T>
    T operator()(T a, T b) const {
        return a != a ? a : b != b ? b : Most{}(a, b);
    }
};

// .approx functions
struct Exp2 {
    float operator()(float a) const { return std::exp2(a); }
};
struct Log2 {
    float operator()(float a) const { return std::log2(a); }
};
struct Sine {
    float operator()(float a) const { return static_cast<float>(std::sin(static_cast<double>(a))); }
};
struct Cosine {
    float operator()(float a) const { return static_cast<float>(std::cos(static_cast<double>(a))); }
};
struct Tanh {
    float operator()(float a) const { return std::tanh(a); }
};
struct ReciprocalRoot {
    template <class T>
    T operator()(T a) const {
        return static_cast<T>(1.0 / std::sqrt(static_cast<double>(a)));
    }
};
// Of an f64 the upper word alone is looked at, and made.
template <class F>
struct UpperWord {
    static double upper(double a) { return std::bit_cast<double>(std::bit_cast<std::uint64_t>(a) >> 32 << 32); }
    double operator()(double a) const {
        const double result = flushed(F{}(flushed(upper(a))));
        return upper(result != result ? std::bit_cast<double>(kNan64) : result);
    }
};
struct ApproximateDivide {  // div.approx: a * (1/b), where 1/b is 0 for 2^126 < |b|: NaN for infinity over that
    float operator()(float a, float b) const {
        return std::abs(b) > 0x1p126f && std::isfinite(b) ? a * std::copysign(0.0f, b) : a / b;
    }
};

struct Negate {
    template <class T>
    T operator()(T a) const {
        return -a;
    }
};
struct Absolute {
    template <class T>
    T operator()(T a) const {
        return std::abs(a);
    }
};
template <class T>
struct CopySign {  // sign of a, magnitude of b
    T operator()(T a, T b) const { return std::copysign(b, a); }
};
template <class T>
void test_property(Warp& warp, const Instruction& instruction, bool (*holds)(T)) {
    const T* a = warp.source<T>(instruction.operand[1]);
    LaneMask result = 0;
    for (int lane = 0; lane < kLanes; ++lane) result |= static_cast<LaneMask>(holds(a[lane])) << lane;
    warp.set_predicate(instruction.operand[0], result);
}
template <class T, int Property>
void test(Warp& warp, const Instruction& instruction) {
    test_property<T>(warp, instruction, [](T a) -> bool {
        switch (Property) {
            case 0:
                return std::isfinite(a);
            case 1:
                return std::isinf(a);
            case 2:
                return a == a;
            case 3:
                return a != a;
            case 4:
                return std::isnormal(a) || a == 0;
            default:
                return std::fpclassify(a) == FP_SUBNORMAL;
        }
    });
}

template <class T>
constexpr std::string_view slots(std::size_t sources) {
    return (sizeof(T) == 8 ? std::string_view("WRRR") : std::string_view("wrrr")).substr(0, sources + 1);
}

template <int Sources, class T, class F, bool Flush, bool Saturate>
void add_form(OperationTable& table, std::string_view name, std::string_view tail) {
    using A = Arithmetic<T, F, Flush, Saturate>;
    if constexpr (Sources == 1)
        table.add({name, tail}, slots<T>(1), unary<T, T, A>);
    else if constexpr (Sources == 2)
        table.add({name, tail}, slots<T>(2), binary<T, T, T, A>);
    else
        table.add({name, tail}, slots<T>(3), ternary<T, T, T, T, A>);
}

// name and name.ftz for f32, name for f64, which has no .ftz.
template <int Sources, class F>
void add_both(OperationTable& table, std::string_view name) {
    add_form<Sources, float, F, false, false>(table, name, ".f32");
    add_form<Sources, float, F, true, false>(table, name, ".ftz.f32");
    add_form<Sources, double, F, false, false>(table, name, ".f64");
}

// .sat is for f32 alone, and for sums and products.
template <int Sources, class F, bool Saturates>
void add_rounding(OperationTable& table, std::string_view name) {
    add_both<Sources, F>(table, name);
    if constexpr (Saturates) {
        add_form<Sources, float, F, false, true>(table, name, ".sat.f32");
        add_form<Sources, float, F, true, true>(table, name, ".ftz.sat.f32");
    }
}

template <int Sources, template <Round> class F, bool Saturates>
void add_roundings(OperationTable& table, std::string_view name) {
    add_rounding<Sources, F<Round::nearest>, Saturates>(table, name);
    add_rounding<Sources, F<Round::zero>, Saturates>(table, std::string(name) + ".rz");
    add_rounding<Sources, F<Round::down>, Saturates>(table, std::string(name) + ".rm");
    add_rounding<Sources, F<Round::up>, Saturates>(table, std::string(name) + ".rp");
}

// An approximation that is computed exactly, or nearly so, by F.
template <int Sources, class F>
void add_approximate(OperationTable& table, std::string_view name) {
    add_form<Sources, float, F, false, false>(table, name, ".approx.f32");
    add_form<Sources, float, F, true, false>(table, name, ".approx.ftz.f32");
}

template <int Property>
void add_test(OperationTable& table, std::string_view name) {
    table.add({"testp.", name, ".f32"}, "Pr", test<float, Property>);
    table.add({"testp.", name, ".f64"}, "PR", test<double, Property>);
}

#if !defined(__FMA__) && !defined(__aarch64__)
// fma.f32 where the processor has none: what matrix products consist of. Product and sum in double are right unless the
// sum falls on the middle between two floats, where the first rounding may have decided, or below the normal floats;
// those few go the long way. Twice as fast as rounding to odd for all lanes.
void fuse_in_double(Warp& warp, const Instruction& instruction) {
    const auto* a = warp.source<float>(instruction.operand[1]);
    const auto* b = warp.source<float>(instruction.operand[2]);
    const auto* c = warp.source<float>(instruction.operand[3]);
    alignas(64) std::array<float, kLanes> result;
    std::uint32_t unsure = 0;
    for (int lane = 0; lane < kLanes; ++lane) {
        const double sum = static_cast<double>(a[lane]) * b[lane] + c[lane];
        const auto bits = std::bit_cast<std::uint64_t>(sum);
        const auto low = static_cast<std::uint32_t>(bits), high = static_cast<std::uint32_t>(bits >> 32) & 0x7fffffff;
        unsure |= (low & 0x1fffffff) == 0x10000000 ? 1 : 0;
        unsure |= high - 1 < 0x380fffff ? 1 : 0;  // 0 < |sum| < 2^-126
        result[static_cast<std::size_t>(lane)] = canonical(static_cast<float>(sum));
    }
    if (unsure)
        ternary<float, float, float, float, Arithmetic<float, Fused<Round::nearest>, false, false>>(warp, instruction);
    else
        warp.assign(instruction.operand[0], result.data());
}
#endif

}  // namespace

void add_floating_operations(OperationTable& table) {
#if !defined(__FMA__) && !defined(__aarch64__)
    table.add("fma.f32", "wrrr", fuse_in_double);  // before the general one
#endif
    add_roundings<2, Add, true>(table, "add");
    add_roundings<2, Subtract, true>(table, "sub");
    add_roundings<2, Multiply, true>(table, "mul");
    add_roundings<3, Fused, true>(table, "fma");
    add_roundings<2, Divide, false>(table, "div");
    add_roundings<1, Reciprocal, false>(table, "rcp");
    add_roundings<1, SquareRoot, false>(table, "sqrt");
    add_both<2, Least>(table, "min");
    add_both<2, Most>(table, "max");
    add_form<2, float, LeastOrNan, false, false>(table, "min", ".NaN.f32");
    add_form<2, float, LeastOrNan, true, false>(table, "min", ".ftz.NaN.f32");
    add_form<2, float, MostOrNan, false, false>(table, "max", ".NaN.f32");
    add_form<2, float, MostOrNan, true, false>(table, "max", ".ftz.NaN.f32");
    add_approximate<1, Exp2>(table, "ex2");
    add_approximate<1, Log2>(table, "lg2");
    add_approximate<1, Sine>(table, "sin");
    add_approximate<1, Cosine>(table, "cos");
    add_approximate<1, ReciprocalRoot>(table, "rsqrt");
    add_approximate<1, Reciprocal<Round::nearest>>(table, "rcp");
    add_approximate<1, SquareRoot<Round::nearest>>(table, "sqrt");
    add_approximate<2, ApproximateDivide>(table, "div");
    add_form<1, float, Tanh, false, false>(table, "tanh.approx", ".f32");
    add_form<2, float, Divide<Round::nearest>, false, false>(table, "div.full", ".f32");
    add_form<2, float, Divide<Round::nearest>, true, false>(table, "div.full.ftz", ".f32");
    add_form<1, double, ReciprocalRoot, false, false>(table, "rsqrt.approx", ".f64");
    table.add("rsqrt.approx.ftz.f64", "WR", unary<double, double, UpperWord<ReciprocalRoot>>);
    table.add("rcp.approx.ftz.f64", "WR", unary<double, double, UpperWord<Reciprocal<Round::nearest>>>);
    add_both<1, Negate>(table, "neg");
    add_both<1, Absolute>(table, "abs");
    table.add("copysign.f32", "wrr", binary<float, float, float, CopySign<float>>);
    table.add("copysign.f64", "WRR", binary<double, double, double, CopySign<double>>);
    add_test<0>(table, "finite");
    add_test<1>(table, "infinite");
    add_test<2>(table, "number");
    add_test<3>(table, "notanumber");
    add_test<4>(table, "normal");
    add_test<5>(table, "subnormal");
}

}  // namespace simt
