// Ordering: what a thread knows to have happened before, beyond its own program and the barriers of its block.
//
// A fence covers what its thread has done and seen; a strong store or an atomic behind the fence publishes that at an
// address; an atomic or a strong load that reads the address learns it, with all that the publisher had learned itself.
// Barriers pass what one thread of a block knows to the others. PTX ISA 9.1, chapter 8, with two allowances that
// correct programs in the wild need: whoever reads a flag by an atomic or a strong load needs no fence of its own, and
// what threads fenced before a barrier counts as fenced for all behind it.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "lanes.hpp"
#include "program.hpp"
#include "stamps.hpp"

namespace simt {

struct Warp;
struct ThreadBlock;
struct Region;

// What threads published: their block's accesses of epochs below `epoch`, their warp's with stamps below `warp_floor`,
// those of `lanes` with stamps up to `own`, other threads' of the block with stamps up to theirs in `stamps`, and what
// several warps did together with stamps below `many`; and two earlier pieces.
struct Knowledge {
    std::uint32_t block = 0, epoch = 0, warp = 0;
    LaneMask lanes = 0;
    std::uint32_t warp_floor = 0, own = 0, many = 0;
    const std::vector<std::uint32_t>* stamps = nullptr;
    bool block_only = false;  // fenced with scope .cta: tells the block's own threads alone
    bool apart = false;       // `lanes` met at a barrier of their own: tells them alone
    bool meeting = false;     // all that its threads had done when they met
    const Knowledge *first = nullptr, *second = nullptr;
};

using KnowledgeAt = std::unordered_map<std::uint64_t, const Knowledge*>;  // by address

// One thread's last fence and what it has learned.
struct LaneOrder {
    const Knowledge* known = nullptr;
    const Knowledge* published = nullptr;  // made since the last fence or barrier; null: to be made
    const Knowledge* learned = nullptr;    // last piece taken in, so that a loop that waits takes it once
    std::uint32_t epoch = 0, warp_floor = 0, own = 0;
    bool fenced = false, block_only = false;
};

struct WarpOrder {
    std::array<LaneOrder, kLanes> lanes;
};

struct BlockOrder {
    std::vector<std::uint32_t> stamps;                   // by thread: fenced up to here
    const std::vector<std::uint32_t>* shared = nullptr;  // the same when the last barrier was passed
    bool changed = false;
    KnowledgeAt published;              // by address in shared memory
    const Knowledge* sorted = nullptr;  // whose pieces stand in by_block
    std::unordered_map<std::uint32_t, std::vector<const Knowledge*>> by_block;
};

// Some threads of a block that come together, one after the other: how far each had come, and what they knew.
struct Meeting {
    std::vector<std::uint32_t> stamps;  // by thread; empty while nobody has come
    const Knowledge* known = nullptr;
    const Knowledge* folded = nullptr;  // a piece whose stamps are among these
};

// Of a worker: what the pointers above lead to, as long as the launch runs.
struct KnowledgeStore {
    std::deque<Knowledge> pieces;
    std::deque<std::vector<std::uint32_t>> stamps;
    std::deque<std::vector<std::uint32_t>> meetings;
    std::size_t meeting_bytes = 0;
};

// Of a launch: what was published at addresses of global memory.
struct PublishedKnowledge {
    std::mutex lock;
    KnowledgeAt at;
};

// A strong store of `lane` at `address`, before its value can be read.
void publish(Warp& warp, int lane, const Region& region, std::uint64_t address, const Instruction& instruction);
// A strong load, after its value was read.
void learn(Warp& warp, int lane, const Region& region, std::uint64_t address);
// An atomic: both, and what was published before stays published with it.
void exchange(Warp& warp, int lane, const Region& region, std::uint64_t address, const Instruction& instruction);

// Lanes of the warp have come together: each learns what one of them knows.
void share(Warp& warp, LaneMask lanes);
// The same at `__syncwarp`, behind which each may publish what one of them has fenced. `apart`: other lanes of the warp
// do not take part, so that what these did is ordered for each other alone.
void share_at_barrier(Warp& warp, LaneMask lanes, bool apart);
// All threads of the block have met at a barrier.
void share_at_barrier(ThreadBlock& block);

// Lanes come to a meeting and go on, or wait there. (meeting.cpp)
void come_to(Meeting& meeting, Warp& warp, LaneMask lanes);
// All have come: what whoever waited for it learns then. The meeting is empty again.
const Knowledge* conclude(Meeting& meeting, ThreadBlock& block);
void learn_from(Warp& warp, LaneMask lanes, const Knowledge* piece);

// What those parts of the machine need that make knowledge of other kinds.
LaneOrder& order_of(Warp& warp, int lane);
const Knowledge* keep(Warp& warp, const Knowledge& piece);
const Knowledge* joined(Warp& warp, const Knowledge* a, const Knowledge* b);
void know(LaneOrder& order, const Knowledge* known);

// Does `lane` know that what `cell` stands for is over?
bool knows(const Warp& warp, int lane, Cell cell, const Stamp& then);

}  // namespace simt
