// Collective: what the lanes of a warp do together: shuffles, votes, matches, reductions (PTX ISA 9.1, section 9.7.9
// and 9.7.13). The lanes that take part stand in Warp::mask; waiting.cpp has seen to it that they are those the mask
// names.
#include <array>

#include "operations.hpp"
#include "trace.hpp"
#include "warp.hpp"

namespace simt {
namespace {

enum class Mode : std::uint8_t { up, down, butterfly, index };

// Where lane reads from. `clamp` packs the last lane of the segment and, from bit 8 on, the mask of segments.
struct Source {
    int lane;
    bool in_range;
};

template <Mode M>
Source shuffle_source(int lane, std::uint32_t b, std::uint32_t clamp) {
    const int distance = static_cast<int>(b & 31), last = static_cast<int>(clamp & 31);
    const int segment = static_cast<int>(clamp >> 8 & 31);
    const int most = (lane & segment) | (last & ~segment), least = lane & segment;
    const int from = M == Mode::up          ? lane - distance
                     : M == Mode::down      ? lane + distance
                     : M == Mode::butterfly ? lane ^ distance
                                            : least | (distance & ~segment);
    const bool in_range = M == Mode::up ? from >= most : from <= most;
    return {in_range ? from : lane, in_range};
}

void report_source(Warp& warp, const Instruction& instruction, int lane, int from, LaneMask named) {
    Finding finding;
    finding.fault = Fault::bad_sync_mask;
    finding.text = "source";
    finding.mask = named;
    finding.lanes = 1u << from;
    report(warp, instruction, lane, std::move(finding));
}

// The sources begin behind d, p and, where it is tracked, the mask of d.
template <Mode M, bool Tracked>
void shuffle(Warp& warp, const Instruction& instruction) {
    constexpr int first = Tracked ? 3 : 2;
    const auto* a = warp.source<std::uint32_t>(instruction.operand[first]);
    const auto* b = warp.source<std::uint32_t>(instruction.operand[first + 1]);
    const auto* clamp = warp.source<std::uint32_t>(instruction.operand[first + 2]);
    const LaneMask defined = Tracked ? warp.predicate(instruction.operand[7]) : kAllLanes;
    alignas(64) std::array<std::uint32_t, kLanes> result{};
    const auto* named = warp.source<std::uint32_t>(instruction.operand[first + 3]);
    // A mask that is a number is meant to name all lanes; where it is computed, a value may come from none if nobody
    // uses it then, which is what is tracked.
    const bool all_meant = instruction.operand[first + 3] & kConstantFile;
    LaneMask in_range = 0, result_defined = 0;
    std::array<std::int8_t, kLanes> sources{};
    for_each_lane(warp.mask, [&](int lane) {
        const Source source = shuffle_source<M>(lane, b[lane], clamp[lane]);
        result[static_cast<std::size_t>(lane)] = a[source.lane];
        sources[static_cast<std::size_t>(lane)] = static_cast<std::int8_t>(source.lane);
        in_range |= static_cast<LaneMask>(source.in_range) << lane;
        const bool takes_part = warp.mask >> source.lane & 1u;
        result_defined |= static_cast<LaneMask>(takes_part && (defined >> source.lane & 1u)) << lane;
        // A source that the mask names has been told as absent, unless it never was.
        const bool told = named[lane] & warp.born & 1u << source.lane;
        if (!takes_part && all_meant && !told) report_source(warp, instruction, lane, source.lane, named[lane]);
    });
    warp.assign(instruction.operand[0], result.data());
    warp.set_predicate(instruction.operand[1], in_range);
    if (Tracked) warp.set_predicate(instruction.operand[2], result_defined);
    if (warp.is_noted) note_shuffle(warp, instruction, sources);
}

enum class Vote : std::uint8_t { any, all, uniform };

template <Vote V>
void vote(Warp& warp, const Instruction& instruction) {
    const LaneMask holds = warp.predicate(instruction.operand[1]) & warp.mask;
    const bool result = V == Vote::any   ? holds != 0
                        : V == Vote::all ? holds == warp.mask
                                         : holds == 0 || holds == warp.mask;
    warp.set_predicate(instruction.operand[0], result ? kAllLanes : 0);
}

void give_all(Warp& warp, std::uint32_t destination, std::uint32_t value) {
    std::array<std::uint32_t, kLanes> all;
    all.fill(value);
    warp.assign(destination, all.data());
}

void ballot(Warp& warp, const Instruction& instruction) {
    give_all(warp, instruction.operand[0], warp.predicate(instruction.operand[1]) & warp.mask);
}

void active_mask(Warp& warp, const Instruction& instruction) {
    give_all(warp, instruction.operand[0], warp.mask);
}

// The lowest lane that takes part.
void elect(Warp& warp, const Instruction& instruction) {
    give_all(warp, instruction.operand[0], static_cast<std::uint32_t>(first_lane(warp.mask)));
    warp.set_predicate(instruction.operand[1], 1u << first_lane(warp.mask));
}

template <class T>
LaneMask equal_lanes(const Warp& warp, const T* value, int lane) {
    LaneMask equal = 0;
    for_each_lane(warp.mask, [&](int other) { equal |= static_cast<LaneMask>(value[other] == value[lane]) << other; });
    return equal;
}

template <class T>
void match_any(Warp& warp, const Instruction& instruction) {
    const T* value = warp.source<T>(instruction.operand[1]);
    std::array<std::uint32_t, kLanes> result{};
    for_each_lane(warp.mask,
                  [&](int lane) { result[static_cast<std::size_t>(lane)] = equal_lanes(warp, value, lane); });
    warp.assign(instruction.operand[0], result.data());
}

template <class T>
void match_all(Warp& warp, const Instruction& instruction) {
    const T* value = warp.source<T>(instruction.operand[2]);
    const bool same = equal_lanes(warp, value, first_lane(warp.mask)) == warp.mask;
    give_all(warp, instruction.operand[0], same ? warp.mask : 0);
    warp.set_predicate(instruction.operand[1], same ? kAllLanes : 0);
}

template <class T, class F>
void reduce(Warp& warp, const Instruction& instruction) {
    const auto* value = warp.source<T>(instruction.operand[1]);
    const int first = first_lane(warp.mask);
    T result = value[first];
    for_each_lane(warp.mask & ~(1u << first), [&](int lane) { result = F{}(result, value[lane]); });
    give_all(warp, instruction.operand[0], static_cast<std::uint32_t>(result));
}

struct Add {
    std::uint32_t operator()(std::uint32_t a, std::uint32_t b) const { return a + b; }
};
struct And {
    std::uint32_t operator()(std::uint32_t a, std::uint32_t b) const { return a & b; }
};
struct Or {
    std::uint32_t operator()(std::uint32_t a, std::uint32_t b) const { return a | b; }
};
struct Xor {
    std::uint32_t operator()(std::uint32_t a, std::uint32_t b) const { return a ^ b; }
};
struct Least {
    template <class T>
    T operator()(T a, T b) const {
        return b < a ? b : a;
    }
};
struct Most {
    template <class T>
    T operator()(T a, T b) const {
        return a < b ? b : a;
    }
};

template <Mode M>
void add_shuffle(OperationTable& table, std::string_view mode) {
    table.add({"shfl.sync.", mode, ".b32"}, "wPrrrr", shuffle<M, false>);
    table.add({"shfl.sync.", mode, ".b32.tracked"}, "wPPrrrrp", shuffle<M, true>);
}

}  // namespace

void add_collective_operations(OperationTable& table) {
    add_shuffle<Mode::up>(table, "up");
    add_shuffle<Mode::down>(table, "down");
    add_shuffle<Mode::butterfly>(table, "bfly");
    add_shuffle<Mode::index>(table, "idx");
    table.add("vote.sync.any.pred", "Ppr", vote<Vote::any>);
    table.add("vote.sync.all.pred", "Ppr", vote<Vote::all>);
    table.add("vote.sync.uni.pred", "Ppr", vote<Vote::uniform>);
    table.add("vote.sync.ballot.b32", "wpr", ballot);
    table.add("match.any.sync.b32", "wrr", match_any<std::uint32_t>);
    table.add("match.any.sync.b64", "wRr", match_any<std::uint64_t>);
    table.add("match.all.sync.b32", "wPrr", match_all<std::uint32_t>);
    table.add("match.all.sync.b64", "wPRr", match_all<std::uint64_t>);
    for (const std::string_view type : {"u32", "s32"})
        table.add({"redux.sync.add.", type}, "wrr", reduce<std::uint32_t, Add>);
    table.add("redux.sync.min.u32", "wrr", reduce<std::uint32_t, Least>);
    table.add("redux.sync.max.u32", "wrr", reduce<std::uint32_t, Most>);
    table.add("redux.sync.min.s32", "wrr", reduce<std::int32_t, Least>);
    table.add("redux.sync.max.s32", "wrr", reduce<std::int32_t, Most>);
    table.add("redux.sync.and.b32", "wrr", reduce<std::uint32_t, And>);
    table.add("redux.sync.or.b32", "wrr", reduce<std::uint32_t, Or>);
    table.add("redux.sync.xor.b32", "wrr", reduce<std::uint32_t, Xor>);
    table.add("elect.sync", "wPr", elect);
    table.add("activemask.b32", "w", active_mask);
    table.add("bar.warp.sync", "r", [](Warp&, const Instruction&) {});
}

}  // namespace simt
