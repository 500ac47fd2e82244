// Moves: registers, predicates, addresses of variables, selection, and the tracking of undefined registers.
#include "elementwise.hpp"
#include "frame.hpp"
#include "launch.hpp"
#include "operations.hpp"

namespace simt {
namespace {

template <class T>
void move(Warp& warp, const Instruction& instruction) {
    warp.assign(instruction.operand[0], warp.source<T>(instruction.operand[1]));
}

void move_predicate(Warp& warp, const Instruction& instruction) {
    warp.set_predicate(instruction.operand[0], warp.predicate(instruction.operand[1]));
}

void spread(Warp& warp, const Instruction& instruction, std::uint64_t value) {
    alignas(64) std::array<std::uint64_t, kLanes> all;
    all.fill(value);
    warp.assign(instruction.operand[0], all.data());
}

void move_variable(Warp& warp, const Instruction& instruction) {
    spread(warp, instruction,
           warp.block->launch->device->variable_address(static_cast<std::uint32_t>(instruction.immediate)));
}

void move_local(Warp& warp, const Instruction& instruction) {
    spread(warp, instruction, warp.frame->local_base + static_cast<std::uint64_t>(instruction.immediate));
}

void move_parameter(Warp& warp, const Instruction& instruction) {
    spread(warp, instruction, kParameterWindow + static_cast<std::uint64_t>(instruction.immediate));
}

// A place in the block's reserved part of shared memory, which lies behind all else.
template <std::uint32_t Offset>
void reserved_memory(Warp& warp, const Instruction& instruction) {
    std::array<std::uint32_t, kLanes> all;
    all.fill(static_cast<std::uint32_t>(warp.block->launch->variables.back().begin) + Offset);
    warp.assign(instruction.operand[0], all.data());
}

void move_function(Warp& warp, const Instruction& instruction) {
    spread(warp, instruction, kFunctionBase + kFunctionStride * static_cast<std::uint64_t>(instruction.immediate));
}

template <std::uint64_t Window>
struct ToGeneric {
    std::uint64_t operator()(std::uint64_t a) const { return a + Window; }
};
template <std::uint64_t Window>
struct FromGeneric {
    std::uint64_t operator()(std::uint64_t a) const { return a - Window; }
};

struct Pack {
    std::uint64_t operator()(std::uint32_t low, std::uint32_t high) const {
        return low | static_cast<std::uint64_t>(high) << 32;
    }
};
struct Pack16 {
    std::uint32_t operator()(std::uint32_t low, std::uint32_t high) const { return (low & 0xffff) | high << 16; }
};

void pack_four(Warp& warp, const Instruction& instruction) {
    alignas(64) std::array<std::uint64_t, kLanes> whole{};
    for (int part = 0; part < 4; ++part) {
        const auto* from = warp.source<std::uint32_t>(instruction.operand[1 + part]);
        for (int lane = 0; lane < kLanes; ++lane)
            whole[lane] |= static_cast<std::uint64_t>(from[lane] & 0xffff) << (16 * part);
    }
    warp.assign(instruction.operand[0], whole.data());
}

template <class Whole, int Parts>
void unpack_halves(Warp& warp, const Instruction& instruction) {
    const Whole* from = warp.source<Whole>(instruction.operand[Parts]);
    alignas(64) std::array<std::array<std::uint32_t, kLanes>, Parts> parts;
    for (int part = 0; part < Parts; ++part)
        for (int lane = 0; lane < kLanes; ++lane)
            parts[part][lane] = static_cast<std::uint16_t>(from[lane] >> (16 * part));
    for (int part = 0; part < Parts; ++part) warp.assign(instruction.operand[part], parts[part].data());
}

void unpack(Warp& warp, const Instruction& instruction) {
    const auto* from = warp.source<std::uint64_t>(instruction.operand[2]);
    alignas(64) std::array<std::uint32_t, kLanes> low, high;
    for (int lane = 0; lane < kLanes; ++lane) {
        low[lane] = static_cast<std::uint32_t>(from[lane]);
        high[lane] = static_cast<std::uint32_t>(from[lane] >> 32);
    }
    warp.assign(instruction.operand[0], low.data());
    warp.assign(instruction.operand[1], high.data());
}

template <class T>
void select(Warp& warp, const Instruction& instruction) {
    const T* a = warp.source<T>(instruction.operand[1]);
    const T* b = warp.source<T>(instruction.operand[2]);
    alignas(64) std::array<std::int32_t, kLanes> chosen;
    unpack_mask(warp.predicate(instruction.operand[3]), chosen.data());
    alignas(64) std::array<T, kLanes> result;
    for (int lane = 0; lane < kLanes; ++lane) result[lane] = chosen[lane] ? a[lane] : b[lane];
    warp.assign(instruction.operand[0], result.data());
}

template <class F>
void predicate_logic(Warp& warp, const Instruction& instruction) {
    warp.set_predicate(instruction.operand[0],
                       F{}(warp.predicate(instruction.operand[1]), warp.predicate(instruction.operand[2])));
}
struct And {
    LaneMask operator()(LaneMask a, LaneMask b) const { return a & b; }
};
struct Or {
    LaneMask operator()(LaneMask a, LaneMask b) const { return a | b; }
};
struct Xor {
    LaneMask operator()(LaneMask a, LaneMask b) const { return a ^ b; }
};
void predicate_not(Warp& warp, const Instruction& instruction) {
    warp.set_predicate(instruction.operand[0], ~warp.predicate(instruction.operand[1]));
}

// Undefined registers: predicate M holds the lanes in which a register has a value.
void track_set(Warp& warp, const Instruction& instruction) {
    warp.set_predicate(instruction.operand[0], kAllLanes);
}

void track_and(Warp& warp, const Instruction& instruction) {
    LaneMask all = kAllLanes;
    for (int i = 1; i < 8; ++i) all &= warp.predicate(instruction.operand[i]);  // absent ones are always true
    warp.set_predicate(instruction.operand[0], all);
}

void track_select(Warp& warp, const Instruction& instruction) {
    const LaneMask chosen = warp.predicate(instruction.operand[3]);
    warp.set_predicate(instruction.operand[0], (warp.predicate(instruction.operand[1]) & chosen) |
                                                   (warp.predicate(instruction.operand[2]) & ~chosen));
}

// Defined where both are, or where one is defined and alone decides the result.
template <bool Deciding>
void track_logical(Warp& warp, const Instruction& instruction) {
    const LaneMask known_a = warp.predicate(instruction.operand[1]), known_b = warp.predicate(instruction.operand[2]);
    LaneMask a = warp.predicate(instruction.operand[3]), b = warp.predicate(instruction.operand[4]);
    if (!Deciding) {
        a = ~a;
        b = ~b;
    }
    warp.set_predicate(instruction.operand[0], (known_a & known_b) | (known_a & a) | (known_b & b));
}

// In place of a register's name: what a shuffle took from a lane that took no part in it.
constexpr std::string_view kShuffled = "shfl";

void track_check(Warp& warp, const Instruction& instruction) {
    const LaneMask undefined = warp.mask & ~warp.predicate(instruction.operand[0]);
    if (undefined == 0) return;
    Instruction first_use = instruction;
    first_use.site = static_cast<std::uint16_t>(*warp.source<std::uint32_t>(instruction.operand[1]));
    for_each_lane(undefined, [&](int lane) {
        Finding finding;
        finding.fault = Fault::uninitialised_read;
        finding.space = "register";
        const auto& names = warp.block->launch->program->op_names;
        if (static_cast<std::uint64_t>(instruction.immediate) < names.size())
            finding.text = names[static_cast<std::size_t>(instruction.immediate)];
        if (finding.text == kShuffled) {
            finding.fault = Fault::bad_sync_mask;
            finding.text = "undefined";
        }
        report(warp, first_use, lane, std::move(finding));
    });
    warp.set_predicate(instruction.operand[0], kAllLanes);  // said once
}

// One value of the store that follows has none in these lanes: nor have the bytes it goes to.
void track_store(Warp& warp, const Instruction& instruction) {
    const std::uint32_t position = *warp.source<std::uint32_t>(instruction.operand[2]);
    if (position < warp.undefined.size())
        warp.undefined[position] = warp.mask & ~warp.predicate(instruction.operand[0]);
}

}  // namespace

void add_move_operations(OperationTable& table) {
    table.add("mov.b32", "wr", move<std::uint32_t>);
    table.add("mov.b64", "WR", move<std::uint64_t>);
    table.add("mov.pred", "Pp", move_predicate);
    table.add("mov.variable", "W", move_variable);
    table.add("mov.local", "W", move_local);
    table.add("mov.param", "W", move_parameter);
    table.add("mov.reserved_smem_offset_begin", "w", reserved_memory<0>);
    table.add("mov.reserved_smem_offset_end", "w", reserved_memory<1024>);
    table.add("mov.reserved_smem_offset_cap", "w", reserved_memory<1024>);
    table.add("mov.reserved_smem_offset_0", "w", reserved_memory<0>);
    table.add("mov.reserved_smem_offset_1", "w", reserved_memory<512>);
    table.add("mov.function", "W", move_function);
    table.add("mov.pack", "Wrr", binary<std::uint64_t, std::uint32_t, std::uint32_t, Pack>);
    table.add("mov.pack.b32", "wrr", binary<std::uint32_t, std::uint32_t, std::uint32_t, Pack16>);
    table.add("mov.pack.v4.b64", "Wrrrr", pack_four);
    table.add("mov.unpack", "wwR", unpack);
    table.add("mov.unpack.b32", "wwr", unpack_halves<std::uint32_t, 2>);
    table.add("mov.unpack.v4.b64", "wwwwR", unpack_halves<std::uint64_t, 4>);
    table.add("cvta.shared.b64", "WR", unary<std::uint64_t, std::uint64_t, ToGeneric<kSharedWindow>>);
    table.add("cvta.to.shared.b64", "WR", unary<std::uint64_t, std::uint64_t, FromGeneric<kSharedWindow>>);
    table.add("cvta.local.b64", "WR", unary<std::uint64_t, std::uint64_t, ToGeneric<kLocalWindow>>);
    table.add("cvta.to.local.b64", "WR", unary<std::uint64_t, std::uint64_t, FromGeneric<kLocalWindow>>);
    table.add("selp.b32", "wrrp", select<std::uint32_t>);
    table.add("selp.b64", "WRRp", select<std::uint64_t>);
    table.add("and.pred", "Ppp", predicate_logic<And>);
    table.add("or.pred", "Ppp", predicate_logic<Or>);
    table.add("xor.pred", "Ppp", predicate_logic<Xor>);
    table.add("not.pred", "Pp", predicate_not);
    table.add("track.set", "P", track_set);
    table.add("track.and", "Pp+", track_and);
    table.add("track.selp", "Pppp", track_select);
    table.add("track.logical_and", "Ppppp", track_logical<false>);
    table.add("track.logical_or", "Ppppp", track_logical<true>);
    table.add("track.check", "Pr", track_check);
    table.add("track.store", "prr", track_store);
}

}  // namespace simt
