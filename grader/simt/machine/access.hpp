// Access: where the lanes of a memory instruction lead, classed a warp at a time.
//
// Lanes that touch one address, or pieces side by side (a row), are checked and moved as one interval; everything else
// lane by lane.
#pragma once

#include <array>
#include <cstring>
#include <optional>
#include <span>

#include "checks.hpp"
#include "counters.hpp"
#include "launch.hpp"
#include "warp.hpp"

namespace simt {

enum class Window : std::uint8_t { global, shared, local, parameter, generic };
enum class Shape : std::uint8_t { uniform, row, other };
using Addresses = std::array<std::uint64_t, kLanes>;

struct Access {
    const void* registers;  // of the address, 32 or 64 bits a lane
    std::uint64_t add;
    bool narrow;
    Shape shape;
    int first;            // lowest lane that takes part
    std::uint64_t start;  // its address

    std::uint64_t address(int lane) const {
        if (narrow) return static_cast<std::uint32_t>(static_cast<const std::uint32_t*>(registers)[lane] + add);
        return static_cast<const std::uint64_t*>(registers)[lane] + add;
    }
    Addresses addresses() const {
        Addresses all;
        for (int lane = 0; lane < kLanes; ++lane) all[static_cast<std::size_t>(lane)] = address(lane);
        return all;
    }
};

// Where an address leads: a region and the place in it, or (no region) a lane's own local memory or parameters.
struct Target {
    Region* region;
    std::uint64_t offset;
    Window window;
};

// Lanes' pieces side by side, as they lie in memory.
using Staging = std::array<std::byte, kLanes * 16>;

// Locks the pages that [offset, offset + bytes) lies in; at most two, lower one first.
class RangeLock {
  public:
    RangeLock(Warp& warp, Region& region, std::uint64_t offset, std::uint32_t bytes) {
        if (!warp.block->launch->parallel || region.space != Space::global) return;
        first_.emplace(region.shadow.page(offset), true);
        if (offset / kPageBytes != (offset + bytes - 1) / kPageBytes)
            last_.emplace(region.shadow.page(offset + bytes - 1), true);
    }

  private:
    std::optional<PageLock> first_, last_;
};

namespace detail {

template <class T, bool Full>
Shape shape_of(const T* address, const std::int32_t* select, int first, LaneMask lanes, T stride) {
    const T start = address[first], base = start - stride * static_cast<T>(first);
    T row = 0, same = 0;
    for (int lane = 0; lane < kLanes; ++lane) {
        const T chosen = Full ? ~T{0} : static_cast<T>(static_cast<std::int64_t>(select[lane]));
        row |= (address[lane] ^ (base + stride * static_cast<T>(lane))) & chosen;
        same |= (address[lane] ^ start) & chosen;
    }
    const LaneMask run = lanes >> first;
    if (row == 0 && (run & (run + 1)) == 0) return Shape::row;
    return same == 0 ? Shape::uniform : Shape::other;
}

}  // namespace detail

// `bytes` is what each lane moves, at the address that it has in `addresses`.
inline Access access_at(const Warp& warp, const Addresses& addresses, std::uint32_t bytes) {
    const int first = first_lane(warp.mask);
    const Shape shape = detail::shape_of<std::uint64_t, false>(addresses.data(), warp.select, first, warp.mask, bytes);
    return {addresses.data(), 0, false, shape, first, addresses[static_cast<std::size_t>(first)]};
}

// `bytes` is what each lane moves.
inline Access access_of(const Warp& warp, const Instruction& instruction, std::uint32_t operand, std::uint32_t bytes) {
    Access access;
    access.add = static_cast<std::uint64_t>(instruction.immediate);
    access.narrow = operand & kNarrowAddress;
    access.first = first_lane(warp.mask);
    const bool full = warp.mask == kAllLanes;
    if (access.narrow) {
        const auto* from = warp.source<std::uint32_t>(operand);
        access.registers = from;
        access.shape = full ? detail::shape_of<std::uint32_t, true>(from, warp.select, 0, warp.mask, bytes)
                            : detail::shape_of<std::uint32_t, false>(from, warp.select, access.first, warp.mask, bytes);
    } else {
        const auto* from = warp.source<std::uint64_t>(operand);
        access.registers = from;
        access.shape = full ? detail::shape_of<std::uint64_t, true>(from, warp.select, 0, warp.mask, bytes)
                            : detail::shape_of<std::uint64_t, false>(from, warp.select, access.first, warp.mask, bytes);
    }
    access.start = access.address(access.first);
    return access;
}

const char* space_name(Window window);
Target resolve(Warp& warp, const Instruction& instruction, std::uint64_t address, Window window, std::uint32_t bytes);

// All bytes that one lane can reach where the target lies.
std::span<std::byte> extent(Warp& warp, int lane, const Target& target);

// A fault of one lane's access; `text` says what is wrong where that is not the address of the bytes.
void report_access(Warp& warp, const Instruction& instruction, int lane, Fault fault, const Target& target,
                   std::uint64_t address, std::uint32_t bytes, bool write, const char* text = "");

// The memory behind one lane's access, or null after a report.
std::byte* place_of(Warp& warp, const Instruction& instruction, int lane, const Target& target, std::uint64_t address,
                    std::uint32_t bytes, bool write);

// Local memory has no races, but bytes without a value.
void check_local(Warp& warp, const Instruction& instruction, int lane, const Target& target, std::uint64_t address,
                 std::uint32_t bytes, bool write);

void count_access(Warp& warp, const Instruction& instruction, const Access& access, std::uint32_t bytes, Window window,
                  Traffic traffic);

// One lane's load of `bytes` bytes, checked; zeros where there is nothing to load.
void fetch_piece(Warp& warp, const Instruction& instruction, int lane, std::uint64_t address, Window window,
                 std::uint32_t bytes, AccessKind kind, std::byte* to);

// A warp's store, counted and checked. Lanes' pieces of `bytes` bytes lie side by side in `staging`, by lane.
void store_pieces(Warp& warp, const Instruction& instruction, const Access& access, Window window, std::uint32_t bytes,
                  const Staging& staging);

// Do these bytes of shared memory lie in one variable?
inline bool in_variable(const Warp& warp, const Instruction& instruction, std::uint64_t offset, std::uint64_t bytes) {
    const std::vector<Extent>& variables = warp.block->launch->variables;
    std::uint32_t& likely = warp.worker->accesses[instruction.index].variable;
    if (variables[likely].holds(offset, bytes)) return true;
    for (std::uint32_t i = 0; i < variables.size(); ++i)
        if (variables[i].holds(offset, bytes)) {
            likely = i;
            return true;
        }
    return false;
}

// Whole row or single piece inside one region and aligned?
inline bool plain(const Warp& warp, const Instruction& instruction, const Access& access, const Target& target,
                  std::uint32_t bytes, std::uint64_t total) {
    if (!target.region || access.start % bytes != 0) return false;
    if (target.window == Window::shared) return in_variable(warp, instruction, target.offset, total);
    return target.offset <= target.region->size && total <= target.region->size - target.offset;
}

}  // namespace simt
