// Atomics: atom and red on global and shared memory (PTX ISA 9.1, section 9.7.13.7 and 9.7.13.8).
//
// The lanes of a warp take their turns one by one. Which comes first is not defined on a GPU, so a run's order of lanes
// follows its order of blocks.
#include <bit>
#include <cmath>
#include <optional>

#include "access.hpp"
#include "half.hpp"
#include "operations.hpp"
#include "rounding.hpp"
#include "trace.hpp"

namespace simt {
namespace {

template <class T>
using Bits = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;

struct Add {
    template <class T>
    T operator()(T a, T b) const {
        return a + b;
    }
};
// Of f32: global memory flushes subnormals.
struct AddFlushed {
    float operator()(float a, float b) const { return canonical(flushed(flushed(a) + flushed(b))); }
};
struct AddFloat {
    template <class T>
    T operator()(T a, T b) const {
        return canonical(a + b);
    }
};
struct Least {
    template <class T>
    T operator()(T a, T b) const {
        return b < a ? b : a;
    }
};
struct Most {
    template <class T>
    T operator()(T a, T b) const {
        return a < b ? b : a;
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
struct Exchange {
    template <class T>
    T operator()(T, T b) const {
        return b;
    }
};
struct Increment {
    std::uint32_t operator()(std::uint32_t a, std::uint32_t b) const { return a >= b ? 0 : a + 1; }
};
struct Decrement {
    std::uint32_t operator()(std::uint32_t a, std::uint32_t b) const { return a == 0 || a > b ? b : a - 1; }
};

template <class F>
struct AddHalf {
    std::uint16_t operator()(std::uint16_t a, std::uint16_t b) const {
        return static_cast<std::uint16_t>(bits_of<F>(value_of<F>(a) + value_of<F>(b)));
    }
};
template <class F>
struct AddPair {
    std::uint32_t operator()(std::uint32_t a, std::uint32_t b) const {
        const auto half = [](std::uint32_t x, std::uint32_t y) {
            return bits_of<F>(value_of<F>(x & 0xffff) + value_of<F>(y & 0xffff));
        };
        return half(a, b) | half(a >> 16, b >> 16) << 16;
    }
};

// The word at one lane's address, between its bounds and checked. `body` says whether it has changed the word: a swap
// that found something else publishes nothing.
template <class Body>
void at_lane(Warp& warp, const Instruction& instruction, int lane, std::uint64_t address, Window window,
             std::uint32_t bytes, AccessKind kind, Body&& body) {
    const Target place = resolve(warp, instruction, address, window, bytes);
    std::byte* memory = place_of(warp, instruction, lane, place, address, bytes, true);
    if (!memory) return;
    if (!place.region) {  // a thread's own memory: nobody else can come between
        check_local(warp, instruction, lane, place, address, bytes, kind == AccessKind::write);
        body(memory);
        return;
    }
    const RangeLock lock(warp, *place.region, place.offset, bytes);
    check_piece(warp, instruction, *place.region, place.offset, bytes, lane, kind, false, nullptr);
    if (body(memory))
        exchange(warp, lane, *place.region, address, instruction);
    else
        learn(warp, lane, *place.region, address);
}

template <class Body>
void in_turn(const Warp& warp, Body&& body) {
    if (warp.block->launch->options.order != Order::reverse) {
        for_each_lane(warp.mask, body);
        return;
    }
    for (LaneMask left = warp.mask; left != 0;) {
        const int lane = kLanes - 1 - std::countl_zero(left);
        left &= ~(1u << lane);
        body(lane);
    }
}

// `compute(old, lane)` gives the new value, or none where the word stays; the old one goes to operand 0 where there is
// a result.
template <Window W, class T, class Compute>
void atomic(Warp& warp, const Instruction& instruction, bool has_result, AccessKind kind, Compute&& compute) {
    const Access access = access_of(warp, instruction, instruction.operand[has_result ? 1 : 0], sizeof(T));
    count_access(warp, instruction, access, sizeof(T), resolve(warp, instruction, access.start, W, sizeof(T)).window,
                 Traffic::atomic);
    const Watch watch(warp, instruction, access, W, sizeof(T), true);
    alignas(64) std::array<Bits<T>, kLanes> result{};
    in_turn(warp, [&](int lane) {
        at_lane(warp, instruction, lane, access.address(lane), W, sizeof(T), kind, [&](std::byte* memory) {
            T old;
            std::memcpy(&old, memory, sizeof old);
            const std::optional<T> fresh = compute(old, lane);
            if (fresh) std::memcpy(memory, &*fresh, sizeof *fresh);
            if constexpr (sizeof(T) == sizeof(Bits<T>))
                result[static_cast<std::size_t>(lane)] = std::bit_cast<Bits<T>>(old);
            else
                result[static_cast<std::size_t>(lane)] = old;
            return fresh.has_value();
        });
    });
    if (has_result) warp.assign(instruction.operand[0], result.data());
}

template <class T>
T operand_value(const Bits<T>* values, int lane) {
    if constexpr (sizeof(T) == sizeof(Bits<T>))
        return std::bit_cast<T>(values[lane]);
    else
        return static_cast<T>(values[lane]);
}

template <Window W, class T, class F, bool HasResult>
void update(Warp& warp, const Instruction& instruction) {
    // A copy: the result may go to the register that an operand came from.
    alignas(64) std::array<Bits<T>, kLanes> values;
    std::copy_n(warp.source<Bits<T>>(instruction.operand[HasResult ? 2 : 1]), kLanes, values.begin());
    // An exchange whose old value nobody wants stores, and reads nothing.
    const bool wanted = HasResult && instruction.operand[0] != warp.frame->function->register_bytes();
    const AccessKind kind = std::is_same_v<F, Exchange> && !wanted ? AccessKind::write : AccessKind::atomic;
    atomic<W, T>(warp, instruction, HasResult, kind,
                 [&](T old, int lane) { return F{}(old, operand_value<T>(values.data(), lane)); });
}

// By a generic address f32 is added as in the space where it leads.
template <bool HasResult>
void add_generic(Warp& warp, const Instruction& instruction) {
    const Access access = access_of(warp, instruction, instruction.operand[HasResult ? 1 : 0], sizeof(float));
    std::array<float, kLanes> values;
    std::copy_n(warp.source<float>(instruction.operand[HasResult ? 2 : 1]), kLanes, values.begin());
    atomic<Window::generic, float>(warp, instruction, HasResult, AccessKind::atomic, [&](float old, int lane) {
        const float value = values[static_cast<std::size_t>(lane)];
        const Window window = resolve(warp, instruction, access.address(lane), Window::generic, sizeof(float)).window;
        return window == Window::shared ? AddFloat{}(old, value) : AddFlushed{}(old, value);
    });
}

template <Window W, class T>
void compare_and_swap(Warp& warp, const Instruction& instruction) {
    const auto* expected = warp.source<Bits<T>>(instruction.operand[2]);
    const auto* wanted = warp.source<Bits<T>>(instruction.operand[3]);
    atomic<W, T>(warp, instruction, true, AccessKind::atomic, [&](T old, int lane) {
        const bool found = old == operand_value<T>(expected, lane);
        return found ? std::optional(operand_value<T>(wanted, lane)) : std::nullopt;
    });
}

template <Window W, class T, class F>
void add_in(OperationTable& table, std::string_view operation, std::string_view space, std::string_view type) {
    const bool wide = sizeof(T) == 8;
    table.add({"atom.", operation, ".", space, ".", type}, wide ? "WAR" : "wAr", update<W, T, F, true>);
    if constexpr (!std::is_same_v<F, Exchange>)  // without a result that is a store
        table.add({"red.", operation, ".", space, ".", type}, wide ? "AR" : "Ar", update<W, T, F, false>);
}

template <class T, class F>
void add(OperationTable& table, std::string_view operation, std::string_view type) {
    add_in<Window::global, T, F>(table, operation, "global", type);
    add_in<Window::shared, T, F>(table, operation, "shared", type);
    add_in<Window::generic, T, F>(table, operation, "generic", type);
}

template <class T>
void add_swap(OperationTable& table, std::string_view type) {
    const bool wide = sizeof(T) == 8;
    const std::string_view operands = wide ? "WARR" : "wArr";
    table.add({"atom.cas.global.", type}, operands, compare_and_swap<Window::global, T>);
    table.add({"atom.cas.shared.", type}, operands, compare_and_swap<Window::shared, T>);
    table.add({"atom.cas.generic.", type}, operands, compare_and_swap<Window::generic, T>);
}

}  // namespace

void add_atomic_operations(OperationTable& table) {
    using u16 = std::uint16_t;
    using u32 = std::uint32_t;
    using u64 = std::uint64_t;
    add<u32, Add>(table, "add", "b32");
    add<u64, Add>(table, "add", "b64");
    add_in<Window::global, float, AddFlushed>(table, "add", "global", "f32");
    table.add("atom.add.generic.f32", "wAr", add_generic<true>);
    table.add("red.add.generic.f32", "Ar", add_generic<false>);
    add_in<Window::shared, float, AddFloat>(table, "add", "shared", "f32");
    add<double, AddFloat>(table, "add", "f64");
    add<u16, AddHalf<F16>>(table, "add.noftz", "f16");
    add<u16, AddHalf<Bf16>>(table, "add.noftz", "bf16");
    add<u32, AddPair<F16>>(table, "add.noftz", "f16x2");
    add<u32, AddPair<Bf16>>(table, "add.noftz", "bf16x2");
    add<u32, Least>(table, "min", "u32");
    add<std::int32_t, Least>(table, "min", "s32");
    add<u64, Least>(table, "min", "u64");
    add<std::int64_t, Least>(table, "min", "s64");
    add<u32, Most>(table, "max", "u32");
    add<std::int32_t, Most>(table, "max", "s32");
    add<u64, Most>(table, "max", "u64");
    add<std::int64_t, Most>(table, "max", "s64");
    add<u32, And>(table, "and", "b32");
    add<u64, And>(table, "and", "b64");
    add<u32, Or>(table, "or", "b32");
    add<u64, Or>(table, "or", "b64");
    add<u32, Xor>(table, "xor", "b32");
    add<u64, Xor>(table, "xor", "b64");
    add<u32, Exchange>(table, "exch", "b32");
    add<u64, Exchange>(table, "exch", "b64");
    add<u32, Increment>(table, "inc", "u32");
    add<u32, Decrement>(table, "dec", "u32");
    add_swap<u16>(table, "b16");
    add_swap<u32>(table, "b32");
    add_swap<u64>(table, "b64");
}

}  // namespace simt
