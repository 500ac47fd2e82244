// Mbarriers: barriers that live in shared memory, with phases (PTX ISA 9.1, section 9.7.13.15).
//
// A phase is complete when as many have arrived as it waits for and all bytes it was told to expect have come. Whoever
// then sees that it is complete knows what those who arrived had done: see ordering.hpp.
#pragma once

#include <cstdint>
#include <vector>

#include "lanes.hpp"
#include "ordering.hpp"

namespace simt {

// Lanes whose copies, those before `number` of their warp, the barrier waits for; each arrives when they have come.
struct CopiesAwaited {
    Warp* warp;
    LaneMask lanes;
    std::uint64_t number;
};

struct Mbarrier {
    std::uint32_t expected = 0, pending = 0;  // arrivals: of each phase, and those that this one still lacks
    std::uint32_t phase = 0;                  // phases completed
    std::int64_t bytes = 0;                   // that are still to come: the tx-count
    Meeting meeting;                          // of those who arrived in this phase
    const Knowledge* told = nullptr;          // by the last phase that was completed
    std::vector<CopiesAwaited> awaited;
};

}  // namespace simt
