// Sixteen-bit floats: f16 and bf16, alone and in pairs (PTX ISA 9.1, sections 9.7.4 and 9.7.9.23).
//
// Each operation is done in double and rounded once: a product of two such numbers is exact there, and what a sum loses
// is kept as "round to odd" (rounding.hpp), so that the last rounding is the only one.
#include "half.hpp"

#include <bit>
#include <cmath>

#include "elementwise.hpp"
#include "operations.hpp"
#include "rounding.hpp"

namespace simt {
namespace {

struct Sum {
    double operator()(double a, double b) const { return a + b; }
};
struct Difference {
    double operator()(double a, double b) const { return a - b; }
};
struct Product {
    double operator()(double a, double b) const { return a * b; }
};
struct FusedProduct {
    double operator()(double a, double b, double c) const {
        double error = 0;
        const double sum = two_sum(a * b, c, error);  // the product is exact
        return std::isfinite(sum) ? to_odd(sum, error) : sum;
    }
};
struct Smaller {
    double operator()(double a, double b) const {
        if (a != a || b != b) return a != a ? b : a;
        return a < b || (a == b && std::signbit(a)) ? a : b;
    }
};
struct Larger {
    double operator()(double a, double b) const {
        if (a != a || b != b) return a != a ? b : a;
        return a > b || (a == b && !std::signbit(a)) ? a : b;
    }
};

struct SmallerOrNan {
    double operator()(double a, double b) const { return a != a ? a : b != b ? b : Smaller{}(a, b); }
};
struct LargerOrNan {
    double operator()(double a, double b) const { return a != a ? a : b != b ? b : Larger{}(a, b); }
};
// Both can be done before the result is rounded, since 0 and 1 stay what they are.
template <class Operation>
struct Saturated {  // .sat
    template <class... Args>
    double operator()(Args... args) const {
        return saturated(Operation{}(args...));
    }
};
template <class Operation>
struct NotNegative {  // .relu: a NaN stays one
    template <class... Args>
    double operator()(Args... args) const {
        const double result = Operation{}(args...);
        return result <= 0 ? 0 : result;
    }
};
struct Same {
    double operator()(double a) const { return a; }
};

// .approx functions, rounded twice at most: far inside the error that PTX states
struct Exp2 {
    double operator()(double a) const { return std::exp2(static_cast<float>(a)); }
};
struct Exp2OfNormal {  // .ftz; where a result would be subnormal it is 0
    double operator()(double a) const {
        const double result = std::exp2(static_cast<float>(flushed(static_cast<float>(a))));
        return flushed(static_cast<float>(result));
    }
};
struct Tanh {
    double operator()(double a) const { return std::tanh(static_cast<float>(a)); }
};

// One number a register, or two.
template <class F, class Operation>
struct Single {
    template <class... Args>
    std::uint32_t operator()(Args... args) const {
        return bits_of<F>(Operation{}(value_of<F>(args & 0xffff)...));
    }
};
template <class F, class Operation>
struct Pair {
    template <class... Args>
    std::uint32_t operator()(Args... args) const {
        return Single<F, Operation>{}(args...) | Single<F, Operation>{}((args >> 16)...) << 16;
    }
};

template <class F, std::uint32_t Flip, std::uint32_t Keep>
struct SignBit {  // neg and abs
    std::uint32_t operator()(std::uint32_t a) const {
        return (a & 0x7fff) > F::infinity ? kNan16 : ((a & 0xffff) ^ Flip) & Keep;
    }
};
template <class F, std::uint32_t Flip, std::uint32_t Keep>
struct SignBits {
    std::uint32_t operator()(std::uint32_t a) const {
        return SignBit<F, Flip, Keep>{}(a) | SignBit<F, Flip, Keep>{}(a >> 16) << 16;
    }
};

template <class F>
struct ToFloat {
    float operator()(std::uint32_t a) const { return canonical(static_cast<float>(value_of<F>(a & 0xffff))); }
};
template <>
struct ToFloat<Bf16> {  // the upper half of an f32, whatever it holds
    float operator()(std::uint32_t a) const { return std::bit_cast<float>(a << 16); }
};
// From f64 a NaN keeps its sign and the upper bits of what it carries, as on an H200; PTX leaves that open.
template <class F>
struct HalfOfDouble {
    std::uint32_t operator()(double a) const {
        if (a == a) return bits_of<F>(a);
        constexpr std::uint64_t quiet = std::uint64_t{1} << (F::significand - 2);
        const auto bits = std::bit_cast<std::uint64_t>(a);
        const std::uint64_t kept = bits >> (53 - F::significand) & (quiet - 1);
        return static_cast<std::uint32_t>((bits >> 48 & kSign) | F::infinity | quiet | kept);
    }
};
template <class F, Round Mode, class Operation>
struct FromFloat {
    template <class T>
    std::uint32_t operator()(T a) const {
        return bits_of<F>(Operation{}(a), Mode);
    }
};
template <class F, Round Mode, class Operation>
struct FromTwoFloats {  // the first operand goes to the upper half
    std::uint32_t operator()(float a, float b) const {
        return FromFloat<F, Mode, Operation>{}(a) << 16 | FromFloat<F, Mode, Operation>{}(b);
    }
};
using U = std::uint32_t;

constexpr std::string_view kSources = "wrrr";

// An operation on single numbers and on pairs.
template <class F, class Operation, int Sources>
void add_form(OperationTable& table, std::string_view name, std::string_view type) {
    const std::string pair = std::string(type) + "x2";
    const std::string_view operands = kSources.substr(0, Sources + 1);
    if constexpr (Sources == 1) {
        table.add({name, ".", type}, operands, unary<U, U, Single<F, Operation>>);
        table.add({name, ".", pair}, operands, unary<U, U, Pair<F, Operation>>);
    } else if constexpr (Sources == 2) {
        table.add({name, ".", type}, operands, binary<U, U, U, Single<F, Operation>>);
        table.add({name, ".", pair}, operands, binary<U, U, U, Pair<F, Operation>>);
    } else {
        table.add({name, ".", type}, operands, ternary<U, U, U, U, Single<F, Operation>>);
        table.add({name, ".", pair}, operands, ternary<U, U, U, U, Pair<F, Operation>>);
    }
}

template <class F>
void add_arithmetic(OperationTable& table, std::string_view type) {
    add_form<F, Sum, 2>(table, "add", type);
    add_form<F, Difference, 2>(table, "sub", type);
    add_form<F, Product, 2>(table, "mul", type);
    add_form<F, FusedProduct, 3>(table, "fma", type);
    add_form<F, NotNegative<FusedProduct>, 3>(table, "fma.relu", type);
    add_form<F, Smaller, 2>(table, "min", type);
    add_form<F, Larger, 2>(table, "max", type);
    add_form<F, SmallerOrNan, 2>(table, "min.NaN", type);
    add_form<F, LargerOrNan, 2>(table, "max.NaN", type);
    add_form<F, Tanh, 1>(table, "tanh.approx", type);
    table.add({"neg.", type}, "wr", unary<U, U, SignBit<F, kSign, 0xffff>>);
    table.add({"neg.", type, "x2"}, "wr", unary<U, U, SignBits<F, kSign, 0xffff>>);
    table.add({"abs.", type}, "wr", unary<U, U, SignBit<F, 0, 0x7fff>>);
    table.add({"abs.", type, "x2"}, "wr", unary<U, U, SignBits<F, 0, 0x7fff>>);
    table.add({"cvt.f32.", type}, "wr", unary<float, U, ToFloat<F>>);
}

template <class F, Round Mode, class Operation>
void add_narrowing(OperationTable& table, std::string_view mode, std::string_view type) {
    table.add({"cvt.", mode, ".", type, ".f32"}, "wr", unary<U, float, FromFloat<F, Mode, Operation>>);
    table.add({"cvt.", mode, ".", type, "x2.f32"}, "wrr", binary<U, float, float, FromTwoFloats<F, Mode, Operation>>);
}
template <class F>
void add_narrowings(OperationTable& table, std::string_view type) {
    add_narrowing<F, Round::nearest, Same>(table, "rn", type);
    add_narrowing<F, Round::zero, Same>(table, "rz", type);
    add_narrowing<F, Round::nearest, NotNegative<Same>>(table, "rn.relu", type);
    add_narrowing<F, Round::zero, NotNegative<Same>>(table, "rz.relu", type);
}

}  // namespace

void add_half_operations(OperationTable& table) {
    add_arithmetic<F16>(table, "f16");
    add_arithmetic<Bf16>(table, "bf16");
    add_narrowings<F16>(table, "f16");
    add_narrowings<Bf16>(table, "bf16");
    // What f16 alone has.
    add_form<F16, Saturated<Sum>, 2>(table, "add.sat", "f16");
    add_form<F16, Saturated<Difference>, 2>(table, "sub.sat", "f16");
    add_form<F16, Saturated<Product>, 2>(table, "mul.sat", "f16");
    add_form<F16, Saturated<FusedProduct>, 3>(table, "fma.sat", "f16");
    add_form<F16, Exp2, 1>(table, "ex2.approx", "f16");
    add_form<Bf16, Exp2OfNormal, 1>(table, "ex2.approx.ftz", "bf16");
    table.add("cvt.rm.f16.f32", "wr", unary<U, float, FromFloat<F16, Round::down, Same>>);
    table.add("cvt.rp.f16.f32", "wr", unary<U, float, FromFloat<F16, Round::up, Same>>);
    table.add("cvt.rm.bf16.f32", "wr", unary<U, float, FromFloat<Bf16, Round::down, Same>>);
    table.add("cvt.rp.bf16.f32", "wr", unary<U, float, FromFloat<Bf16, Round::up, Same>>);
    table.add("cvt.rn.f16.f64", "wR", unary<U, double, HalfOfDouble<F16>>);
    table.add("cvt.rn.bf16.f64", "wR", unary<U, double, HalfOfDouble<Bf16>>);
}

}  // namespace simt
