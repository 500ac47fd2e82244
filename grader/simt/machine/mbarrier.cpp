#include "mbarrier.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "access.hpp"
#include "operations.hpp"

namespace simt {
namespace {

constexpr std::uint32_t kBytes = 8;  // of an mbarrier

std::uint64_t address_of(const Warp& warp, const Instruction& instruction, std::uint32_t operand, int lane) {
    const std::uint64_t base = operand & kNarrowAddress ? warp.source<std::uint32_t>(operand)[lane]
                                                        : warp.source<std::uint64_t>(operand)[lane];
    return base + static_cast<std::uint64_t>(instruction.immediate);
}

// Where the lane's operand leads in shared memory; kNoPlace after a report.
constexpr std::uint64_t kNoPlace = ~0ull;
std::uint64_t place_in_shared(Warp& warp, const Instruction& instruction, int lane, std::uint32_t operand,
                              Window window) {
    const std::uint64_t address = address_of(warp, instruction, operand, lane);
    const Target place = resolve(warp, instruction, address, window, kBytes);
    if (place.window != Window::shared) report_unsupported(warp, instruction);  // PTX has none elsewhere
    return place_of(warp, instruction, lane, place, address, kBytes, true) ? place.offset : kNoPlace;
}

void check(Warp& warp, const Instruction& instruction, int lane, std::uint64_t offset, AccessKind kind) {
    check_piece(warp, instruction, *warp.block->shared, offset, kBytes, lane, kind, false, nullptr);
}

void report_missing(Warp& warp, const Instruction& instruction, int lane, std::uint64_t offset) {
    Finding finding;
    finding.fault = Fault::uninitialised_read;
    finding.space = "shared";
    finding.text = "mbarrier";
    finding.bytes = kBytes;
    finding.address = offset;
    finding.offset = static_cast<std::int64_t>(offset);
    finding.region_bytes = warp.block->shared->size;
    report(warp, instruction, lane, std::move(finding));
}

// The mbarrier at the lane's operand, checked as an access of that kind; null after a report, where none was made there
// or it was ended.
Mbarrier* mbarrier_at(Warp& warp, const Instruction& instruction, int lane, std::uint32_t operand, Window window,
                      AccessKind kind) {
    const std::uint64_t offset = place_in_shared(warp, instruction, lane, operand, window);
    if (offset == kNoPlace) return nullptr;
    const auto found = warp.block->mbarriers.find(offset);
    const bool missing = found == warp.block->mbarriers.end();
    if (missing) report_missing(warp, instruction, lane, offset);
    check(warp, instruction, lane, offset, kind);
    return missing ? nullptr : &found->second;
}

// ---- phases --------------------------------------------------------------------------------------------------------

std::uint32_t copies_awaited(const Mbarrier& barrier) {
    std::uint32_t lanes = 0;
    for (const CopiesAwaited& awaited : barrier.awaited) lanes += static_cast<std::uint32_t>(lane_count(awaited.lanes));
    return lanes;
}

void complete_if_due(ThreadBlock& block, Mbarrier& barrier) {
    if (barrier.pending != 0 || barrier.bytes != 0) return;
    barrier.told = conclude(barrier.meeting, block);
    barrier.phase += 1;
    barrier.pending = barrier.expected;
    block.rounds += 1;
}

void take_arrivals(Mbarrier& barrier, std::uint32_t count) {
    barrier.pending -= std::min(barrier.pending, count);
}

// Where only copies are missing, they come now: it is the last moment at which they may.
void let_copies_come(ThreadBlock& block, Mbarrier& barrier) {
    if (barrier.awaited.empty() || barrier.pending > copies_awaited(barrier)) return;
    for (const CopiesAwaited& awaited : std::exchange(barrier.awaited, {})) {
        for_each_lane(awaited.lanes, [&](int lane) { make_copies_before(*awaited.warp, lane, awaited.number); });
        come_to(barrier.meeting, *awaited.warp, awaited.lanes);
        take_arrivals(barrier, static_cast<std::uint32_t>(lane_count(awaited.lanes)));
    }
    complete_if_due(block, barrier);
}

// ---- operations ----------------------------------------------------------------------------------------------------

template <Window W>
void init(Warp& warp, const Instruction& instruction) {
    for_each_lane(warp.mask, [&](int lane) {
        const std::uint64_t offset = place_in_shared(warp, instruction, lane, instruction.operand[0], W);
        if (offset == kNoPlace) return;
        check(warp, instruction, lane, offset, AccessKind::write);
        Mbarrier fresh;
        fresh.expected = fresh.pending = warp.source<std::uint32_t>(instruction.operand[1])[lane];
        warp.block->mbarriers.insert_or_assign(offset, std::move(fresh));
    });
}

template <Window W>
void inval(Warp& warp, const Instruction& instruction) {
    for_each_lane(warp.mask, [&](int lane) {
        const std::uint64_t offset = place_in_shared(warp, instruction, lane, instruction.operand[0], W);
        if (offset == kNoPlace) return;
        if (warp.block->mbarriers.erase(offset) == 0) report_missing(warp, instruction, lane, offset);
        check(warp, instruction, lane, offset, AccessKind::write);
        warp.block->shared->shadow.page(offset).clear_valid(static_cast<std::uint32_t>(offset % kPageBytes), kBytes);
    });
}

// A token says which phase the arrival belongs to, and how many it lacked before.
std::uint64_t token_of(const Mbarrier& barrier) {
    return std::uint64_t{barrier.phase} << 32 | barrier.pending;
}

enum class Arrival : std::uint8_t { plain, expecting };  // expecting: an operand says how many bytes are still to come

template <Window W, Arrival Kind, bool Drop>
void arrive_at(Warp& warp, const Instruction& instruction) {
    std::array<std::uint64_t, kLanes> tokens{};
    const std::uint32_t operand = instruction.operand[2];
    for_each_lane(warp.mask, [&](int lane) {
        Mbarrier* barrier = mbarrier_at(warp, instruction, lane, instruction.operand[1], W, AccessKind::atomic);
        if (!barrier) return;
        let_copies_come(*warp.block, *barrier);  // else this arrival would be for a phase that is over
        const std::uint32_t given = operand == kAbsent ? 1 : warp.source<std::uint32_t>(operand)[lane];
        const std::uint32_t count = Kind == Arrival::expecting ? 1 : given;
        tokens[static_cast<std::size_t>(lane)] = token_of(*barrier);
        if (Kind == Arrival::expecting) barrier->bytes += given;
        if (Drop) barrier->expected -= std::min(barrier->expected, count);
        if (instruction.strength.releases) come_to(barrier->meeting, warp, 1u << lane);
        take_arrivals(*barrier, count);
        complete_if_due(*warp.block, *barrier);
    });
    warp.assign(instruction.operand[0], tokens.data());
}

// `expect_tx` and `complete_tx`: more bytes are to come, or have.
template <Window W, int Sign>
void count_bytes(Warp& warp, const Instruction& instruction) {
    for_each_lane(warp.mask, [&](int lane) {
        Mbarrier* barrier = mbarrier_at(warp, instruction, lane, instruction.operand[0], W, AccessKind::atomic);
        if (!barrier) return;
        barrier->bytes += Sign * std::int64_t{warp.source<std::uint32_t>(instruction.operand[1])[lane]};
        if (Sign < 0) complete_if_due(*warp.block, *barrier);
    });
}

// Is the phase over that a token, or the parity of its number, stands for?
bool is_over(const Mbarrier& barrier, std::uint64_t token) {
    return static_cast<std::uint32_t>(token >> 32) != barrier.phase;
}
bool is_over(const Mbarrier& barrier, std::uint32_t parity) {
    return (barrier.phase & 1) != (parity & 1);
}

template <Window W, class Awaited>
void test_wait(Warp& warp, const Instruction& instruction) {
    LaneMask over = 0;
    for_each_lane(warp.mask, [&](int lane) {
        Mbarrier* barrier = mbarrier_at(warp, instruction, lane, instruction.operand[1], W, AccessKind::read);
        if (!barrier) return;
        let_copies_come(*warp.block, *barrier);
        if (!is_over(*barrier, warp.source<Awaited>(instruction.operand[2])[lane])) return;
        over |= 1u << lane;
        if (instruction.strength.acquires) learn_from(warp, 1u << lane, barrier->told);
    });
    warp.set_predicate(instruction.operand[0], over);
    warp.resting |= over != warp.mask;
}

void pending_count(Warp& warp, const Instruction& instruction) {
    std::array<std::uint32_t, kLanes> counts;
    const auto* tokens = warp.source<std::uint64_t>(instruction.operand[1]);
    std::transform(tokens, tokens + kLanes, counts.begin(),
                   [](std::uint64_t token) { return static_cast<std::uint32_t>(token); });
    warp.assign(instruction.operand[0], counts.data());
}

// The lane arrives when the copies that it has issued so far have come. With `Counted` it is not one of those that the
// phase waits for anyway.
template <Window W, bool Counted>
void arrive_with_copies(Warp& warp, const Instruction& instruction) {
    const std::uint64_t number = warp.copies ? warp.copies->issued : 0;
    for_each_lane(warp.mask, [&](int lane) {
        Mbarrier* barrier = mbarrier_at(warp, instruction, lane, instruction.operand[0], W, AccessKind::atomic);
        if (!barrier) return;
        let_copies_come(*warp.block, *barrier);
        barrier->pending += Counted;
        std::vector<CopiesAwaited>& awaited = barrier->awaited;
        if (awaited.empty() || awaited.back().warp != &warp || awaited.back().number != number ||
            (awaited.back().lanes >> lane & 1u))
            awaited.push_back({&warp, 0, number});
        awaited.back().lanes |= 1u << lane;
    });
}

template <Window W>
void add_in(OperationTable& table, std::string_view space) {
    table.add({"mbarrier.init.", space, ".b64"}, "Ar", init<W>);
    table.add({"mbarrier.inval.", space, ".b64"}, "A", inval<W>);
    table.add({"mbarrier.arrive.", space, ".b64"}, "WAo", arrive_at<W, Arrival::plain, false>);
    table.add({"mbarrier.arrive_drop.", space, ".b64"}, "WAo", arrive_at<W, Arrival::plain, true>);
    table.add({"mbarrier.arrive.expect_tx.", space, ".b64"}, "WAr", arrive_at<W, Arrival::expecting, false>);
    table.add({"mbarrier.arrive_drop.expect_tx.", space, ".b64"}, "WAr", arrive_at<W, Arrival::expecting, true>);
    table.add({"mbarrier.expect_tx.", space, ".b64"}, "Ar", count_bytes<W, 1>);
    table.add({"mbarrier.complete_tx.", space, ".b64"}, "Ar", count_bytes<W, -1>);
    table.add({"mbarrier.test_wait.", space, ".b64"}, "PAR", test_wait<W, std::uint64_t>);
    table.add({"mbarrier.test_wait.parity.", space, ".b64"}, "PAr", test_wait<W, std::uint32_t>);
    table.add({"cp.async.mbarrier.arrive.", space, ".b64"}, "A", arrive_with_copies<W, true>);
    table.add({"cp.async.mbarrier.arrive.noinc.", space, ".b64"}, "A", arrive_with_copies<W, false>);
}

}  // namespace

void add_mbarrier_operations(OperationTable& table) {
    add_in<Window::shared>(table, "shared");
    add_in<Window::generic>(table, "generic");
    table.add("mbarrier.pending_count.b64", "wR", pending_count);
}

}  // namespace simt
