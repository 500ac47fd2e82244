// Warp, thread block and worker: the state that instructions work on.
#pragma once

#include <array>
#include <cstdint>
#include <exception>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "asynchronous.hpp"
#include "findings.hpp"
#include "lanes.hpp"
#include "mbarrier.hpp"
#include "ordering.hpp"
#include "program.hpp"
#include "region.hpp"
#include "stamps.hpp"

namespace simt {

struct ThreadBlock;
struct Launch;
class Device;

struct Dim3 {
    std::uint32_t x = 1, y = 1, z = 1;
    std::uint64_t volume() const { return std::uint64_t(x) * y * z; }
};

// What one memory instruction did, all its executions together. One cache line.
struct alignas(64) AccessCount {
    std::uint64_t requests = 0, lanes = 0;
    std::uint64_t sectors = 0, ideal_sectors = 0;        // global memory, 32 bytes each
    std::uint64_t wavefronts = 0, ideal_wavefronts = 0;  // shared memory
    Region* hint = nullptr;                              // where the last access went: usually the next one's place too
    std::uint32_t variable = 0;                          // in shared memory: Launch::variables, likewise
    bool many_regions = false;                           // some went elsewhere
    bool row = false;                                    // the last one was a row
};

struct BlockCount {
    std::uint64_t runs = 0, lanes = 0, splits = 0;
};

// How a thread that ended came past a barrier, seen from the block it worked in last.
enum class Passing : std::uint8_t { no, worked_behind, left_before };

// What belongs to one host thread. Nothing in it is shared while a launch runs.
struct Worker {
    std::vector<AccessCount> accesses;  // by Instruction::index
    std::vector<AccessCount> wide;      // the same for accesses that were made wider: what the wide ones cost
    std::vector<BlockCount> blocks;     // by Block::index
    FindingTable findings;
    std::uint32_t next_stamp = 0, last_stamp = 0;  // stamps taken and not used yet
    std::uint64_t barriers = 0;
    std::vector<std::pair<std::uint64_t, std::string>> printed;  // block, text
    std::size_t printed_bytes = 0;
    KnowledgeStore knowledge;
    std::map<std::pair<const Block*, std::uint32_t>, Passing>
        passed_by;  // a barrier, and where ended threads worked last
    std::exception_ptr failure;

    explicit Worker(const Program& program)
        : accesses(program.instruction_count), wide(program.instruction_count), blocks(program.block_count) {}
};

// One invocation of a function by the lanes that called it together: its registers, and the blocks that calls pass.
// Blocks of arguments, parameters and results hold one lane's bytes after the other's.
struct Frame {
    const Function* function = nullptr;
    Frame* parent = nullptr;
    std::uint32_t call_block = 0, return_block = 0;  // in the parent
    std::uint32_t depth = 0;
    std::uint32_t local_base = 0;  // where its frame begins in each lane's local memory
    LaneMask lanes = 0;            // that have not come back yet
    LineVector<std::byte> registers;
    std::vector<LaneMask> predicates;
    std::vector<std::byte> parameters;  // of a called function; a kernel's are the launch's, the same for all lanes
    std::vector<std::byte> arguments, returned;  // of the next call, of the last one
    std::vector<std::byte> results;              // what it gives back itself
};

struct LocalMemory {
    std::vector<std::byte> bytes;
    std::vector<std::uint8_t> valid;  // a byte a byte: 1 where a value was stored
};

// Lanes of a warp that stand at the same place and run together.
struct Group {
    Frame* frame;
    std::uint32_t block;
    LaneMask lanes;
    std::uint32_t back_edges = 0;  // since another group of the warp had its turn
    std::uint32_t worked = 0;      // the last block that held an instruction
};

// What lanes wait for: threads of their block, at a barrier, or the lanes of their warp that a mask names.
struct Parked {
    Frame* frame;
    std::uint32_t at;  // the block they wait at the end of
    LaneMask lanes;
    bool for_warp = false;
    LaneMask mask = 0;          // for_warp: whom they wait for
    std::uint32_t barrier = 0;  // else: its number, and how many threads it waits for; 0 = all of the block
    std::uint32_t threads = 0;

    const Block& block() const { return frame->function->blocks[at]; }
};

// Lanes that ended, and the last block in which they did anything.
struct Ended {
    const Function* function;
    std::uint32_t worked;
    std::uint32_t thread;
};

struct Warp {
    std::byte* files[2] = {};  // registers, constants
    LaneMask* predicates = nullptr;
    LaneMask mask = 0;                             // lanes that the instruction at hand runs for
    alignas(64) std::int32_t select[kLanes] = {};  // the same as 0 and -1
    ThreadBlock* block = nullptr;
    Worker* worker = nullptr;
    std::uint32_t number = 0;  // in the block
    LaneMask alive = 0, born = 0;
    LaneMask watched = 0;                           // the lane whose accesses are noted
    bool is_noted = false;                          // the whole warp's are
    std::uint32_t epoch = 0;                        // synchronisations of this warp
    std::uint32_t stamp = 0;                        // 0: none since the last synchronisation
    std::uint32_t last_stamp = 0;                   // the newest one
    std::uint32_t sync_floor = 0;                   // its stamps below lie before its last synchronisation
    std::unique_ptr<WarpOrder> order;               // null: no fence, and nothing learned
    std::unique_ptr<CopiesInFlight> copies;         // null: none was issued
    bool resting = false;                           // waits for others, and says so: they have their turn at once
    std::uint64_t instructions = 0, accounted = 0;  // issued; added to the launch's total already
    std::vector<Group> groups;
    std::vector<Parked> parked;
    Frame* frame = nullptr;                      // whose registers `files` and `predicates` are
    std::vector<std::unique_ptr<Frame>> frames;  // the kernel's own first
    std::array<LocalMemory, kLanes> local;
    std::array<LaneMask, 4> undefined = {};  // lanes in which the next store's values have none, by their position

    void enter(Frame& entered) {
        frame = &entered;
        files[0] = entered.registers.data();
        files[1] = const_cast<std::byte*>(entered.function->constants.data());
        predicates = entered.predicates.data();
    }
    void set_mask(LaneMask lanes) {
        if (lanes == mask) return;
        mask = lanes;
        unpack_mask(lanes, select);
    }
    template <class T>
    const T* source(std::uint32_t operand) const {
        return reinterpret_cast<const T*>(files[operand >> 31] + (operand & ~(kConstantFile | kNarrowAddress)));
    }
    template <class T>
    T* destination(std::uint32_t operand) const {
        return reinterpret_cast<T*>(files[0] + operand);
    }
    LaneMask predicate(std::uint32_t operand) const {
        const LaneMask value = predicates[operand & ~kNegated];
        return operand & kNegated ? ~value : value;
    }
    void set_predicate(std::uint32_t operand, LaneMask value) const {
        LaneMask& slot = predicates[operand];
        slot = (slot & ~mask) | (value & mask);
    }
    // Stores `value` where the lane runs and keeps the rest.
    template <class T>
    void assign(std::uint32_t operand, const T* value) const;
};

template <class T>
inline void Warp::assign(std::uint32_t operand, const T* value) const {
    T* to = destination<T>(operand);
    if (mask == kAllLanes) {
        std::memcpy(to, value, sizeof(T) * kLanes);
        return;
    }
    for (int lane = 0; lane < kLanes; ++lane) to[lane] = select[lane] ? value[lane] : to[lane];
}

struct ThreadBlock {
    Launch* launch = nullptr;
    Dim3 index;
    std::uint64_t linear = 0;
    std::uint32_t epoch = 0;       // barriers passed
    std::uint32_t many_stamp = 0;  // "several warps of this block", in this epoch; 0: not needed yet
    Cell floor = 0;                // cells below lie before the last barrier
    std::unique_ptr<Region> shared;
    LineVector<std::byte> shared_memory;
    std::unique_ptr<BlockOrder> order;
    std::vector<Warp> warps;
    std::vector<Ended> ended;
    std::array<std::uint32_t, 16> arrived{};                // threads that came to a barrier and went on
    std::array<Meeting, 16> meetings;                       // at barriers for a part of the block
    std::uint32_t rounds = 0;                               // barriers passed, by all of the block or a part of it
    std::unordered_map<std::uint64_t, Mbarrier> mbarriers;  // by offset in shared memory
    std::uint32_t first_warp = 0;  // whose turn comes first; Order::shuffled varies it from block to block
};

std::uint32_t thread_in_block(const Warp& warp, int lane);  // linear index
void report(Warp& warp, const Instruction& instruction, int lane, Finding finding);
struct Stopped {};  // thrown where nothing after this instruction could be believed
void report_unsupported(Warp& warp, const Instruction& instruction);  // the handler of what is not known

}  // namespace simt
