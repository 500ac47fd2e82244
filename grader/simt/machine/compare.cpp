// Comparisons: setp, and set of pairs (PTX ISA 9.1, sections 9.7.6 and 9.7.7). Other forms of set, and slct, are
// lowered to setp and selp.
#include <cmath>

#include "elementwise.hpp"
#include "half.hpp"
#include "operations.hpp"
#include "rounding.hpp"

namespace simt {
namespace {

template <class T>
constexpr bool kIsHalf = std::is_same_v<T, F16> || std::is_same_v<T, Bf16>;

template <class T>
using SlotOf = std::conditional_t<std::is_floating_point_v<T>, T,
                                  std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>>;

struct Equal {
    template <class T>
    bool operator()(T a, T b) const {
        return a == b;
    }
};
struct NotEqual {
    template <class T>
    bool operator()(T a, T b) const {
        return a < b || a > b;
    }
};  // false on NaN
struct Less {
    template <class T>
    bool operator()(T a, T b) const {
        return a < b;
    }
};
struct LessEqual {
    template <class T>
    bool operator()(T a, T b) const {
        return a <= b;
    }
};
struct Greater {
    template <class T>
    bool operator()(T a, T b) const {
        return a > b;
    }
};
struct GreaterEqual {
    template <class T>
    bool operator()(T a, T b) const {
        return a >= b;
    }
};
struct Numbers {
    template <class T>
    bool operator()(T a, T b) const {
        return a == a && b == b;
    }
};
template <class F>
struct OrUnordered {
    template <class T>
    bool operator()(T a, T b) const {
        return F{}(a, b) || a != a || b != b;
    }
};
struct Nan {
    template <class T>
    bool operator()(T a, T b) const {
        return a != a || b != b;
    }
};

template <class T, bool Flush>
auto operand_value(SlotOf<T> raw) {
    if constexpr (kIsHalf<T>)
        return value_of<T>(raw & 0xffff);
    else if constexpr (Flush)
        return flushed(raw);
    else
        return static_cast<T>(raw);
}

// Not inlined into its six users: that would cost ten seconds of compilation and gain nothing.
template <class T, class F, bool Flush>
[[gnu::noinline]] LaneMask compare(const Warp& warp, std::uint32_t first, std::uint32_t second) {
    const auto* a = warp.source<SlotOf<T>>(first);
    const auto* b = warp.source<SlotOf<T>>(second);
    alignas(64) std::array<std::int32_t, kLanes> holds;
    for (int lane = 0; lane < kLanes; ++lane)
        holds[lane] = F{}(operand_value<T, Flush>(a[lane]), operand_value<T, Flush>(b[lane])) ? -1 : 0;
    return pack_flags(holds.data());
}

enum class Combine : std::uint8_t { none, conjunction, disjunction, exclusive };

template <Combine How>
LaneMask combined(LaneMask a, LaneMask c) {
    if constexpr (How == Combine::conjunction) return a & c;
    if constexpr (How == Combine::disjunction) return a | c;
    if constexpr (How == Combine::exclusive) return a ^ c;
    return a;
}

// p = (a cmp b) op c,  q = !(a cmp b) op c
template <class T, class F, bool Flush, Combine How>
void setp(Warp& warp, const Instruction& instruction) {
    const LaneMask holds = compare<T, F, Flush>(warp, instruction.operand[2], instruction.operand[3]);
    const LaneMask c = How == Combine::none ? 0 : warp.predicate(instruction.operand[4]);
    warp.set_predicate(instruction.operand[0], combined<How>(holds, c));
    warp.set_predicate(instruction.operand[1], combined<How>(~holds, c));
}

// set of two numbers a register: Truth in the halves where it holds
template <class T, class F, std::uint32_t Truth>
struct SetPair {
    std::uint32_t operator()(std::uint32_t a, std::uint32_t b) const {
        return half(a, b) | half(a >> 16, b >> 16) << 16;
    }

  private:
    static std::uint32_t half(std::uint32_t a, std::uint32_t b) {
        return F{}(value_of<T>(a & 0xffff), value_of<T>(b & 0xffff)) ? Truth : 0;
    }
};

template <class T, class F, bool Flush>
void add_comparison(OperationTable& table, std::string_view comparison, std::string_view type) {
    const bool wide = sizeof(T) == 8;
    table.add({"setp.", comparison, ".", type}, wide ? "PPRR" : "PPrr", setp<T, F, Flush, Combine::none>);
    table.add({"setp.", comparison, ".and.", type}, wide ? "PPRRp" : "PPrrp", setp<T, F, Flush, Combine::conjunction>);
    table.add({"setp.", comparison, ".or.", type}, wide ? "PPRRp" : "PPrrp", setp<T, F, Flush, Combine::disjunction>);
    table.add({"setp.", comparison, ".xor.", type}, wide ? "PPRRp" : "PPrrp", setp<T, F, Flush, Combine::exclusive>);
    if constexpr (kIsHalf<T>) {
        using Word = std::uint32_t;
        constexpr Word one = std::is_same_v<T, F16> ? 0x3c00 : 0x3f80;
        const std::string pair = std::string(".") + std::string(type) + "x2";
        table.add({"set.", comparison, pair, pair}, "wrr", binary<Word, Word, Word, SetPair<T, F, one>>);
        for (const std::string_view integer : {".u32", ".s32"})
            table.add({"set.", comparison, integer, pair}, "wrr", binary<Word, Word, Word, SetPair<T, F, 0xffff>>);
    }
}

template <class T, bool Flush>
void add_orders(OperationTable& table, std::string_view type) {
    add_comparison<T, Less, Flush>(table, "lt", type);
    add_comparison<T, LessEqual, Flush>(table, "le", type);
    add_comparison<T, Greater, Flush>(table, "gt", type);
    add_comparison<T, GreaterEqual, Flush>(table, "ge", type);
}

template <class T, bool Flush>
void add_float(OperationTable& table, std::string_view type) {
    add_orders<T, Flush>(table, type);
    add_comparison<T, Equal, Flush>(table, "eq", type);
    add_comparison<T, NotEqual, Flush>(table, "ne", type);
    add_comparison<T, OrUnordered<Less>, Flush>(table, "ltu", type);
    add_comparison<T, OrUnordered<LessEqual>, Flush>(table, "leu", type);
    add_comparison<T, OrUnordered<Greater>, Flush>(table, "gtu", type);
    add_comparison<T, OrUnordered<GreaterEqual>, Flush>(table, "geu", type);
    add_comparison<T, OrUnordered<Equal>, Flush>(table, "equ", type);
    add_comparison<T, OrUnordered<NotEqual>, Flush>(table, "neu", type);
    add_comparison<T, Numbers, Flush>(table, "num", type);
    add_comparison<T, Nan, Flush>(table, "nan", type);
}

template <class T>
void add_equality(OperationTable& table, std::string_view type) {
    add_comparison<T, Equal, false>(table, "eq", type);
    add_comparison<T, NotEqual, false>(table, "ne", type);
}

}  // namespace

void add_compare_operations(OperationTable& table) {
    add_equality<std::uint32_t>(table, "b32");
    add_equality<std::uint64_t>(table, "b64");
    add_orders<std::int16_t, false>(table, "s16");
    add_orders<std::int32_t, false>(table, "s32");
    add_orders<std::uint32_t, false>(table, "u32");
    add_orders<std::int64_t, false>(table, "s64");
    add_orders<std::uint64_t, false>(table, "u64");
    add_float<float, false>(table, "f32");
    add_float<float, true>(table, "ftz.f32");
    add_float<double, false>(table, "f64");
    add_float<F16, false>(table, "f16");
    add_float<Bf16, false>(table, "bf16");
}

}  // namespace simt
