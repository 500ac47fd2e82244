// Integer arithmetic and logic, as the PTX ISA 9.1 defines it (sections 9.7.1 to 9.7.2 and 9.7.8).
//
// 16-bit values live in 32-bit slots whose upper half is zero.
#include <algorithm>
#include <bit>
#include <limits>

#include "elementwise.hpp"
#include "operations.hpp"

namespace simt {
namespace {

template <class T>
struct Slot {  // the register type that holds a T
    using type = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;
};
template <class T>
using SlotOf = typename Slot<T>::type;

// Runs F on Ts and keeps a narrow result's upper half zero.
template <class T, class F>
struct Typed {
    using S = SlotOf<T>;
    S operator()(S a) const { return keep(F{}(static_cast<T>(a))); }
    S operator()(S a, S b) const { return keep(F{}(static_cast<T>(a), static_cast<T>(b))); }
    S operator()(S a, S b, S c) const { return keep(F{}(static_cast<T>(a), static_cast<T>(b), static_cast<T>(c))); }

  private:
    static S keep(auto value) { return static_cast<S>(static_cast<std::make_unsigned_t<T>>(value)); }
};

template <class T>
constexpr std::string_view registers(std::string_view narrow, std::string_view wide) {
    return sizeof(T) == 8 ? wide : narrow;
}

template <class T, class F>
void add_unary(OperationTable& table, std::initializer_list<std::string_view> name) {
    table.add(name, registers<T>("wr", "WR"), unary<SlotOf<T>, SlotOf<T>, Typed<T, F>>);
}
template <class T, class F>
void add_binary(OperationTable& table, std::initializer_list<std::string_view> name) {
    table.add(name, registers<T>("wrr", "WRR"), binary<SlotOf<T>, SlotOf<T>, SlotOf<T>, Typed<T, F>>);
}
template <class T, class F>
void add_ternary(OperationTable& table, std::initializer_list<std::string_view> name) {
    table.add(name, registers<T>("wrrr", "WRRR"), ternary<SlotOf<T>, SlotOf<T>, SlotOf<T>, SlotOf<T>, Typed<T, F>>);
}

// Sums and products wrap: computed unsigned, and wide enough that 16-bit operands are not promoted to int.
template <class T>
using Wrap = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;

struct Add {
    template <class T>
    T operator()(T a, T b) const {
        return static_cast<T>(Wrap<T>(a) + Wrap<T>(b));
    }
};
struct Subtract {
    template <class T>
    T operator()(T a, T b) const {
        return static_cast<T>(Wrap<T>(a) - Wrap<T>(b));
    }
};
struct MultiplyLow {
    template <class T>
    T operator()(T a, T b) const {
        return static_cast<T>(Wrap<T>(a) * Wrap<T>(b));
    }
};
struct MultiplyAddLow {
    template <class T>
    T operator()(T a, T b, T c) const {
        return static_cast<T>(Wrap<T>(a) * Wrap<T>(b) + Wrap<T>(c));
    }
};

__extension__ typedef __int128 Signed128;
__extension__ typedef unsigned __int128 Unsigned128;

template <class T>
T high_product(T a, T b) {
    if constexpr (sizeof(T) == 8) {
        using Big = std::conditional_t<std::is_signed_v<T>, Signed128, Unsigned128>;
        return static_cast<T>(static_cast<Big>(a) * b >> 64);
    } else {
        return static_cast<T>(static_cast<std::int64_t>(a) * static_cast<std::int64_t>(b) >> (8 * sizeof(T)));
    }
}
template <>
std::uint32_t high_product(std::uint32_t a, std::uint32_t b) {
    return static_cast<std::uint32_t>(static_cast<std::uint64_t>(a) * b >> 32);
}

struct MultiplyHigh {
    template <class T>
    T operator()(T a, T b) const {
        return high_product(a, b);
    }
};
struct MultiplyAddHigh {
    template <class T>
    T operator()(T a, T b, T c) const {
        return static_cast<T>(Wrap<T>(high_product(a, b)) + Wrap<T>(c));
    }
};

template <class From, class To>
struct MultiplyWide {
    SlotOf<To> operator()(std::uint32_t a, std::uint32_t b) const {
        return static_cast<SlotOf<To>>(static_cast<To>(static_cast<From>(a)) * static_cast<To>(static_cast<From>(b)));
    }
};
template <class From, class To>
struct MultiplyAddWide {
    SlotOf<To> operator()(std::uint32_t a, std::uint32_t b, SlotOf<To> c) const {
        return MultiplyWide<From, To>{}(a, b) + c;
    }
};

// 24-bit products: only the low 24 bits of each operand count.
template <class T>
struct Multiply24 {
    static std::int64_t low24(std::uint32_t a) {
        return std::is_signed_v<T> ? static_cast<std::int32_t>(a << 8) >> 8 : static_cast<std::int64_t>(a & 0xffffff);
    }
    std::uint32_t operator()(std::uint32_t a, std::uint32_t b) const {
        return static_cast<std::uint32_t>(low24(a) * low24(b));
    }
};

// Division by zero is unspecified in PTX. An H200 gives all ones, as the quotient and as the remainder.
struct Divide {
    template <class T>
    T operator()(T a, T b) const {
        if (b == 0) return static_cast<T>(~T{0});
        if constexpr (std::is_signed_v<T>)
            if (b == T(-1)) return static_cast<T>(Wrap<T>(0) - Wrap<T>(a));
        return static_cast<T>(a / b);
    }
};
struct Remainder {
    template <class T>
    T operator()(T a, T b) const {
        if (b == 0) return static_cast<T>(~T{0});
        if constexpr (std::is_signed_v<T>)
            if (b == T(-1)) return 0;
        return static_cast<T>(a % b);
    }
};

struct Least {
    template <class T>
    T operator()(T a, T b) const {
        return std::min(a, b);
    }
};
struct Most {
    template <class T>
    T operator()(T a, T b) const {
        return std::max(a, b);
    }
};
struct Absolute {
    template <class T>
    T operator()(T a) const {
        return a < 0 ? static_cast<T>(Wrap<T>(0) - Wrap<T>(a)) : a;
    }
};
struct Negate {
    template <class T>
    T operator()(T a) const {
        return static_cast<T>(Wrap<T>(0) - Wrap<T>(a));
    }
};
struct SumOfDifference {  // sad: c + |a - b|
    template <class T>
    T operator()(T a, T b, T c) const {
        return static_cast<T>(Wrap<T>(c) + (a < b ? Wrap<T>(b) - Wrap<T>(a) : Wrap<T>(a) - Wrap<T>(b)));
    }
};

struct And {
    template <class T>
    T operator()(T a, T b) const {
        return a & b;
    }
};
struct Or {
    template <class T>
    T operator()(T a, T b) const {
        return a | b;
    }
};
struct Xor {
    template <class T>
    T operator()(T a, T b) const {
        return a ^ b;
    }
};
struct Not {
    template <class T>
    T operator()(T a) const {
        return static_cast<T>(~a);
    }
};
struct IsZero {  // cnot
    template <class T>
    T operator()(T a) const {
        return a == 0;
    }
};

// Shifts clamp: an amount of the register's width or more shifts everything out.
template <class T>
struct ShiftLeft {
    SlotOf<T> operator()(SlotOf<T> a, std::uint32_t n) const {
        return n >= 8 * sizeof(T) ? 0 : static_cast<SlotOf<T>>(static_cast<std::make_unsigned_t<T>>(a << n));
    }
};
template <class T>
struct ShiftRight {
    SlotOf<T> operator()(SlotOf<T> a, std::uint32_t n) const {
        constexpr std::uint32_t width = 8 * sizeof(T);
        const T value = static_cast<T>(a);
        const T shifted = n >= width ? static_cast<T>(value < 0 ? -1 : 0) : static_cast<T>(value >> n);
        return static_cast<SlotOf<T>>(static_cast<std::make_unsigned_t<T>>(shifted));
    }
};

template <bool Left, bool Clamp>
struct FunnelShift {
    std::uint32_t operator()(std::uint32_t low, std::uint32_t high, std::uint32_t n) const {
        n = Clamp ? std::min(n, 32u) : n & 31;
        const std::uint64_t both = static_cast<std::uint64_t>(high) << 32 | low;
        return static_cast<std::uint32_t>(Left ? (both << n) >> 32 : both >> n);
    }
};

template <class T>
struct CountOnes {
    std::uint32_t operator()(T a) const { return static_cast<std::uint32_t>(std::popcount(a)); }
};
template <class T>
struct LeadingZeros {
    std::uint32_t operator()(T a) const { return static_cast<std::uint32_t>(std::countl_zero(a)); }
};
template <class T, bool ShiftAmount>
struct FindLeadingOne {  // bfind: place of the highest bit that differs from the sign, all ones when there is none
    std::uint32_t operator()(SlotOf<T> raw) const {
        using U = std::make_unsigned_t<T>;
        U value = static_cast<U>(raw);
        if (std::is_signed_v<T> && static_cast<T>(value) < 0) value = static_cast<U>(~value);
        if (value == 0) return ~0u;
        const auto zeros = static_cast<std::uint32_t>(std::countl_zero(value));
        return ShiftAmount ? zeros : static_cast<std::uint32_t>(8 * sizeof(T)) - 1 - zeros;
    }
};
template <class T>
struct ReverseBits {
    T operator()(T a) const {
        T result = 0;
        for (std::size_t i = 0; i < 8 * sizeof(T); ++i) result |= ((a >> i) & 1) << (8 * sizeof(T) - 1 - i);
        return result;
    }
};

// bfe, bfi: position and length are 8-bit fields.
template <class T>
struct ExtractField {
    SlotOf<T> operator()(SlotOf<T> raw, std::uint32_t position, std::uint32_t length) const {
        constexpr std::uint32_t top = 8 * sizeof(T) - 1;
        position &= 0xff;
        length &= 0xff;
        const SlotOf<T> a = raw;
        const bool negative = std::is_signed_v<T> && length > 0 && (a >> std::min(position + length - 1, top) & 1);
        SlotOf<T> result = negative ? ~SlotOf<T>{0} : 0;
        for (std::uint32_t i = 0; i <= top; ++i) {
            if (i >= length || position + i > top) break;
            const SlotOf<T> bit = SlotOf<T>{1} << i;
            result = (a >> (position + i) & 1) ? result | bit : result & ~bit;
        }
        return result;
    }
};

template <class T>
void insert_field(Warp& warp, const Instruction& instruction) {
    const T* a = warp.source<T>(instruction.operand[1]);
    const T* b = warp.source<T>(instruction.operand[2]);
    const auto* position = warp.source<std::uint32_t>(instruction.operand[3]);
    const auto* length = warp.source<std::uint32_t>(instruction.operand[4]);
    std::array<T, kLanes> result;
    for (int lane = 0; lane < kLanes; ++lane) {
        T value = b[lane];
        const std::uint32_t from = position[lane] & 0xff, bits = length[lane] & 0xff;
        for (std::uint32_t i = 0; i < bits && from + i < 8 * sizeof(T); ++i) {
            const T bit = T{1} << (from + i);
            value = (a[lane] >> i & 1) ? value | bit : value & ~bit;
        }
        result[lane] = value;
    }
    warp.assign(instruction.operand[0], result.data());
}

// Carry chains: the condition code is a predicate, the carry. PTX speaks of a borrow behind subtractions; what an H200
// keeps is its complement, the carry of a + ~b + 1. That shows only where one chain both adds and subtracts.
template <class T, bool Minus>
void add_with_carry(Warp& warp, const Instruction& instruction, const T* a, const T* b, LaneMask carry_in,
                    bool carry_out) {
    std::array<T, kLanes> result;
    LaneMask carry = 0;
    for (int lane = 0; lane < kLanes; ++lane) {
        const Unsigned128 sum =
            static_cast<Unsigned128>(a[lane]) + static_cast<T>(Minus ? ~b[lane] : b[lane]) + (carry_in >> lane & 1);
        result[lane] = static_cast<T>(sum);
        carry |= static_cast<LaneMask>(sum >> (8 * sizeof(T)) & 1) << lane;
    }
    warp.assign(instruction.operand[0], result.data());
    if (carry_out) warp.set_predicate(instruction.operand[1], carry);
}

template <class T, bool Minus, bool In, bool Out>
void add_in_chain(Warp& warp, const Instruction& instruction) {
    const std::uint32_t* operand = instruction.operand + (Out ? 2 : 1);
    add_with_carry<T, Minus>(warp, instruction, warp.source<T>(operand[0]), warp.source<T>(operand[1]),
                             In ? warp.predicate(operand[2]) : LaneMask{Minus ? kAllLanes : 0}, Out);
}

// mad: one half of a product, plus c.
template <class T, bool High, bool In, bool Out>
void multiply_in_chain(Warp& warp, const Instruction& instruction) {
    using U = std::make_unsigned_t<T>;
    const std::uint32_t* operand = instruction.operand + (Out ? 2 : 1);
    const U* a = warp.source<U>(operand[0]);
    const U* b = warp.source<U>(operand[1]);
    std::array<U, kLanes> half;
    for (int lane = 0; lane < kLanes; ++lane)
        half[lane] = static_cast<U>(
            High ? static_cast<U>(high_product(static_cast<T>(a[lane]), static_cast<T>(b[lane]))) : a[lane] * b[lane]);
    add_with_carry<U, false>(warp, instruction, half.data(), warp.source<U>(operand[2]),
                             In ? warp.predicate(operand[3]) : 0, Out);
}

template <class T, bool High>
void add_product_carries(OperationTable& table, std::string_view half, std::string_view type) {
    table.add({"mad.", half, ".cc.", type}, registers<T>("wPrrr", "WPRRR"), multiply_in_chain<T, High, false, true>);
    table.add({"madc.", half, ".cc.", type}, registers<T>("wPrrrp", "WPRRRp"), multiply_in_chain<T, High, true, true>);
    table.add({"madc.", half, ".", type}, registers<T>("wrrrp", "WRRRp"), multiply_in_chain<T, High, true, false>);
}

template <class T>
void add_carries(OperationTable& table, std::string_view type) {
    table.add({"add.cc.", type}, registers<T>("wPrr", "WPRR"), add_in_chain<T, false, false, true>);
    table.add({"sub.cc.", type}, registers<T>("wPrr", "WPRR"), add_in_chain<T, true, false, true>);
    table.add({"addc.cc.", type}, registers<T>("wPrrp", "WPRRp"), add_in_chain<T, false, true, true>);
    table.add({"subc.cc.", type}, registers<T>("wPrrp", "WPRRp"), add_in_chain<T, true, true, true>);
    table.add({"addc.", type}, registers<T>("wrrp", "WRRp"), add_in_chain<T, false, true, false>);
    table.add({"subc.", type}, registers<T>("wrrp", "WRRp"), add_in_chain<T, true, true, false>);
    add_product_carries<T, false>(table, "lo", type);
}

// .sat, which s32 alone has: the nearest number instead of a wrapped one.
std::uint32_t clamped(std::int64_t value) {
    using L = std::numeric_limits<std::int32_t>;
    return static_cast<std::uint32_t>(std::clamp<std::int64_t>(value, L::min(), L::max()));
}
std::int64_t wide(std::uint32_t a) {
    return static_cast<std::int32_t>(a);
}
struct AddSaturated {
    std::uint32_t operator()(std::uint32_t a, std::uint32_t b) const { return clamped(wide(a) + wide(b)); }
};
struct SubtractSaturated {
    std::uint32_t operator()(std::uint32_t a, std::uint32_t b) const { return clamped(wide(a) - wide(b)); }
};
struct MultiplyAddHighSaturated {
    std::uint32_t operator()(std::uint32_t a, std::uint32_t b, std::uint32_t c) const {
        return clamped((wide(a) * wide(b) >> 32) + wide(c));
    }
};

// What does not care about the sign.
template <class T>
void add_plain(OperationTable& table, std::string_view type) {
    add_binary<T, Add>(table, {"add.", type});
    add_binary<T, Subtract>(table, {"sub.", type});
    add_binary<T, MultiplyLow>(table, {"mul.lo.", type});
    add_ternary<T, MultiplyAddLow>(table, {"mad.lo.", type});
    if constexpr (sizeof(T) >= 4) {  // 16 bits give the same in 32
        add_binary<T, And>(table, {"and.", type});
        add_binary<T, Or>(table, {"or.", type});
        add_binary<T, Xor>(table, {"xor.", type});
    }
    add_unary<T, Not>(table, {"not.", type});
    add_unary<T, IsZero>(table, {"cnot.", type});
    table.add({"shl.", type}, sizeof(T) == 8 ? "WRr" : "wrr",
              binary<SlotOf<T>, SlotOf<T>, std::uint32_t, ShiftLeft<T>>);
}

// What does.
template <class T>
void add_signed_or_not(OperationTable& table, std::string_view type) {
    add_binary<T, MultiplyHigh>(table, {"mul.hi.", type});
    add_ternary<T, MultiplyAddHigh>(table, {"mad.hi.", type});
    add_binary<T, Divide>(table, {"div.", type});
    add_binary<T, Remainder>(table, {"rem.", type});
    add_ternary<T, SumOfDifference>(table, {"sad.", type});
    if constexpr (std::is_signed_v<T> || sizeof(T) >= 4) {  // unsigned ones of 16 bits give the same in 32
        add_binary<T, Least>(table, {"min.", type});
        add_binary<T, Most>(table, {"max.", type});
        table.add({"shr.", type}, sizeof(T) == 8 ? "WRr" : "wrr",
                  binary<SlotOf<T>, SlotOf<T>, std::uint32_t, ShiftRight<T>>);
    }
    if constexpr (std::is_signed_v<T>) {
        add_unary<T, Absolute>(table, {"abs.", type});
        add_unary<T, Negate>(table, {"neg.", type});
    }
    if constexpr (sizeof(T) >= 4) {
        using S = SlotOf<T>;
        table.add({"bfe.", type}, sizeof(T) == 8 ? "WRrr" : "wrrr",
                  ternary<S, S, std::uint32_t, std::uint32_t, ExtractField<T>>);
        table.add({"bfind.", type}, sizeof(T) == 8 ? "wR" : "wr", unary<std::uint32_t, S, FindLeadingOne<T, false>>);
        table.add({"bfind.shiftamt.", type}, sizeof(T) == 8 ? "wR" : "wr",
                  unary<std::uint32_t, S, FindLeadingOne<T, true>>);
    }
}

template <class From, class To>
void add_wide(OperationTable& table, std::string_view type) {
    const bool big = sizeof(To) == 8;
    table.add({"mul.wide.", type}, big ? "Wrr" : "wrr",
              binary<SlotOf<To>, std::uint32_t, std::uint32_t, MultiplyWide<From, To>>);
    table.add({"mad.wide.", type}, big ? "WrrR" : "wrrr",
              ternary<SlotOf<To>, std::uint32_t, std::uint32_t, SlotOf<To>, MultiplyAddWide<From, To>>);
}

}  // namespace

void add_integer_operations(OperationTable& table) {
    add_plain<std::uint16_t>(table, "b16");
    add_plain<std::uint32_t>(table, "b32");
    add_plain<std::uint64_t>(table, "b64");
    add_signed_or_not<std::int16_t>(table, "s16");
    add_signed_or_not<std::uint16_t>(table, "u16");
    add_signed_or_not<std::int32_t>(table, "s32");
    add_signed_or_not<std::uint32_t>(table, "u32");
    add_signed_or_not<std::int64_t>(table, "s64");
    add_signed_or_not<std::uint64_t>(table, "u64");
    add_wide<std::int16_t, std::int32_t>(table, "s16");
    add_wide<std::uint16_t, std::uint32_t>(table, "u16");
    add_wide<std::int32_t, std::int64_t>(table, "s32");
    add_wide<std::uint32_t, std::uint64_t>(table, "u32");
    add_carries<std::uint32_t>(table, "b32");
    add_carries<std::uint64_t>(table, "b64");
    add_product_carries<std::uint32_t, true>(table, "hi", "u32");
    add_product_carries<std::int32_t, true>(table, "hi", "s32");
    add_product_carries<std::uint64_t, true>(table, "hi", "u64");
    add_product_carries<std::int64_t, true>(table, "hi", "s64");
    using Word = std::uint32_t;
    table.add("add.sat.s32", "wrr", binary<Word, Word, Word, AddSaturated>);
    table.add("sub.sat.s32", "wrr", binary<Word, Word, Word, SubtractSaturated>);
    table.add("mad.hi.sat.s32", "wrrr", ternary<Word, Word, Word, Word, MultiplyAddHighSaturated>);
    table.add("mul24.lo.s32", "wrr", binary<std::uint32_t, std::uint32_t, std::uint32_t, Multiply24<std::int32_t>>);
    table.add("mul24.lo.u32", "wrr", binary<std::uint32_t, std::uint32_t, std::uint32_t, Multiply24<std::uint32_t>>);
    table.add("shf.l.wrap.b32", "wrrr",
              ternary<std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t, FunnelShift<true, false>>);
    table.add("shf.l.clamp.b32", "wrrr",
              ternary<std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t, FunnelShift<true, true>>);
    table.add("shf.r.wrap.b32", "wrrr",
              ternary<std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t, FunnelShift<false, false>>);
    table.add("shf.r.clamp.b32", "wrrr",
              ternary<std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t, FunnelShift<false, true>>);
    table.add("popc.b32", "wr", unary<std::uint32_t, std::uint32_t, CountOnes<std::uint32_t>>);
    table.add("popc.b64", "wR", unary<std::uint32_t, std::uint64_t, CountOnes<std::uint64_t>>);
    table.add("clz.b32", "wr", unary<std::uint32_t, std::uint32_t, LeadingZeros<std::uint32_t>>);
    table.add("clz.b64", "wR", unary<std::uint32_t, std::uint64_t, LeadingZeros<std::uint64_t>>);
    table.add("brev.b32", "wr", unary<std::uint32_t, std::uint32_t, ReverseBits<std::uint32_t>>);
    table.add("brev.b64", "WR", unary<std::uint64_t, std::uint64_t, ReverseBits<std::uint64_t>>);
    table.add("bfi.b32", "wrrrr", insert_field<std::uint32_t>);
    table.add("bfi.b64", "WRRrr", insert_field<std::uint64_t>);
}

}  // namespace simt
