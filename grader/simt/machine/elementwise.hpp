// Elementwise: handlers for operations that do the same to every lane.
//
// All lanes are computed, also the idle ones, whose results are then dropped: no operation here can trap, and one loop
// over 32 lanes is what the compiler turns into vector instructions.
#pragma once

#include <array>

#include "warp.hpp"

namespace simt {

// Writes value(lane) to the lanes that run. A destination is a source's slot or lies apart from it, never across it, so
// that the loop may read ahead.
template <class D, class Value>
void write_lanes(Warp& warp, std::uint32_t operand, Value&& value) {
    D* to = warp.destination<D>(operand);
    if (warp.mask == kAllLanes) {
#pragma GCC ivdep
        for (int lane = 0; lane < kLanes; ++lane) to[lane] = value(lane);
        return;
    }
#pragma GCC ivdep
    for (int lane = 0; lane < kLanes; ++lane) to[lane] = warp.select[lane] ? value(lane) : to[lane];
}

template <class D, class A, class F>
void apply(Warp& warp, const Instruction& instruction, F function) {
    const A* a = warp.source<A>(instruction.operand[1]);
    write_lanes<D>(warp, instruction.operand[0], [&](int lane) { return function(a[lane]); });
}

template <class D, class A, class B, class F>
void apply(Warp& warp, const Instruction& instruction, F function) {
    const A* a = warp.source<A>(instruction.operand[1]);
    const B* b = warp.source<B>(instruction.operand[2]);
    write_lanes<D>(warp, instruction.operand[0], [&](int lane) { return function(a[lane], b[lane]); });
}

template <class D, class A, class B, class C, class F>
void apply(Warp& warp, const Instruction& instruction, F function) {
    const A* a = warp.source<A>(instruction.operand[1]);
    const B* b = warp.source<B>(instruction.operand[2]);
    const C* c = warp.source<C>(instruction.operand[3]);
    write_lanes<D>(warp, instruction.operand[0], [&](int lane) { return function(a[lane], b[lane], c[lane]); });
}

// A handler from a stateless function object: unary<D, A, F>, binary<D, A, B, F>, ternary<D, A, B, C, F>.
template <class D, class A, class F>
void unary(Warp& warp, const Instruction& instruction) {
    apply<D, A>(warp, instruction, F{});
}
template <class D, class A, class B, class F>
void binary(Warp& warp, const Instruction& instruction) {
    apply<D, A, B>(warp, instruction, F{});
}
template <class D, class A, class B, class C, class F>
void ternary(Warp& warp, const Instruction& instruction) {
    apply<D, A, B, C>(warp, instruction, F{});
}

}  // namespace simt
