#include "trace.hpp"

#include <algorithm>

namespace simt {

void Watch::before(Warp& warp, const Instruction& instruction, const Access& access, Window window, std::uint32_t bytes,
                   bool write) {
    const int lane = first_lane(warp.watched);
    warp_ = &warp;
    bytes_ = bytes;
    target_ = resolve(warp, instruction, access.address(lane), window, bytes);
    if (target_.region && target_.region->holds(target_.region->base + target_.offset, bytes))
        target_.region->shadow.page(target_.offset);  // made now: a load's value is looked up before it is loaded
    entry_.function = warp.frame->function;
    entry_.site = instruction.site;
    entry_.text = instruction.text;
    entry_.space = space_name(target_.window);
    if (target_.region) entry_.region = target_.region->name;
    entry_.offset = target_.offset;
    entry_.write = write;
    // A load's value is what is there before: its own address register may be where it is put.
    if (!write) after();
    on_ = write;
}

void Watch::after() {
    const std::span<std::byte> all = extent(*warp_, first_lane(warp_->watched), target_);
    if (target_.offset <= all.size() && bytes_ <= all.size() - target_.offset) {
        const auto value = all.subspan(target_.offset, bytes_);
        entry_.value.assign(value.begin(), value.end());
    }
    std::vector<TraceEntry>& trace = warp_->block->launch->trace;
    if (trace.size() < warp_->block->launch->options.trace_most) trace.push_back(std::move(entry_));
}

namespace {

WarpEntry entry_of(const Warp& warp, const Instruction& instruction, LaneMask lanes, Asked asked) {
    WarpEntry entry;
    entry.function = warp.frame->function;
    entry.warp = warp.number;
    entry.instruction = instruction.index;
    entry.site = instruction.site;
    entry.text = instruction.text;
    entry.asked = asked;
    entry.lanes = lanes;
    return entry;
}

void keep(Warp& warp, WarpEntry entry) {
    std::vector<WarpEntry>& trace = warp.block->launch->warp_trace;
    if (trace.size() < warp.block->launch->options.trace_most) trace.push_back(std::move(entry));
}

}  // namespace

void note_access(Warp& warp, const Instruction& instruction, const Access& access, std::uint32_t bytes, Window window,
                 Asked asked, Cost cost, Cost compiled_cost) {
    WarpEntry entry = entry_of(warp, instruction, warp.mask, asked);
    const Target first = resolve(warp, instruction, access.start, window, bytes);
    entry.space = space_name(window);
    if (first.region) entry.region = first.region->name;
    entry.bytes = bytes;
    entry.compiled = instruction.compiled;
    entry.cost = cost;
    entry.compiled_cost = compiled_cost;
    // An address that says by itself that it is one of shared memory has more bits than the place there.
    const std::uint64_t start = window == Window::shared  ? access.start & ~(kWindowBytes - 1)
                                : first.region != nullptr ? first.region->base
                                                          : 0;
    for_each_lane(warp.mask,
                  [&](int lane) { entry.at.push_back(static_cast<std::int64_t>(access.address(lane) - start)); });
    keep(warp, std::move(entry));
}

void note_shuffle(Warp& warp, const Instruction& instruction, const std::array<std::int8_t, kLanes>& sources) {
    WarpEntry entry = entry_of(warp, instruction, warp.mask, Asked::shuffle);
    for_each_lane(warp.mask, [&](int lane) { entry.at.push_back(sources[static_cast<std::size_t>(lane)]); });
    keep(warp, std::move(entry));
}

void note_barrier(Warp& warp, const Block& block, LaneMask lanes) {
    keep(warp, entry_of(warp, block.last, lanes, Asked::barrier));
}

}  // namespace simt
