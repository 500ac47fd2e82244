// Elementwise: handlers for operations that do the same to every lane.
//
// All lanes are computed, also the idle ones, whose results are then dropped: no operation here can trap, and one loop
// over 32 lanes is what the compiler turns into vector instructions.
#pragma once

#include <array>

#include "warp.hpp"

namespace simt {

template <class D, class A, class F>
void apply(Warp& warp, const Instruction& instruction, F function) {
    const A* a = warp.source<A>(instruction.operand[1]);
    alignas(64) std::array<D, kLanes> result;
    for (int lane = 0; lane < kLanes; ++lane) result[lane] = function(a[lane]);
    warp.assign(instruction.operand[0], result.data());
}

template <class D, class A, class B, class F>
void apply(Warp& warp, const Instruction& instruction, F function) {
    const A* a = warp.source<A>(instruction.operand[1]);
    const B* b = warp.source<B>(instruction.operand[2]);
    alignas(64) std::array<D, kLanes> result;
    for (int lane = 0; lane < kLanes; ++lane) result[lane] = function(a[lane], b[lane]);
    warp.assign(instruction.operand[0], result.data());
}

template <class D, class A, class B, class C, class F>
void apply(Warp& warp, const Instruction& instruction, F function) {
    const A* a = warp.source<A>(instruction.operand[1]);
    const B* b = warp.source<B>(instruction.operand[2]);
    const C* c = warp.source<C>(instruction.operand[3]);
    alignas(64) std::array<D, kLanes> result;
    for (int lane = 0; lane < kLanes; ++lane) result[lane] = function(a[lane], b[lane], c[lane]);
    warp.assign(instruction.operand[0], result.data());
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
