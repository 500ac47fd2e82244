// Waiting: barriers of a block, and the lanes of a warp that wait for each other.
#pragma once

#include "warp.hpp"

namespace simt {

// Runs a collective instruction for those of `lanes` whose whole mask is there, and parks the others. Returns those
// that do not go on with the group.
LaneMask run_or_park(Warp& warp, const Block& block, Group& group, LaneMask lanes);
// Runs what parked lanes of the warp have waited for where all have come. True if there was one.
bool release_in_warp(Warp& warp);

void park_at_barrier(Warp& warp, const Block& block, const Group& group, LaneMask lanes);
void arrive(Warp& warp, const Instruction& instruction);  // bar.arrive: the lanes go on
// Lets everybody through a barrier that is complete. True if there was one.
bool release_barriers(ThreadBlock& block);
// Nobody of the block can go on: lanes whose mask names some that will not come are reported and go on without them.
// False where there are none: then what is left is a deadlock.
bool release_incomplete(ThreadBlock& block);
void report_deadlock(ThreadBlock& block);

// Remembers, for barriers that others still wait at, that `lanes` end here.
void note_ended(Warp& warp, const Group& group, LaneMask lanes);

}  // namespace simt
