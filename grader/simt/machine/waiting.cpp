#include "waiting.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <optional>

#include "groups.hpp"
#include "launch.hpp"
#include "origins.hpp"
#include "trace.hpp"

namespace simt {
namespace {

constexpr std::uint64_t kCostOfBarrier = 8;  // instructions of each warp, in what budgets count

// ---- lanes of a warp -----------------------------------------------------------------------------------------------

LaneMask mask_of(const Warp& warp, const Block& block, int lane) {
    if (block.whole_warp) return kAllLanes;
    return warp.source<std::uint32_t>(block.last.operand[block.mask_operand])[lane];
}

// Do the lanes that wait as `a` says wait for the same as those of `b`? `__syncwarp` may stand on different lines.
bool together(const Parked& a, const Parked& b) {
    if (!a.for_warp || !b.for_warp || a.mask != b.mask) return false;
    return &a.block() == &b.block() || (a.block().is_warp_barrier && b.block().is_warp_barrier);
}

LaneMask come_for(const Warp& warp, const Parked& one) {
    LaneMask come = 0;
    for (const Parked& parked : warp.parked)
        if (together(parked, one)) come |= parked.lanes;
    return come;
}

// Where lanes that have not come stand now: the site of what they wait for, else 0.
std::uint16_t site_of(const Warp& warp, LaneMask lanes) {
    for (const Parked& parked : warp.parked)
        if (parked.lanes & lanes) return parked.block().last.site;
    return 0;
}

void report_mask(Warp& warp, const Instruction& instruction, LaneMask lanes, LaneMask mask, const char* what,
                 LaneMask missing) {
    Finding finding;
    finding.fault = Fault::bad_sync_mask;
    finding.text = what;
    finding.mask = mask;
    finding.lanes = missing;
    finding.other_site = site_of(warp, missing);
    for_each_lane(lanes, [&](int lane) { report(warp, instruction, lane, finding); });
}

// Lanes that a matrix operation lacks: they never were, have ended, or are elsewhere.
void report_lacking(Warp& warp, const Instruction& instruction, LaneMask lanes) {
    const LaneMask missing = ~lanes;
    if (missing == 0) return;
    const char* what = (missing & warp.born) == 0 ? "matrix_partial" : "matrix_absent";
    report_mask(warp, instruction, lanes, kAllLanes, what, missing & warp.born ? missing & warp.born : missing);
}

// What lanes did before `__syncwarp` is ordered before what others of them do behind it.
void synchronise(Warp& warp, LaneMask lanes) {
    const bool all = (warp.alive & ~lanes) == 0;
    if (all) {
        warp.epoch += 1;
        warp.stamp = 0;
    }
    share_at_barrier(warp, lanes, !all);
    if (all) warp.sync_floor = warp.worker->next_stamp;
}

// The registers of `lanes` go from one frame of a function to another.
void copy_lanes(const Frame& from, Frame& to, LaneMask lanes) {
    const Function& function = *from.function;
    const auto copy = [&](std::size_t start, std::size_t slots, std::size_t width) {
        for (std::size_t slot = 0; slot < slots; ++slot)
            for_each_lane(lanes, [&](int lane) {
                const std::size_t at = start + (slot * kLanes + static_cast<std::size_t>(lane)) * width;
                std::memcpy(to.registers.data() + at, from.registers.data() + at, width);
            });
    };
    copy(0, function.n32, 4);
    copy(std::size_t{function.n32} * 4 * kLanes, function.n64, 8);
    for (std::size_t i = kFirstPredicate; i < to.predicates.size(); ++i)
        to.predicates[i] = (to.predicates[i] & ~lanes) | (from.predicates[i] & lanes);
}

// Runs the instruction for `lanes`, which have come together under `mask`.
void run_collective(Warp& warp, const Block& block, LaneMask lanes, LaneMask mask) {
    const Instruction& instruction = block.last;
    if (block.whole_warp) {
        report_lacking(warp, instruction, lanes);
        warp.set_mask(lanes);
        execute(warp, instruction);
        return;
    }
    if (const LaneMask strangers = lanes & ~mask) report_mask(warp, instruction, strangers, mask, "caller", strangers);
    if (block.is_warp_barrier) {
        synchronise(warp, lanes);
    } else if (const LaneMask ended = mask & warp.born & ~warp.alive & ~lanes) {
        report_mask(warp, instruction, lanes, mask, "ended", ended);
    }
    if (!block.is_warp_barrier) share(warp, lanes);
    warp.set_mask(lanes);
    execute(warp, instruction);
}

// Lets all that wait together with `first` go on. Lanes that called the function from different places have frames of
// their own: the instruction runs on the first one's, and the others get back what is theirs.
void release(Warp& warp, Parked first) {
    const LaneMask come = come_for(warp, first);
    std::vector<Parked> released;
    for (const Parked& parked : warp.parked)
        if (together(parked, first)) released.push_back(parked);
    std::erase_if(warp.parked, [&](const Parked& parked) { return together(parked, first); });
    const auto for_other_frames = [&](auto&& body) {
        for (const Parked& parked : released)
            if (parked.frame != first.frame && parked.frame->function == first.frame->function) body(parked);
    };
    std::optional<Frame> before;  // in a recursion, the first frame may be where the others go back to
    for_other_frames([&](const Parked& parked) {
        if (!before) before = *first.frame;
        copy_lanes(*parked.frame, *first.frame, parked.lanes);
    });
    warp.enter(*first.frame);
    run_collective(warp, first.block(), come, first.mask);
    for_other_frames([&](const Parked& parked) {
        copy_lanes(*first.frame, *parked.frame, parked.lanes);
        copy_lanes(*before, *first.frame, parked.lanes);
    });
    for (const Parked& parked : released) join(warp, {parked.frame, parked.block().next, parked.lanes, 0, parked.at});
}

// ---- barriers of a block -------------------------------------------------------------------------------------------

struct Arrivals {
    std::uint32_t threads = 0;  // that wait
    std::uint32_t counted = 0;  // a whole warp counts as 32, as the hardware does it
    std::uint32_t wanted = 0;   // 0: all of the block
};

Arrivals arrivals_at(const ThreadBlock& block, std::uint32_t id) {
    Arrivals here;
    here.counted = block.arrived[id];
    for (const Warp& warp : block.warps) {
        LaneMask come = 0;
        for (const Parked& parked : warp.parked)
            if (!parked.for_warp && parked.barrier == id) {
                come |= parked.lanes;
                here.wanted = std::max(here.wanted, parked.threads);
            }
        here.threads += static_cast<std::uint32_t>(lane_count(come));
        here.counted += come != 0 && come == warp.alive ? kLanes : static_cast<std::uint32_t>(lane_count(come));
    }
    return here;
}

std::uint32_t living(const ThreadBlock& block) {
    std::uint32_t threads = 0;
    for (const Warp& warp : block.warps) threads += static_cast<std::uint32_t>(lane_count(warp.alive));
    return threads;
}

// The numbers of the barriers at which somebody waits, as bits.
std::uint32_t waited_for(const ThreadBlock& block) {
    std::uint32_t ids = 0;
    for (const Warp& warp : block.warps)
        for (const Parked& parked : warp.parked)
            if (!parked.for_warp) ids |= 1u << parked.barrier;
    return ids;
}

template <class Body>
void for_each_waiting(ThreadBlock& block, std::uint32_t id, Body&& body) {
    for (Warp& warp : block.warps)
        for (const Parked& parked : warp.parked)
            if (!parked.for_warp && parked.barrier == id) body(warp, parked);
}

void report_divergence(Warp& warp, const Parked& parked, std::uint16_t other_site, std::uint32_t other_thread,
                       const char* text = "") {
    Finding finding;
    finding.fault = Fault::barrier_divergence;
    finding.text = text;
    finding.other_site = other_site;
    finding.other_known = true;
    finding.other_block = warp.block->linear;
    finding.other_thread = other_thread;
    for_each_lane(parked.lanes, [&](int lane) { report(warp, parked.block().last, lane, finding); });
}

// A barrier for the whole block must be one and the same for all its threads. Threads that wait on different lines took
// different ways, and only happen to be as many as the barrier waits for.
void report_different_lines(ThreadBlock& block, std::uint32_t id) {
    const std::vector<Site>& sites = block.launch->program->sites;
    const Parked* first = nullptr;
    std::uint32_t first_thread = 0;
    for_each_waiting(block, id, [&](Warp& warp, const Parked& parked) {
        const std::uint16_t site = parked.block().last.site;
        if (!first) {
            first = &parked;
            first_thread = thread_in_block(warp, first_lane(parked.lanes));
        } else if (parked.block().aligned && sites[site].line != sites[first->block().last.site].line) {
            report_divergence(warp, parked, first->block().last.site, first_thread);
        }
    });
}

bool reaches(const Function& function, std::uint32_t from, std::uint32_t to) {
    std::vector<bool> seen(function.blocks.size());
    std::vector<std::uint32_t> open{from};
    while (!open.empty()) {
        const std::uint32_t at = open.back();
        open.pop_back();
        if (at >= seen.size() || seen[at]) continue;
        if (at == to) return true;
        seen[at] = true;
        const Block& block = function.blocks[at];
        open.push_back(block.next);
        if (block.ending == Ending::branch) open.push_back(block.target);
        if (block.ending == Ending::jump)
            for (const std::uint32_t target : function.jump_tables[block.target]) open.push_back(target);
    }
    return false;
}

// How an ended thread, whose last work was in the block `worked`, came past the barrier where `parked` waits.
Passing passing(const Function& function, const Parked& parked, std::uint32_t worked) {
    const bool before = reaches(function, worked, parked.at);
    if (reaches(function, parked.block().next, worked) && !before) return Passing::worked_behind;
    return before && function.blocks[worked].ending == Ending::branch ? Passing::left_before : Passing::no;
}

// Threads that ended need not come. But one that did work which lies behind the barrier has passed it by; and one that
// left at a branch before it is told too, as "left": only the source says whether that was a `return`, which is
// allowed, or the way round an `if` with the barrier in it.
void report_passers(ThreadBlock& block, std::uint32_t id) {
    for (const Ended& ended : block.ended)
        for_each_waiting(block, id, [&](Warp& warp, const Parked& parked) {
            const Function& function = *parked.frame->function;
            if (&function != ended.function || !parked.block().aligned) return;
            const auto key = std::pair(&parked.block(), ended.worked);
            const auto [known, fresh] = warp.worker->passed_by.try_emplace(key, Passing::no);
            if (fresh) known->second = passing(function, parked, ended.worked);
            if (known->second == Passing::no) return;
            const Block& worked = function.blocks[ended.worked];
            const bool left = known->second == Passing::left_before;
            const std::uint16_t site =
                left ? worked.last.site : function.instructions[worked.first + worked.count - 1].site;
            report_divergence(warp, parked, site, ended.thread, left ? "left" : "behind");
        });
}

bool gives_result(ThreadBlock& block, std::uint32_t id) {
    bool gives = false;
    for_each_waiting(block, id,
                     [&](Warp&, const Parked& parked) { gives |= parked.block().barrier != BarrierKind::sync; });
    return gives;
}

// What a barrier with a reduction gives all its threads.
std::uint32_t reduced(ThreadBlock& block, std::uint32_t id) {
    std::uint32_t holds = 0, threads = 0;
    for_each_waiting(block, id, [&](Warp& warp, const Parked& parked) {
        if (parked.block().barrier == BarrierKind::sync) return;
        warp.enter(*parked.frame);
        threads += static_cast<std::uint32_t>(lane_count(parked.lanes));
        holds += static_cast<std::uint32_t>(lane_count(warp.predicate(parked.block().last.operand[3]) & parked.lanes));
    });
    const Parked* one = nullptr;
    for_each_waiting(block, id, [&](Warp&, const Parked& parked) { one = &parked; });
    const BarrierKind kind = one->block().barrier;
    return kind == BarrierKind::count ? holds : kind == BarrierKind::all ? holds == threads : holds != 0;
}

void give_result(Warp& warp, const Parked& parked, std::uint32_t value) {
    const Block& block = parked.block();
    if (block.barrier == BarrierKind::sync) return;
    warp.enter(*parked.frame);
    warp.set_mask(parked.lanes);
    if (block.barrier == BarrierKind::count) {
        std::array<std::uint32_t, kLanes> all;
        all.fill(value);
        warp.assign(block.last.operand[0], all.data());
    } else {
        warp.set_predicate(block.last.operand[0], value ? kAllLanes : 0);
    }
}

void pass(ThreadBlock& block, std::uint32_t id) {
    if (gives_result(block, id)) {
        const std::uint32_t value = reduced(block, id);
        for_each_waiting(block, id, [&](Warp& warp, const Parked& parked) { give_result(warp, parked, value); });
    }
    block.arrived[id] = 0;
    const Knowledge* told = conclude(block.meetings[id], block);
    for (Warp& warp : block.warps) {
        for (const Parked& parked : warp.parked)
            if (!parked.for_warp && parked.barrier == id) {
                learn_from(warp, parked.lanes, told);
                join(warp, {parked.frame, parked.block().next, parked.lanes, 0, parked.at});
            }
        std::erase_if(warp.parked, [id](const Parked& parked) { return !parked.for_warp && parked.barrier == id; });
    }
}

// What the block's threads did before a barrier is ordered before what others do behind it.
void start_epoch(ThreadBlock& block) {
    const Worker& worker = *block.warps[0].worker;
    share_at_barrier(block);
    block.epoch += 1;
    block.many_stamp = 0;
    block.floor = std::max(kFirstCell, worker.next_stamp << kCellShift);
    for (Warp& warp : block.warps) {
        warp.stamp = 0;
        warp.sync_floor = worker.next_stamp;
    }
}

}  // namespace

LaneMask run_or_park(Warp& warp, const Block& block, Group& group, LaneMask lanes) {
    LaneMask parked = 0;
    if (block.whole_warp && lanes == kAllLanes) {
        run_collective(warp, block, lanes, lanes);
        return 0;
    }
    while (lanes != 0) {
        const LaneMask mask = mask_of(warp, block, first_lane(lanes));
        LaneMask same = 0;
        for_each_lane(lanes, [&](int lane) { same |= mask_of(warp, block, lane) == mask ? 1u << lane : 0u; });
        lanes &= ~same;
        if ((mask & warp.alive & ~same) == 0) {
            run_collective(warp, block, same, mask);
            continue;
        }
        warp.parked.push_back({group.frame, group.block, same, true, mask, 0, 0});
        parked |= same;
    }
    if (parked != 0) {
        release_in_warp(warp);
        warp.enter(*group.frame);
    }
    return parked;
}

bool release_in_warp(Warp& warp) {
    for (const Parked& first : warp.parked) {
        if (!first.for_warp || (first.mask & warp.alive & ~come_for(warp, first)) != 0) continue;
        release(warp, first);
        return true;
    }
    return false;
}

bool release_incomplete(ThreadBlock& block) {
    for (Warp& warp : block.warps) {
        const Parked* first = nullptr;
        for (const Parked& parked : warp.parked)
            if (parked.for_warp && (!first || parked.at < first->at)) first = &parked;
        if (!first) continue;
        const LaneMask come = come_for(warp, *first);
        if (!first->block().whole_warp)  // else `release` tells it
            report_mask(warp, first->block().last, come, first->mask, "absent", first->mask & warp.alive & ~come);
        release(warp, *first);
        return true;
    }
    return false;
}

void park_at_barrier(Warp& warp, const Block& block, const Group& group, LaneMask lanes) {
    if (lanes == 0) return;
    const int lane = first_lane(lanes);
    const int first = block.barrier == BarrierKind::sync ? 0 : 1;  // behind the result
    const std::uint32_t id = warp.source<std::uint32_t>(block.last.operand[first])[lane];
    const std::uint32_t count = block.last.operand[first + 1];
    const std::uint32_t threads = count == kAbsent ? 0 : warp.source<std::uint32_t>(count)[lane];
    warp.parked.push_back({group.frame, group.block, lanes, false, 0, id & 15, threads});
    if (threads != 0) come_to(warp.block->meetings[id & 15], warp, lanes);
    if (warp.is_noted) note_barrier(warp, block, lanes);
}

void arrive(Warp& warp, const Instruction& instruction) {
    const std::uint32_t id = warp.source<std::uint32_t>(instruction.operand[0])[first_lane(warp.mask)] & 15;
    warp.block->arrived[id] += warp.mask == warp.alive ? kLanes : static_cast<std::uint32_t>(lane_count(warp.mask));
    come_to(warp.block->meetings[id], warp, warp.mask);
}

bool release_barriers(ThreadBlock& block) {
    bool released = false, all = false;
    const std::uint32_t alive = living(block);
    for (std::uint32_t ids = waited_for(block); ids != 0; ids &= ids - 1) {
        const auto id = static_cast<std::uint32_t>(std::countr_zero(ids));
        const Arrivals here = arrivals_at(block, id);
        if (here.wanted == 0 ? here.threads < alive : here.counted < here.wanted) continue;
        released = true;
        const bool everybody = here.wanted == 0 || here.threads == block.launch->block.volume();
        all |= everybody;
        if (here.wanted == 0) {
            report_different_lines(block, id);
            report_passers(block, id);
        }
        if (everybody) block.meetings[id] = {};  // an epoch says it all
        pass(block, id);
    }
    if (all) start_epoch(block);
    if (released) {
        block.warps[0].worker->barriers += 1;
        block.rounds += 1;
        for (Warp& warp : block.warps) warp.instructions += kCostOfBarrier;
    }
    return released;
}

void report_deadlock(ThreadBlock& block) {
    for (Warp& warp : block.warps)
        for (const Parked& parked : warp.parked) {
            const Arrivals here = arrivals_at(block, parked.barrier);
            Finding finding;
            finding.fault = Fault::deadlock;
            finding.waiting = here.threads;
            finding.wanted = here.wanted ? here.wanted : living(block);
            for_each_lane(parked.lanes, [&](int lane) { report(warp, parked.block().last, lane, finding); });
        }
    block.launch->stop = true;
}

void note_ended(Warp& warp, const Group& group, LaneMask lanes) {
    std::vector<Ended>& ended = warp.block->ended;
    const Function* function = warp.block->launch->function;
    const std::uint32_t worked = group.worked;
    if (group.frame->parent || function->blocks[worked].count == 0)
        return;  // it left from inside a call, or did nothing
    for (const Ended& known : ended)
        if (known.worked == worked) return;
    ended.push_back({function, worked, thread_in_block(warp, first_lane(lanes))});
}

}  // namespace simt
