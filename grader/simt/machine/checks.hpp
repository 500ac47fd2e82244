// Checks: is what is read there, and is every conflicting pair of accesses ordered?
//
// Two accesses conflict when they touch the same bytes, come from different threads, at least one writes, and not both
// are atomic. They are ordered by the program (same thread), by a barrier of the block, by a synchronisation of the
// warp, or by the end of a launch. The verdict comes from that rule, never from the order in which lanes happened to
// run: see docs/software-gpu.md.
#pragma once

#include "region.hpp"
#include "warp.hpp"

namespace simt {

enum class AccessKind : std::uint8_t { read, read_only, write, atomic };

// A row: lanes first_lane, first_lane + 1, … touch adjacent pieces of `piece` bytes from `offset` on, `bytes` in all.
// Pages it lies in must be locked by the caller.
void check_row(Warp& warp, const Instruction& instruction, Region& region, std::uint64_t offset, std::uint32_t bytes,
               std::uint32_t piece, int first_lane, AccessKind kind, const std::byte* stored);

// One lane's piece of at most 16 bytes, naturally aligned. `several`: more lanes read the very same piece.
void check_piece(Warp& warp, const Instruction& instruction, Region& region, std::uint64_t offset, std::uint32_t bytes,
                 int lane, AccessKind kind, bool several, const std::byte* stored);

}  // namespace simt
