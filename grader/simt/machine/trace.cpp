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

}  // namespace simt
