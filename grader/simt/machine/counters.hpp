// Counters: what a warp's access costs in sectors and wavefronts, under Nsight Compute's rules.
#pragma once

#include <cstdint>

#include "lanes.hpp"

namespace simt {

inline constexpr std::uint64_t kSectorBytes = 32;

struct Cost {
    std::uint64_t actual, ideal;
};

// Distinct 32-byte sectors that the lanes touch; ideal: the fewest that can hold as many bytes.
Cost global_sectors(const std::uint64_t* address, LaneMask lanes, std::uint32_t bytes);
// The same for adjacent lanes, `total` bytes from `address` on.
Cost row_sectors(std::uint64_t address, std::uint64_t total);

// Passes over the 32 banks of 4 bytes that one shared-memory instruction needs.
// Narrower and 4-byte accesses: the most distinct words in one bank. 8 bytes: by half warps; 16 bytes: by quarters,
// which those of a load merge pairwise (within a half) when each lane and its neighbour at distance 1, or all at
// distance 2, agree on the address. An atomic takes as many passes as the most lanes that meet in one bank. Sources:
// NVIDIA developer forum, topic 77228, for loads; results/h200/counting.json holds what an H200 counts, which is the
// same.
enum class Traffic : std::uint8_t { load, store, atomic };
Cost shared_wavefronts(const std::uint64_t* address, LaneMask lanes, std::uint32_t bytes, Traffic traffic);

// The same where all lanes touch one address.
inline Cost uniform_wavefronts(LaneMask lanes, std::uint32_t bytes) {
    const std::uint64_t groups = bytes < 16 ? 1 : ((lanes & 0xffffu) != 0) + ((lanes >> 16) != 0);
    return {groups, groups};
}

}  // namespace simt
