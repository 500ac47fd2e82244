// Findings: what was wrong, grouped by kind, line pair and buffer while a launch runs.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>

#include "program.hpp"

namespace simt {

enum class Fault : std::uint8_t {
    out_of_bounds_read,
    out_of_bounds_write,
    misaligned_access,
    uninitialised_read,
    data_race,
    read_only_violation,
    barrier_divergence,
    deadlock,
    bad_sync_mask,
    endless_loop,
    redundant_traffic,
    device_trap,
    unsupported,
};
const char* fault_name(Fault fault);

struct Finding {
    Fault fault = Fault::unsupported;
    std::uint16_t site = 0, other_site = 0;
    std::string region;        // buffer or variable; empty where there is none
    const char* space = "";    // "global", "shared", "local", "const", "register"
    std::uint64_t block = 0;   // linear index
    std::uint32_t thread = 0;  // linear index in the block
    std::uint64_t address = 0;
    std::int64_t offset = 0;  // of the address in the region; outside it for out of bounds
    std::uint64_t region_bytes = 0;
    std::uint32_t bytes = 0;  // of the access
    bool write = false, other_write = false, other_atomic = false;
    bool between_blocks = false;
    bool between_warps = false;  // in some instance: the two threads are of different warps
    bool one_place = true;       // all instances are at the same address
    bool other_known = false;    // other_block and other_thread name one thread
    std::uint64_t other_block = 0;
    std::uint32_t other_thread = 0;
    std::string text;                       // instruction, register, or what kind of fault
    std::uint32_t mask = 0, lanes = 0;      // bad_sync_mask: what was named, and which of it is missing
    std::uint32_t waiting = 0, wanted = 0;  // deadlock: threads at the barrier
    std::uint64_t count = 0, blocks = 0;
    std::uint64_t last_block = ~0ull;
};

// One worker's findings; merged when the launch is over. The first instance is the one with the lowest block, then the
// lowest thread, so that a message does not depend on the order that happened.
class FindingTable {
  public:
    void add(Finding finding);
    void merge(const FindingTable& other);
    const auto& groups() const { return groups_; }

  private:
    using Key = std::tuple<Fault, std::uint16_t, std::uint16_t, std::string>;
    static void take_in(Finding& group, Finding finding);  // one more instance, whose own counts are of no account
    std::map<Key, Finding> groups_;
};

}  // namespace simt
