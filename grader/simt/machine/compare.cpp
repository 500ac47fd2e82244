// Comparisons: setp, set and slct (PTX ISA 9.1, section 9.7.6).
#include <cmath>

#include "elementwise.hpp"
#include "operations.hpp"
#include "rounding.hpp"

namespace simt {
namespace {

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
T operand_value(SlotOf<T> raw) {
    if constexpr (Flush)
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

void store_truth(Warp& warp, const Instruction& instruction, LaneMask holds, std::uint32_t truth) {
    alignas(64) std::array<std::uint32_t, kLanes> result;
    for (int lane = 0; lane < kLanes; ++lane) result[lane] = (holds >> lane & 1) ? truth : 0u;
    warp.assign(instruction.operand[0], result.data());
}

// set: all ones or 1.0 where it holds
template <class T, class F, bool Flush, bool AsFloat>
void set(Warp& warp, const Instruction& instruction) {
    const LaneMask holds = compare<T, F, Flush>(warp, instruction.operand[1], instruction.operand[2]);
    store_truth(warp, instruction, holds, AsFloat ? 0x3f800000u : ~0u);
}

template <class T, class F, bool Flush>
void add_comparison(OperationTable& table, std::string_view comparison, std::string_view type) {
    const bool wide = sizeof(T) == 8;
    table.add({"setp.", comparison, ".", type}, wide ? "PPRR" : "PPrr", setp<T, F, Flush, Combine::none>);
    table.add({"setp.", comparison, ".and.", type}, wide ? "PPRRp" : "PPrrp", setp<T, F, Flush, Combine::conjunction>);
    table.add({"setp.", comparison, ".or.", type}, wide ? "PPRRp" : "PPrrp", setp<T, F, Flush, Combine::disjunction>);
    table.add({"setp.", comparison, ".xor.", type}, wide ? "PPRRp" : "PPrrp", setp<T, F, Flush, Combine::exclusive>);
    for (const std::string_view integer : {".u32.", ".s32.", ".b32."})
        table.add({"set.", comparison, integer, type}, wide ? "wRR" : "wrr", set<T, F, Flush, false>);
    table.add({"set.", comparison, ".f32.", type}, wide ? "wRR" : "wrr", set<T, F, Flush, true>);
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

// slct: a where c >= 0, else b; -0 counts as 0, NaN as less.
template <class T, class C>
struct SelectBySign {
    T operator()(T a, T b, SlotOf<C> c) const { return static_cast<C>(c) >= 0 ? a : b; }
};

}  // namespace

void add_compare_operations(OperationTable& table) {
    add_equality<std::uint16_t>(table, "b16");
    add_equality<std::uint32_t>(table, "b32");
    add_equality<std::uint64_t>(table, "b64");
    add_orders<std::int16_t, false>(table, "s16");
    add_orders<std::uint16_t, false>(table, "u16");
    add_orders<std::int32_t, false>(table, "s32");
    add_orders<std::uint32_t, false>(table, "u32");
    add_orders<std::int64_t, false>(table, "s64");
    add_orders<std::uint64_t, false>(table, "u64");
    add_float<float, false>(table, "f32");
    add_float<float, true>(table, "ftz.f32");
    add_float<double, false>(table, "f64");
    table.add(
        "slct.b32.s32", "wrrr",
        ternary<std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t, SelectBySign<std::uint32_t, std::int32_t>>);
    table.add("slct.b32.f32", "wrrr",
              ternary<std::uint32_t, std::uint32_t, std::uint32_t, float, SelectBySign<std::uint32_t, float>>);
    table.add(
        "slct.b64.s32", "WRRr",
        ternary<std::uint64_t, std::uint64_t, std::uint64_t, std::uint32_t, SelectBySign<std::uint64_t, std::int32_t>>);
}

}  // namespace simt
