// Scheduler: which lanes, warps and blocks run next.
//
// Within a warp the lanes at the smallest block number run together, so that they meet again where paths join. A group
// that goes round a loop for long gives way to the other groups of its warp, a warp that goes round for long to the
// other warps of its block, and a block whose warps all do to other blocks: so a wait for somebody else always ends.
#include <algorithm>
#include <array>
#include <deque>
#include <thread>

#include "frame.hpp"
#include "groups.hpp"
#include "launch.hpp"
#include "operations.hpp"
#include "origins.hpp"
#include "waiting.hpp"
#include "warp.hpp"

namespace simt {
namespace {

constexpr std::size_t kMostResidentBytes = 256u << 20;
constexpr std::size_t kMostResidentBlocks = 4096;  // of a launch, while they wait for each other

constexpr std::byte kUnwritten{0xc3};  // of shared memory: -391.5 as a float, and in no type what a sum begins with

constexpr std::uint64_t kCostOfFinding = 8;  // instructions, in what a warp's budget counts, not in its launch's
constexpr std::uint32_t kRoundsTold = 64;    // barriers, between two reports to the launch's budget

enum class Outcome : std::uint8_t { done, waiting, resting, turn_over, stopped };

constexpr std::uint32_t kMostRests = 64;  // of a block in a row, before other blocks have their turn

// ---- warps --------------------------------------------------------------------------------------------------------

template <class Run>
inline void run_each(Warp& warp, const Instruction* at, const Instruction* end, LaneMask lanes, Run&& run) {
    for (; at != end; ++at) {
        const LaneMask mask = guarded(warp, *at, lanes);
        if (mask == 0) continue;
        warp.set_mask(mask);
        run(*at);
    }
}

void run_straight(Warp& warp, const Instruction* at, const Instruction* end, LaneMask lanes) {
    if (warp.block->launch->origins) [[unlikely]] {
        run_each(warp, at, end, lanes, [&](const Instruction& instruction) { execute(warp, instruction); });
        return;
    }
    run_each(warp, at, end, lanes, [&](const Instruction& instruction) { instruction.run(warp, instruction); });
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
    const bool launch_over =  // of a warp that has done nothing, finish_block tells it
        options.launch_budget != 0 && warp.instructions != 0 &&
        launch.issued.load(std::memory_order_relaxed) > options.launch_budget;
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
    bool rested = false;
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
            if (block.count != 0) group.worked = group.block;
            const std::uint32_t next = run_end(warp, block, group);
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
            if (warp.resting) {
                warp.resting = false;
                rested = true;
                group.back_edges = kTurn;
                join(warp, group);
                break;
            }
            if (warp.groups.empty() && turn < 4 * kTurn) continue;
            // Others of this warp may stand here too, or before it, or wait for their turn.
            join(warp, group);
            break;
        }
        if (std::all_of(warp.groups.begin(), warp.groups.end(), [](const Group& g) { return g.back_edges >= kTurn; })) {
            for (Group& other : warp.groups) other.back_edges = 0;
            if (rested && !warp.groups.empty()) return Outcome::resting;
        }
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
    warp.born = warp.alive;
    warp.watched = 0;
    const bool is_watched = launch.options.trace_most != 0 && launch.options.trace_block == block.linear;
    warp.is_noted = is_watched && launch.options.trace_thread == kWholeBlock;
    if (is_watched && launch.options.trace_thread / kLanes == number)
        warp.watched = 1u << launch.options.trace_thread % kLanes;
    warp.mask = 0;
    unpack_mask(0, warp.select);
    warp.epoch = warp.stamp = warp.last_stamp = warp.sync_floor = 0;
    warp.order.reset();
    warp.copies.reset();
    warp.resting = false;
    warp.instructions = warp.accounted = 0;
    warp.parked.clear();
    Frame& frame = first_frame(warp);
    warp.enter(frame);
    warp.groups.assign(1, {&frame, 0, warp.alive, 0, 0});
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
    block.order.reset();
    block.ended.clear();
    block.arrived.fill(0);
    block.meetings.fill({});
    block.mbarriers.clear();
    block.rounds = 0;
    block.first_warp = launch.options.order == Order::shuffled
                           ? static_cast<std::uint32_t>((launch.shuffle_offset + linear) % launch.warps_per_block)
                           : 0;
    const std::uint64_t shared =
        std::max(std::uint64_t{launch.function->shared_bytes} + launch.dynamic_shared, launch.variables.back().end);
    const std::uint64_t own = std::uint64_t{launch.function->shared_bytes} + launch.dynamic_shared;
    block.shared_memory.assign(own, kUnwritten);
    block.shared_memory.resize(shared, std::byte{0});
    block.shared = std::make_unique<Region>("", Space::shared, 0, shared, block.shared_memory.data(), false);
    if (own < shared) block.shared->shadow.mark_valid(own, shared - own);  // what is reserved begins as zeros
    block.warps.resize(launch.warps_per_block);
    for (std::uint32_t i = 0; i < launch.warps_per_block; ++i) start_warp(block.warps[i], block, worker, i);
}

Outcome run_block(ThreadBlock& block) {
    const bool backwards = block.launch->options.order == Order::reverse;
    std::uint32_t rests = 0, rounds = block.rounds;
    for (;;) {
        bool turn_over = false, resting = false, all_done = true;
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
                case Outcome::resting:
                    resting = true;
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
            // Warps that meet at a barrier in every round never go round for a turn.
            if (block.rounds % kRoundsTold == 0)
                for (Warp& warp : block.warps) account(warp);
            continue;
        }
        if (turn_over) return Outcome::turn_over;
        if (resting) {
            rests = block.rounds == rounds ? rests + 1 : 0;
            rounds = block.rounds;
            if (rests < kMostRests) continue;
            return Outcome::turn_over;
        }
        if (release_incomplete(block)) continue;
        report_deadlock(block);
        return Outcome::stopped;
    }
}

// ---- workers -------------------------------------------------------------------------------------------------------

// The n-th block to start: forward, backward, or a fixed shuffle (an affine map, which is a permutation when its factor
// and the number of blocks have no common divisor).
std::uint64_t block_at(const Launch& launch, std::uint64_t n) {
    if (launch.options.order == Order::reverse) n = launch.blocks - 1 - n;
    if (launch.options.order == Order::shuffled)
        n = (launch.shuffle_factor * n + launch.shuffle_offset) % launch.blocks;
    return launch.options.blocks.empty() ? n : launch.options.blocks[n];
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
constexpr std::uint64_t kCostOfWarp = 16, kBytesOfCost = 256;

void finish_block(ThreadBlock& block) {
    Launch& launch = *block.launch;
    const std::uint64_t memory = block.shared_memory.size() / kBytesOfCost;
    for (Warp& warp : block.warps) {
        warp.instructions += kCostOfWarp + memory;
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
    std::size_t bytes = block.shared_memory.size() + block.warps.size() * sizeof(Warp);
    for (const Warp& warp : block.warps) {
        if (warp.copies) bytes += warp.copies->copies.size() * sizeof(CopyInFlight);
        for (const auto& frame : warp.frames) bytes += frame->registers.size();
        for (const LocalMemory& local : warp.local) bytes += local.bytes.capacity() + local.valid.capacity();
    }
    return bytes;
}

// Takes back what a block issued that only waited while other workers got on: whoever they are, they may be whom it
// waits for.
void refund(ThreadBlock& block, const std::vector<std::uint64_t>& issued_before) {
    for (std::size_t i = 0; i < block.warps.size(); ++i) {
        Warp& warp = block.warps[i];
        account(warp);
        block.launch->issued.fetch_sub(warp.instructions - issued_before[i], std::memory_order_relaxed);
        warp.instructions = warp.accounted = issued_before[i];
    }
}

// One worker's blocks: those that it has begun and that wait for others, and the next ones of the grid.
class BlockRunner {
  public:
    BlockRunner(Launch& launch, Worker& worker) : launch_(launch), worker_(worker) { launch_.advancing += 1; }
    ~BlockRunner() { advance(false); }

    void run() {
        while (!launch_.stop) {
            std::unique_ptr<ThreadBlock> block = next();
            if (!block) return;
            issued_before_.clear();
            for (const Warp& warp : block->warps) issued_before_.push_back(warp.instructions);
            switch (run_block(*block)) {
                case Outcome::stopped:
                    return;
                case Outcome::turn_over:
                    advance(false);
                    if (launch_.advancing > 0) {
                        refund(*block, issued_before_);
                        std::this_thread::yield();
                    }
                    held_ += bytes_held(*block);
                    waiting_.push_back(std::move(block));
                    break;
                default:
                    advance(true);
                    finish_block(*block);
                    spare_ = std::move(block);
            }
        }
    }

  private:
    // A fresh block while there are some and room for them, else one that waits, else none.
    std::unique_ptr<ThreadBlock> next() {
        const bool more = launch_.next_block.load(std::memory_order_relaxed) < launch_.blocks;
        const bool room = launch_.options.cooperative ||
                          (waiting_.size() < kMostResidentBlocks / launch_.workers && held_ < kMostResidentBytes);
        const std::uint64_t n = more && (room || waiting_.empty()) ? launch_.next_block.fetch_add(1) : launch_.blocks;
        std::unique_ptr<ThreadBlock> block;
        if (n < launch_.blocks) {
            block = spare_ ? std::move(spare_) : std::make_unique<ThreadBlock>();
            start_block(*block, launch_, worker_, block_at(launch_, n));
            advance(true);
        } else if (!waiting_.empty()) {
            block = std::move(waiting_.front());
            waiting_.pop_front();
            held_ -= std::min(held_, bytes_held(*block));
        }
        return block;
    }

    void advance(bool advancing) {
        if (advancing != advancing_) launch_.advancing += advancing ? 1 : -1;
        advancing_ = advancing;
    }

    Launch& launch_;
    Worker& worker_;
    std::deque<std::unique_ptr<ThreadBlock>> waiting_;
    std::size_t held_ = 0;  // bytes, by the blocks that wait
    std::unique_ptr<ThreadBlock> spare_;
    std::vector<std::uint64_t> issued_before_;
    bool advancing_ = true;
};

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
    table.set(number, stamp);
    return number;
}

void run_worker(Launch& launch, Worker& worker) {
    try {
        BlockRunner(launch, worker).run();
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
    // A loop without an end in which each lane finds something is told as soon as any other.
    warp.instructions += kCostOfFinding;
    warp.accounted += kCostOfFinding;
}

void report_unsupported(Warp& warp, const Instruction& instruction) {
    Finding finding;
    finding.fault = Fault::unsupported;
    finding.text = warp.block->launch->program->op_names[instruction.text];
    for_each_lane(warp.mask, [&](int lane) { report(warp, instruction, lane, finding); });
    throw Stopped{};
}

}  // namespace simt
