// Sixteen-bit floats: f16 and bf16, alone and in pairs (PTX ISA 9.1, sections 9.7.4 and 9.7.9.23).
//
// Each operation is done in double and rounded once: a product of two such numbers is exact there, and what a sum loses
// is kept as "round to odd" (rounding.hpp), so that the last rounding is the only one.
#include "half.hpp"

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

template <std::uint32_t Flip, std::uint32_t Keep>
struct SignBits {  // neg and abs
    std::uint32_t operator()(std::uint32_t a) const { return (a ^ Flip) & Keep; }
};

template <class F>
struct ToFloat {
    float operator()(std::uint32_t a) const { return canonical(static_cast<float>(value_of<F>(a & 0xffff))); }
};
template <class F, bool TowardZero>
struct FromFloat {
    std::uint32_t operator()(float a) const { return bits_of<F>(a, TowardZero); }
};
template <class F>
struct FromTwoFloats {  // the first operand goes to the upper half
    std::uint32_t operator()(float a, float b) const { return bits_of<F>(a) << 16 | bits_of<F>(b); }
};
template <class F>
struct FromSigned {
    std::uint32_t operator()(std::uint32_t a) const { return bits_of<F>(static_cast<std::int32_t>(a)); }
};

using U = std::uint32_t;

template <class F>
void add_arithmetic(OperationTable& table, std::string_view type, std::string_view pair) {
    table.add({"add.", type}, "wrr", binary<U, U, U, Single<F, Sum>>);
    table.add({"add.", pair}, "wrr", binary<U, U, U, Pair<F, Sum>>);
    table.add({"sub.", type}, "wrr", binary<U, U, U, Single<F, Difference>>);
    table.add({"sub.", pair}, "wrr", binary<U, U, U, Pair<F, Difference>>);
    table.add({"mul.", type}, "wrr", binary<U, U, U, Single<F, Product>>);
    table.add({"mul.", pair}, "wrr", binary<U, U, U, Pair<F, Product>>);
    table.add({"fma.", type}, "wrrr", ternary<U, U, U, U, Single<F, FusedProduct>>);
    table.add({"fma.", pair}, "wrrr", ternary<U, U, U, U, Pair<F, FusedProduct>>);
    table.add({"min.", type}, "wrr", binary<U, U, U, Single<F, Smaller>>);
    table.add({"min.", pair}, "wrr", binary<U, U, U, Pair<F, Smaller>>);
    table.add({"max.", type}, "wrr", binary<U, U, U, Single<F, Larger>>);
    table.add({"max.", pair}, "wrr", binary<U, U, U, Pair<F, Larger>>);
    table.add({"neg.", type}, "wr", unary<U, U, SignBits<0x8000, 0xffff>>);
    table.add({"neg.", pair}, "wr", unary<U, U, SignBits<0x80008000, 0xffffffff>>);
    table.add({"abs.", type}, "wr", unary<U, U, SignBits<0, 0x7fff>>);
    table.add({"abs.", pair}, "wr", unary<U, U, SignBits<0, 0x7fff7fff>>);
    table.add({"cvt.f32.", type}, "wr", unary<float, U, ToFloat<F>>);
    table.add({"cvt.rn.", type, ".f32"}, "wr", unary<U, float, FromFloat<F, false>>);
    table.add({"cvt.rz.", type, ".f32"}, "wr", unary<U, float, FromFloat<F, true>>);
    table.add({"cvt.rn.", pair, ".f32"}, "wrr", binary<U, float, float, FromTwoFloats<F>>);
    table.add({"cvt.rn.", type, ".s32"}, "wr", unary<U, U, FromSigned<F>>);
}

}  // namespace

void add_half_operations(OperationTable& table) {
    add_arithmetic<F16>(table, "f16", "f16x2");
    add_arithmetic<Bf16>(table, "bf16", "bf16x2");
}

}  // namespace simt
