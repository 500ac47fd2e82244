#include "asynchronous.hpp"

#include <algorithm>
#include <memory>

#include "access.hpp"
#include "operations.hpp"
#include "trace.hpp"

namespace simt {
namespace {

constexpr std::size_t kMostInFlight = 512;  // copies of a warp; past that the oldest come early, as they may

CopiesInFlight& copies_of(Warp& warp) {
    if (!warp.copies) warp.copies = std::make_unique<CopiesInFlight>();
    return *warp.copies;
}

// Calls body(offset, bytes) for a piece of `bytes` bytes, taken apart into naturally aligned powers of two.
template <class Body>
void for_each_part(std::uint32_t bytes, Body&& body) {
    for (std::uint32_t offset = 0; offset < bytes;) {
        const std::uint32_t part = std::bit_floor(bytes - offset);
        body(offset, part);
        offset += part;
    }
}

// Reads the source of a lane's copy as a load would, with its checks. False where it lies outside, after a report.
bool read_source(Warp& warp, const Instruction& instruction, int lane, std::uint64_t address, std::uint32_t bytes,
                 std::byte* to) {
    bool inside = true;
    for_each_part(bytes, [&](std::uint32_t offset, std::uint32_t part) {
        const Target place = resolve(warp, instruction, address + offset, Window::global, part);
        const std::byte* from = place_of(warp, instruction, lane, place, address + offset, part, false);
        inside &= from != nullptr;
        if (!from) return;
        const RangeLock lock(warp, *place.region, place.offset, part);
        check_piece(warp, instruction, *place.region, place.offset, part, lane, AccessKind::read, false, nullptr);
        std::memcpy(to + offset, from, part);
    });
    return inside;
}

// What has come is not what was there when the copy was issued: somebody wrote meanwhile.
void compare_source(Warp& warp, const CopyInFlight& copy, int lane, const std::byte* now) {
    const auto at = static_cast<std::size_t>(lane);
    const std::byte* seen = copy.seen.data() + at * copy.bytes;
    const auto [changed, end] = std::mismatch(now, now + copy.source_bytes[at], seen);
    if (changed == now + copy.source_bytes[at]) return;
    const std::uint64_t address = copy.from[at] + static_cast<std::uint64_t>(changed - now);
    const Target place = resolve(warp, *copy.instruction, address, Window::global, 1);
    const RangeLock lock(warp, *place.region, place.offset, 1);
    report_overwritten(warp, *copy.instruction, *place.region, place.offset, lane);
}

// The copy of a lane is made: from here on it counts as a store of that lane.
void make_copy(Warp& warp, CopyInFlight& copy, int lane) {
    const auto at = static_cast<std::size_t>(lane);
    copy.lanes &= ~(1u << lane);
    std::array<std::byte, 16> data{};
    read_source(warp, *copy.instruction, lane, copy.from[at], copy.source_bytes[at], data.data());
    compare_source(warp, copy, lane, data.data());
    Region& shared = *warp.block->shared;
    land(warp, *copy.instruction, copy.to[at], copy.bytes, lane, data.data());
    std::memcpy(shared.data + copy.to[at], data.data(), copy.bytes);
}

// Makes the copies for which `due` holds, the oldest first.
template <class Due>
void make_copies(Warp& warp, LaneMask lanes, Due&& due) {
    if (!warp.copies) return;
    std::deque<CopyInFlight>& copies = warp.copies->copies;
    for (CopyInFlight& copy : copies)
        for_each_lane(lanes & copy.lanes, [&](int lane) {
            if (due(copy, static_cast<std::size_t>(lane))) make_copy(warp, copy, lane);
        });
    std::erase_if(copies, [](const CopyInFlight& copy) { return copy.lanes == 0; });
}

// ---- issuing -------------------------------------------------------------------------------------------------------

// How many bytes of the source each lane reads: the operand, where there is one, and none where the predicate holds.
std::array<std::uint8_t, kLanes> bytes_read(const Warp& warp, const Instruction& instruction, std::uint32_t bytes) {
    std::array<std::uint8_t, kLanes> read;
    const LaneMask ignored = warp.predicate(instruction.operand[3]);
    for (std::uint32_t lane = 0; lane < kLanes; ++lane) {
        const std::uint32_t given =
            instruction.operand[2] == kAbsent ? bytes : warp.source<std::uint32_t>(instruction.operand[2])[lane];
        read[lane] = static_cast<std::uint8_t>(ignored >> lane & 1u ? 0 : std::min(given, bytes));
    }
    return read;
}

// Does the lane's source begin where a copy of its size may? It must even where less of it is read.
bool is_aligned(Warp& warp, const CopyInFlight& copy, int lane) {
    const std::uint64_t address = copy.from[static_cast<std::size_t>(lane)];
    if (copy.source_bytes[static_cast<std::size_t>(lane)] == 0 || address % copy.bytes == 0) return true;
    const Target place = resolve(warp, *copy.instruction, address, Window::global, copy.bytes);
    place_of(warp, *copy.instruction, lane, place, address, copy.bytes, false);  // tells
    return false;
}

// Does another thread copy the same bytes to the same place already? Then that one's is enough.
bool is_under_way(const Warp& warp, const CopyInFlight& copy, int lane) {
    const auto at = static_cast<std::size_t>(lane);
    const Page& page = warp.block->shared->shadow.page(copy.to[at]);
    const Cell mark = page.writer[copy.to[at] % kPageBytes >> page.shift];
    if (mark < kFirstInFlight) return false;
    const auto other_lane = static_cast<std::size_t>(mark & kCellLane);
    const auto is_same = [&](const CopyInFlight& other) {
        return (other.lanes >> other_lane & 1u) && copy.to[at] == other.to[other_lane] &&
               copy.from[at] == other.from[other_lane] && copy.bytes == other.bytes &&
               copy.source_bytes[at] == other.source_bytes[other_lane];
    };
    const Warp& other = warp.block->warps[(mark - kFirstInFlight) >> kCellShift];
    return is_same(copy) || std::any_of(other.copies->copies.begin(), other.copies->copies.end(), is_same);
}

// Is the lane's copy issued, or does one of its ends lie where it must not?
bool issue(Warp& warp, CopyInFlight& copy, int lane, std::uint64_t to) {
    const auto at = static_cast<std::size_t>(lane);
    const Instruction& instruction = *copy.instruction;
    const Target place = resolve(warp, instruction, to, Window::shared, copy.bytes);
    if (!is_aligned(warp, copy, lane)) return false;
    if (!place_of(warp, instruction, lane, place, to, copy.bytes, true)) return false;
    if (!read_source(warp, instruction, lane, copy.from[at], copy.source_bytes[at], copy.seen.data() + at * copy.bytes))
        return false;
    copy.to[at] = to;
    copy.group[at] = copies_of(warp).groups[at];
    if (is_under_way(warp, copy, lane)) return false;
    put_in_flight(warp, instruction, to, copy.bytes, lane, copy.seen.data() + at * copy.bytes);
    return true;
}

template <std::uint32_t Bytes>
void copy_async(Warp& warp, const Instruction& instruction) {
    const Access source = access_of(warp, instruction, instruction.operand[1], Bytes);
    count_access(warp, instruction, source, Bytes, Window::global, Traffic::load);
    const Watch watch(warp, instruction, source, Window::global, Bytes, false);
    CopiesInFlight& all = copies_of(warp);
    if (all.copies.size() >= kMostInFlight)
        make_copies(warp, kAllLanes, [&](const CopyInFlight& copy, std::size_t) { return &copy == &all.copies[0]; });
    CopyInFlight copy;
    copy.instruction = &instruction;
    copy.number = all.issued++;
    copy.bytes = Bytes;
    copy.from = source.addresses();
    copy.source_bytes = bytes_read(warp, instruction, Bytes);
    const std::uint32_t operand = instruction.operand[0];
    for_each_lane(warp.mask, [&](int lane) {
        const std::uint64_t to = operand & kNarrowAddress ? warp.source<std::uint32_t>(operand)[lane]
                                                          : warp.source<std::uint64_t>(operand)[lane];
        if (issue(warp, copy, lane, to)) copy.lanes |= 1u << lane;
    });
    if (copy.lanes != 0) all.copies.push_back(copy);
    if (warp.is_noted)  // nothing is counted there
        note_access(warp, instruction, access_at(warp, copy.to, Bytes), Bytes, Window::shared, Asked::store, {}, {});
}

// ---- groups --------------------------------------------------------------------------------------------------------

void commit(Warp& warp, const Instruction&) {
    CopiesInFlight& all = copies_of(warp);
    for_each_lane(warp.mask, [&](int lane) { all.groups[static_cast<std::size_t>(lane)] += 1; });
}

// Waits until at most so many of the newest groups are in flight.
void wait_group(Warp& warp, const Instruction& instruction) {
    if (!warp.copies) return;
    const auto left = static_cast<std::uint64_t>(instruction.immediate);
    const auto& groups = warp.copies->groups;
    make_copies(warp, warp.mask, [&](const CopyInFlight& copy, std::size_t lane) {
        return copy.group[lane] < groups[lane] && groups[lane] - copy.group[lane] > left;
    });
}

void wait_all(Warp& warp, const Instruction& instruction) {
    commit(warp, instruction);
    make_copies(warp, warp.mask, [](const CopyInFlight&, std::size_t) { return true; });
}

}  // namespace

void make_copies_before(Warp& warp, int lane, std::uint64_t number) {
    make_copies(warp, 1u << lane, [number](const CopyInFlight& copy, std::size_t) { return copy.number < number; });
}

void add_asynchronous_operations(OperationTable& table) {
    table.add("cp.async.b32", "AAop", copy_async<4>);
    table.add("cp.async.b64", "AAop", copy_async<8>);
    table.add("cp.async.b128", "AAop", copy_async<16>);
    table.add("cp.async.commit_group", "", commit);
    table.add("cp.async.wait_group", "", wait_group);
    table.add("cp.async.wait_all", "", wait_all);
}

}  // namespace simt
