// Asynchronous copies from global to shared memory: cp.async and the groups of them that a thread waits for.
//
// A copy is made at the last moment at which PTX allows it: when its thread waits for it, or when the mbarrier that
// tracks it would complete its phase but for it. Until then its bytes are in flight (checks.hpp).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>

#include "lanes.hpp"
#include "program.hpp"

namespace simt {

struct Warp;

// One cp.async of a warp. `group`: the number of the group it belongs to, counted by lane.
struct CopyInFlight {
    const Instruction* instruction = nullptr;
    std::uint64_t number = 0;  // among those of its warp
    std::uint32_t bytes = 0;   // that each lane writes
    LaneMask lanes = 0;        // whose bytes have not come yet
    std::array<std::uint64_t, kLanes> from, to;
    std::array<std::uint32_t, kLanes> group;
    std::array<std::uint8_t, kLanes> source_bytes;  // that are read; the rest becomes 0
    std::array<std::byte, kLanes * 16> seen;        // the source when the copy was issued
};

// Those of a warp, the oldest first.
struct CopiesInFlight {
    std::deque<CopyInFlight> copies;
    std::uint64_t issued = 0;
    std::array<std::uint32_t, kLanes> groups{};  // that a lane has committed
};

// Makes those of a lane's copies that were issued before the warp's copy `number`.
void make_copies_before(Warp& warp, int lane, std::uint64_t number);

}  // namespace simt
