// Scheduler: which lanes, warps and blocks run next.
//
// Within a warp the lanes at the smallest block number run together, so that they meet again where paths join. A group
// that goes round a loop for long gives way to the other groups of its warp, a warp that goes round for long to the
// other warps of its block, and a block whose warps all do to other blocks: so a wait for somebody else always ends.
#include <algorithm>
#include <array>
#include <deque>

#include "frame.hpp"
#include "launch.hpp"
#include "operations.hpp"
#include "warp.hpp"

namespace simt {
namespace {

constexpr std::uint32_t kTurn = 1024;  // back edges a group may take before others have their turn
constexpr std::size_t kMostResidentBytes = 256u << 20;
constexpr std::size_t kMostResidentBlocks = 64;  // of one worker, while they wait for each other

enum class Outcome : std::uint8_t { done, waiting, turn_over, stopped };

// ---- warps ---------------------------------------------------------------------------------------------------------

// Lanes at the same block of the same call become one group.
void join(Warp& warp, Frame* frame, std::uint32_t block, LaneMask lanes, std::uint32_t back_edges) {
    if (lanes == 0) return;
    for (Group& group : warp.groups)
        if (group.frame == frame && group.block == block) {
            group.lanes |= lanes;
            group.back_edges = std::min(group.back_edges, back_edges);
            return;
        }
    warp.groups.push_back({frame, block, lanes, back_edges});
}

// Does `a` come first? Smallest block first, in the frame where both are or were called from; a call before what
// follows it.
bool comes_first(const Group& a, const Group& b) {
    const Frame *at_a = a.frame, *at_b = b.frame;
    std::uint32_t block_a = a.block, block_b = b.block;
    const auto climb = [](const Frame*& frame, std::uint32_t& block) {
        block = frame->call_block;
        frame = frame->parent;
    };
    while (at_a != at_b) {
        if (at_a->depth >= at_b->depth)
            climb(at_a, block_a);
        else
            climb(at_b, block_b);
    }
    return block_a != block_b ? block_a < block_b : a.frame->depth > b.frame->depth;
}

Group take_next(Warp& warp) {
    auto best = warp.groups.begin();
    for (auto group = best; group != warp.groups.end(); ++group) {
        const bool tired = group->back_edges >= kTurn, best_tired = best->back_edges >= kTurn;
        if (tired != best_tired ? best_tired : comes_first(*group, *best)) best = group;
    }
    const Group taken = *best;
    *best = warp.groups.back();
    warp.groups.pop_back();
    return taken;
}

LaneMask guarded(const Warp& warp, const Instruction& instruction, LaneMask lanes) {
    if (instruction.guard == 0) return lanes;
    const LaneMask holds = warp.predicates[(instruction.guard - 1) >> 1];
    return lanes & ((instruction.guard - 1) & 1 ? ~holds : holds);
}

void run_straight(Warp& warp, const Instruction* at, const Instruction* end, LaneMask lanes) {
    for (; at != end; ++at) {
        const LaneMask mask = guarded(warp, *at, lanes);
        if (mask == 0) continue;
        warp.set_mask(mask);
        at->run(warp, *at);
    }
}

// Where the lanes go from the end of `block`; those that leave or wait are taken out. Returns the group's own next
// block, or kNoBlock when no lane of it goes on by itself.
class BlockEnd {
  public:
    BlockEnd(Warp& warp, const Block& block, Group& group) : warp_(warp), block_(block), group_(group) {}

    std::uint32_t go() {
        const LaneMask chosen = guarded(warp_, block_.last, group_.lanes);
        switch (block_.ending) {
            case Ending::fall_through:
                return block_.next;
            case Ending::branch:
                return branch(chosen);
            case Ending::jump:
                jump(chosen);
                break;
            case Ending::call:
                enter(warp_.block->launch->program->functions[block_.target], chosen);
                break;
            case Ending::call_indirect:
                call_indirect(chosen);
                break;
            case Ending::give_back:
                return come_back(chosen);
            case Ending::leave:
                forget_lanes(warp_, *group_.frame, chosen);
                break;
            case Ending::trap:
                trap(chosen);
                break;
            case Ending::barrier:
                park(chosen);
                break;
            case Ending::warp_barrier:
                park_in_warp(chosen);
                break;
        }
        group_.lanes &= ~chosen;
        return group_.lanes ? block_.next : kNoBlock;
    }

  private:
    std::uint32_t branch(LaneMask taken) {
        if (taken == group_.lanes) return block_.target;
        if (taken == 0) return block_.next;
        warp_.worker->blocks[block_.index].splits += 1;
        // The nearer place keeps the group, the other lanes wait for their number to come.
        const bool target_first = block_.target < block_.next;
        const LaneMask others = target_first ? group_.lanes & ~taken : taken;
        join(warp_, group_.frame, target_first ? block_.next : block_.target, others, group_.back_edges);
        group_.lanes &= ~others;
        return target_first ? block_.target : block_.next;
    }

    void jump(LaneMask lanes) {
        const auto* index = warp_.source<std::uint32_t>(block_.last.operand[0]);
        const std::vector<std::uint32_t>& table = group_.frame->function->jump_tables[block_.target];
        for_each_lane(lanes, [&](int lane) {
            if (index[lane] >= table.size()) unknown_target(lane);
            join(warp_, group_.frame, table[index[lane]], 1u << lane, group_.back_edges);
        });
    }

    void enter(const Function& callee, LaneMask lanes) {
        if (lanes == 0) return;
        Frame& frame = call(warp_, block_.last, callee, lanes, group_.block, block_.next);
        join(warp_, &frame, 0, lanes, 0);
    }

    // A pointer to a function: lanes that call the same one call it together.
    void call_indirect(LaneMask lanes) {
        const std::vector<Function>& functions = warp_.block->launch->program->functions;
        std::array<std::uint64_t, kLanes> address;
        std::copy_n(warp_.source<std::uint64_t>(block_.last.operand[0]), kLanes, address.begin());
        while (lanes != 0) {
            const int first = first_lane(lanes);
            const std::uint64_t wanted = address[static_cast<std::size_t>(first)];
            const std::uint64_t index = (wanted - kFunctionBase) / kFunctionStride;
            if (wanted < kFunctionBase || wanted % kFunctionStride != 0 || index >= functions.size())
                unknown_target(first);
            LaneMask same = 0;
            for_each_lane(
                lanes, [&](int lane) { same |= address[static_cast<std::size_t>(lane)] == wanted ? 1u << lane : 0u; });
            enter(functions[index], same);
            lanes &= ~same;
        }
    }

    [[noreturn]] void unknown_target(int lane) {
        warp_.set_mask(1u << lane);
        report_unsupported(warp_, block_.last);
        throw Stopped{};
    }

    // Of a kernel that is the end, of a called function the way back.
    std::uint32_t come_back(LaneMask lanes) {
        Frame& frame = *group_.frame;
        group_.lanes &= ~lanes;
        const std::uint32_t next = group_.lanes ? block_.next : kNoBlock;
        if (!frame.parent) {
            forget_lanes(warp_, frame, lanes);
        } else if (lanes != 0) {
            join(warp_, frame.parent, frame.return_block, lanes, 0);
            give_back(warp_, frame, lanes);  // the frame may be gone now
        }
        return next;
    }

    void trap(LaneMask lanes) {
        if (lanes == 0) return;
        Finding finding;
        finding.fault = Fault::device_trap;
        for_each_lane(lanes, [&](int lane) { report(warp_, block_.last, lane, finding); });
        throw Stopped{};
    }

    void park(LaneMask lanes) {
        if (lanes == 0) return;
        const int lane = first_lane(lanes);
        const std::uint32_t id = warp_.source<std::uint32_t>(block_.last.operand[0])[lane];
        const std::uint32_t count = block_.last.operand[1];
        const std::uint32_t threads = count == kAbsent ? 0 : warp_.source<std::uint32_t>(count)[lane];
        warp_.parked.push_back({group_.frame, block_.next, lanes, block_.last.site, false, 0, id & 15, threads});
    }

    // Each lane brings a mask of its own; lanes that bring the same one wait together.
    void park_in_warp(LaneMask lanes) {
        const auto* masks = warp_.source<std::uint32_t>(block_.last.operand[0]);
        while (lanes != 0) {
            const LaneMask mask = masks[first_lane(lanes)];
            LaneMask same = 0;
            for_each_lane(lanes, [&](int lane) { same |= masks[lane] == mask ? 1u << lane : 0u; });
            warp_.parked.push_back({group_.frame, block_.next, same, block_.last.site, true, mask, 0, 0});
            lanes &= ~same;
        }
    }

    Warp& warp_;
    const Block& block_;
    Group& group_;
};

// Lets the lanes go on whose whole mask has come (lanes that have ended do not count). True if there were any.
bool release_in_warp(Warp& warp) {
    for (const Parked& first : warp.parked) {
        if (!first.for_warp) continue;
        const LaneMask mask = first.mask;
        LaneMask come = 0;
        for (const Parked& parked : warp.parked)
            if (parked.for_warp && parked.mask == mask) come |= parked.lanes;
        if ((mask & warp.alive & ~come) != 0) continue;
        for (const Parked& parked : warp.parked)
            if (parked.for_warp && parked.mask == mask) join(warp, parked.frame, parked.block, parked.lanes, 0);
        std::erase_if(warp.parked, [mask](const Parked& parked) { return parked.for_warp && parked.mask == mask; });
        warp.epoch += 1;
        warp.stamp = 0;
        return true;
    }
    return false;
}

// Adds to the launch's total what the warp has issued since it was asked last.
void account(Warp& warp) {
    warp.block->launch->issued.fetch_add(warp.instructions - warp.accounted, std::memory_order_relaxed);
    warp.accounted = warp.instructions;
}

// Where a block jumps or, if it does not, where it stops. In a loop that is a better line to show than where a block
// begins, which may be arithmetic that the compiler took from elsewhere.
const Instruction& end_of(const Function& function, const Block& block) {
    if (block.ending != Ending::fall_through || block.count == 0) return block.last;
    return function.instructions[block.first + block.count - 1];
}

// Of a warp's budget, so small a part is far from what an honest warp needs where a launch is over its own.
constexpr std::uint64_t kEndlessShare = 32;

// `block` is one that the group has just run or is about to run.
bool over_budget(Warp& warp, const Group& group, std::uint32_t block) {
    const Launch& launch = *warp.block->launch;
    const LaunchOptions& options = launch.options;
    const bool warp_over = options.warp_budget != 0 && warp.instructions > options.warp_budget;
    const bool launch_over =
        options.launch_budget != 0 && launch.issued.load(std::memory_order_relaxed) > options.launch_budget;
    if (!warp_over && !launch_over) return false;
    // A loop without an end may be in every warp, and all of them together reach the launch's bound first.
    const bool endless = options.warp_budget != 0 && warp.instructions > options.warp_budget / kEndlessShare;
    const Function& function = *group.frame->function;
    Finding finding;
    finding.fault = endless ? Fault::endless_loop : Fault::redundant_traffic;
    report(warp, end_of(function, function.blocks[block]), first_lane(group.lanes), finding);
    warp.block->launch->stop = true;
    return true;
}

// Runs `warp` until no lane can go on by itself, or until it has gone round loops for a turn.
Outcome run_warp(Warp& warp) {
    std::uint32_t turn = 0;
    while (!warp.groups.empty() || release_in_warp(warp)) {
        Group group = take_next(warp);
        if (over_budget(warp, group, group.block)) return Outcome::stopped;
        warp.enter(*group.frame);
        const Function& function = *group.frame->function;
        for (;;) {
            const Block& block = function.blocks[group.block];
            BlockCount& count = warp.worker->blocks[block.index];
            count.runs += 1;
            count.lanes += static_cast<std::uint64_t>(lane_count(group.lanes));
            warp.instructions += block.issued;
            const Instruction* first = function.instructions.data() + block.first;
            run_straight(warp, first, first + block.count, group.lanes);
            const std::uint32_t next = BlockEnd(warp, block, group).go();
            if (next == kNoBlock) break;
            const std::uint32_t from = group.block;
            const bool back = next <= from;
            group.block = next;
            if (back) {
                group.back_edges += 1;
                turn += 1;
                if (turn % kTurn == 0) {
                    account(warp);
                    if (warp.block->launch->stop || over_budget(warp, group, from)) return Outcome::stopped;
                }
            }
            if (warp.groups.empty() && turn < 4 * kTurn) continue;
            // Others of this warp may stand here too, or before it, or wait for their turn.
            join(warp, group.frame, group.block, group.lanes, group.back_edges);
            break;
        }
        if (std::all_of(warp.groups.begin(), warp.groups.end(), [](const Group& g) { return g.back_edges >= kTurn; }))
            for (Group& other : warp.groups) other.back_edges = 0;
        if (turn >= 4 * kTurn) return Outcome::turn_over;
    }
    return warp.parked.empty() ? Outcome::done : Outcome::waiting;
}

// ---- blocks --------------------------------------------------------------------------------------------------------

void start_warp(Warp& warp, ThreadBlock& block, Worker& worker, std::uint32_t number) {
    const Launch& launch = *block.launch;
    const std::uint64_t threads = launch.block.volume(), first = std::uint64_t{number} * kLanes;
    warp.block = &block;
    warp.worker = &worker;
    warp.number = number;
    warp.alive = threads - first >= kLanes ? kAllLanes : (1u << (threads - first)) - 1;
    warp.mask = 0;
    unpack_mask(0, warp.select);
    warp.epoch = warp.stamp = 0;
    warp.instructions = warp.accounted = 0;
    warp.parked.clear();
    Frame& frame = first_frame(warp);
    warp.enter(frame);
    warp.groups.assign(1, {&frame, 0, warp.alive, 0});
}

Dim3 block_index(const Launch& launch, std::uint64_t linear) {
    const Dim3& grid = launch.grid;
    return {static_cast<std::uint32_t>(linear % grid.x), static_cast<std::uint32_t>(linear / grid.x % grid.y),
            static_cast<std::uint32_t>(linear / grid.x / grid.y)};
}

void start_block(ThreadBlock& block, Launch& launch, Worker& worker, std::uint64_t linear) {
    block.launch = &launch;
    block.linear = linear;
    block.index = block_index(launch, linear);
    block.epoch = block.many_stamp = 0;
    block.floor = kFirstCell;
    block.first_warp = launch.options.order == Order::shuffled
                           ? static_cast<std::uint32_t>((launch.shuffle_offset + linear) % launch.warps_per_block)
                           : 0;
    const std::uint64_t shared = std::uint64_t{launch.function->shared_bytes} + launch.dynamic_shared;
    block.shared_memory.assign(shared, std::byte{0});
    block.shared = std::make_unique<Region>("", Space::shared, 0, shared, block.shared_memory.data(), false);
    block.warps.resize(launch.warps_per_block);
    for (std::uint32_t i = 0; i < launch.warps_per_block; ++i) start_warp(block.warps[i], block, worker, i);
}

// A barrier for the whole block must be one and the same for all its threads. Threads that wait on different lines took
// different ways, and only happen to be as many as the barrier waits for.
void report_different_lines(ThreadBlock& block, std::uint32_t id) {
    const std::vector<Site>& sites = block.launch->program->sites;
    const Parked* first = nullptr;
    for (Warp& warp : block.warps)
        for (const Parked& parked : warp.parked) {
            if (parked.for_warp || parked.barrier != id) continue;
            if (!first) first = &parked;
            if (sites[parked.site].line == sites[first->site].line) continue;
            Finding finding;
            finding.fault = Fault::barrier_divergence;
            finding.other_site = first->site;
            Instruction where;
            where.site = parked.site;
            for_each_lane(parked.lanes, [&](int lane) { report(warp, where, lane, finding); });
        }
}

// Lets everybody through a barrier that is complete. True if there was one.
bool release_barriers(ThreadBlock& block) {
    bool released = false;
    for (std::uint32_t id = 0; id < 16; ++id) {
        std::uint32_t arrived = 0, wanted = 0, alive = 0;
        for (const Warp& warp : block.warps) {
            alive += static_cast<std::uint32_t>(lane_count(warp.alive));
            for (const Parked& parked : warp.parked)
                if (!parked.for_warp && parked.barrier == id) {
                    arrived += static_cast<std::uint32_t>(lane_count(parked.lanes));
                    wanted = std::max(wanted, parked.threads);
                }
        }
        if (arrived == 0 || arrived < (wanted ? std::min(wanted, alive) : alive)) continue;
        released = true;
        if (wanted == 0) report_different_lines(block, id);
        for (Warp& warp : block.warps) {
            for (const Parked& parked : warp.parked)
                if (!parked.for_warp && parked.barrier == id) join(warp, parked.frame, parked.block, parked.lanes, 0);
            std::erase_if(warp.parked, [id](const Parked& parked) { return !parked.for_warp && parked.barrier == id; });
        }
    }
    return released;
}

void pass_barrier(ThreadBlock& block, Worker& worker) {
    worker.barriers += 1;
    block.epoch += 1;
    block.many_stamp = 0;
    block.floor = std::max(kFirstCell, worker.next_stamp << kCellShift);
    for (Warp& warp : block.warps) warp.stamp = 0;
}

void report_deadlock(ThreadBlock& block) {
    for (Warp& warp : block.warps)
        for (const Parked& parked : warp.parked) {
            Finding finding;
            finding.fault = Fault::deadlock;
            Instruction where;
            where.site = parked.site;
            for_each_lane(parked.lanes, [&](int lane) { report(warp, where, lane, finding); });
        }
    block.launch->stop = true;
}

Outcome run_block(ThreadBlock& block, Worker& worker) {
    const bool backwards = block.launch->options.order == Order::reverse;
    for (;;) {
        bool turn_over = false, all_done = true;
        const auto count = static_cast<std::uint32_t>(block.warps.size());
        for (std::uint32_t i = 0; i < count; ++i) {
            Warp& warp = block.warps[(block.first_warp + (backwards ? count - 1 - i : i)) % count];
            if (warp.groups.empty() && warp.parked.empty()) continue;
            switch (run_warp(warp)) {
                case Outcome::stopped:
                    return Outcome::stopped;
                case Outcome::turn_over:
                    turn_over = true;
                    all_done = false;
                    break;
                case Outcome::waiting:
                    all_done = false;
                    break;
                case Outcome::done:
                    break;
            }
        }
        if (all_done) return Outcome::done;
        if (release_barriers(block)) {
            pass_barrier(block, worker);
            continue;
        }
        if (turn_over) return Outcome::turn_over;
        report_deadlock(block);
        return Outcome::stopped;
    }
}

// ---- workers -------------------------------------------------------------------------------------------------------

// The n-th block to start: forward, backward, or a fixed shuffle (an affine map, which is a permutation when its factor
// and the number of blocks have no common divisor).
std::uint64_t block_at(const Launch& launch, std::uint64_t n) {
    if (launch.options.order == Order::forward) return n;
    if (launch.options.order == Order::reverse) return launch.blocks - 1 - n;
    return (launch.shuffle_factor * n + launch.shuffle_offset) % launch.blocks;
}

// Ends the launch.
[[noreturn]] void give_up(Worker& worker, std::uint64_t block, Fault fault, const char* what) {
    Finding finding;
    finding.fault = fault;
    finding.text = what;
    finding.block = block;
    worker.findings.add(std::move(finding));
    throw Stopped{};
}

// A block costs something even where its threads do nothing: a huge, idle grid must end too.
constexpr std::uint64_t kCostOfWarp = 16;

void finish_block(ThreadBlock& block) {
    Launch& launch = *block.launch;
    for (Warp& warp : block.warps) {
        warp.instructions += kCostOfWarp;
        account(warp);
    }
    if (launch.options.launch_budget == 0 ||
        launch.issued.load(std::memory_order_relaxed) <= launch.options.launch_budget)
        return;
    const bool last = launch.next_block.load(std::memory_order_relaxed) >= launch.blocks;
    if (!last && !launch.stop.exchange(true))
        give_up(*block.warps[0].worker, block.linear, Fault::redundant_traffic, "grid");
}

// What a block holds while it waits for others.
std::size_t bytes_held(const ThreadBlock& block) {
    std::size_t bytes = block.shared_memory.size();
    for (const Warp& warp : block.warps) {
        for (const auto& frame : warp.frames) bytes += frame->registers.size();
        for (const LocalMemory& local : warp.local) bytes += local.bytes.capacity() + local.valid.capacity();
    }
    return bytes;
}

void run_blocks(Launch& launch, Worker& worker) {
    std::deque<std::unique_ptr<ThreadBlock>> waiting;
    std::size_t held = 0;  // bytes, by the blocks that wait
    std::unique_ptr<ThreadBlock> spare;
    while (!launch.stop) {
        std::unique_ptr<ThreadBlock> block;
        const bool more = launch.next_block.load(std::memory_order_relaxed) < launch.blocks;
        const bool room = waiting.size() < kMostResidentBlocks && held < kMostResidentBytes;
        const std::uint64_t n = more && (room || waiting.empty()) ? launch.next_block.fetch_add(1) : launch.blocks;
        if (n < launch.blocks) {
            block = spare ? std::move(spare) : std::make_unique<ThreadBlock>();
            start_block(*block, launch, worker, block_at(launch, n));
        } else if (!waiting.empty()) {
            block = std::move(waiting.front());
            waiting.pop_front();
            held -= std::min(held, bytes_held(*block));
        } else {
            return;
        }
        switch (run_block(*block, worker)) {
            case Outcome::stopped:
                return;
            case Outcome::turn_over:
                held += bytes_held(*block);
                waiting.push_back(std::move(block));
                break;
            default:
                finish_block(*block);
                spare = std::move(block);
        }
    }
}

}  // namespace

std::uint32_t take_stamp(Launch& launch, Worker& worker, const Stamp& stamp) {
    StampTable& table = launch.device->stamps();
    if (worker.next_stamp == worker.last_stamp) {
        worker.next_stamp = worker.last_stamp = table.take_chunk();
        if (worker.next_stamp == kNoOrder) give_up(worker, stamp.block, Fault::unsupported, "synchronisations");
        worker.last_stamp += StampTable::kChunk;
    }
    const std::uint32_t number = worker.next_stamp;
    worker.next_stamp += 2;
    table[number] = stamp;
    table[number + 1] = stamp;
    if (stamp.reach == Reach::thread) table[number + 1].reach = Reach::warp;
    return number;
}

void run_worker(Launch& launch, Worker& worker) {
    try {
        run_blocks(launch, worker);
    } catch (const Stopped&) {
        launch.stop = true;
    } catch (...) {  // out of memory: the launch ends, and whoever asked for it hears of it
        launch.stop = true;
        worker.failure = std::current_exception();
    }
}

std::uint32_t thread_in_block(const Warp& warp, int lane) {
    return warp.number * kLanes + static_cast<std::uint32_t>(lane);
}

void report(Warp& warp, const Instruction& instruction, int lane, Finding finding) {
    finding.site = instruction.site;
    finding.block = warp.block->linear;
    finding.thread = thread_in_block(warp, lane);
    warp.worker->findings.add(std::move(finding));
}

void report_unsupported(Warp& warp, const Instruction& instruction) {
    Finding finding;
    finding.fault = Fault::unsupported;
    finding.text = warp.block->launch->program->op_names[instruction.text];
    for_each_lane(warp.mask, [&](int lane) { report(warp, instruction, lane, finding); });
    throw Stopped{};
}

void add_control_operations(OperationTable& table) {  // their meaning lies in BlockEnd
    for (const char* name : {"bra", "call", "ret", "exit", "trap"}) table.add(name, "", report_unsupported);
    table.add("call.indirect", "R", report_unsupported);
    table.add("brx", "r*", report_unsupported);
    table.add("bar.sync", "ro", report_unsupported);
    table.add("bar.warp.sync", "r", report_unsupported);
}

}  // namespace simt
