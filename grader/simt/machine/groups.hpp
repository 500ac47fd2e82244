// Groups: the lanes of a warp that stand at the same place, and where they go from the end of a block.
#pragma once

#include "warp.hpp"

namespace simt {

// Lanes at the same block of the same call become one group.
void join(Warp& warp, const Group& group);

// The group that runs next: smallest block first, in the frame where two groups are or were called from; a call before
// what follows it. One that has gone round a loop for long comes after the others.
inline constexpr std::uint32_t kTurn = 1024;  // back edges a group may take before others have their turn
Group take_next(Warp& warp);

// Those of `lanes` for which the instruction's guard holds.
inline LaneMask guarded(const Warp& warp, const Instruction& instruction, LaneMask lanes) {
    if (instruction.guard == 0) return lanes;
    const LaneMask holds = warp.predicates[(instruction.guard - 1) >> 1];
    return lanes & ((instruction.guard - 1) & 1 ? ~holds : holds);
}

// Runs the end of `block` for the group; lanes that leave or wait are taken out. Returns the group's own next block, or
// kNoBlock when no lane of it goes on by itself.
std::uint32_t run_end(Warp& warp, const Block& block, Group& group);

}  // namespace simt
