#include "access.hpp"

#include <algorithm>

#include "counters.hpp"
#include "trace.hpp"

namespace simt {
namespace {

Window window_of(std::uint64_t address) {
    const std::uint64_t high = address & ~(kWindowBytes - 1);
    return high == kSharedWindow      ? Window::shared
           : high == kLocalWindow     ? Window::local
           : high == kParameterWindow ? Window::parameter
                                      : Window::global;
}

std::span<std::byte> parameters_of(Warp& warp, int lane) {
    if (!warp.frame->parent) return warp.block->launch->parameters;
    const std::size_t bytes = warp.frame->function->parameter_bytes;
    return std::span(warp.frame->parameters).subspan(static_cast<std::size_t>(lane) * bytes, bytes);
}

Cost wavefronts(const Warp& warp, const Access& access, std::uint32_t bytes, Traffic traffic) {
    const bool free = traffic != Traffic::atomic && bytes <= 4 &&
                      (access.shape == Shape::uniform || (access.shape == Shape::row && bytes == 4));
    return free ? Cost{1, 1} : shared_wavefronts(access.addresses().data(), warp.mask, bytes, traffic);
}

// What the machine instruction costs that ptxas made of this access and its neighbours. It begins at a multiple of its
// width.
Cost count_wide(Warp& warp, const Instruction& instruction, const Access& access, Window window, Traffic traffic) {
    const std::uint32_t bytes = instruction.compiled;
    AccessCount& count = warp.worker->wide[instruction.index];
    count.requests += 1;
    if (window == Window::shared && access.shape == Shape::uniform && traffic == Traffic::load) {
        const Cost cost = uniform_wavefronts(warp.mask, bytes);
        count.wavefronts += cost.actual;
        count.ideal_wavefronts += cost.ideal;
        return cost;
    }
    Addresses address = access.addresses();
    for (std::uint64_t& one : address) one &= ~std::uint64_t{bytes - 1};
    const bool shared = window == Window::shared;
    const Cost cost = shared ? shared_wavefronts(address.data(), warp.mask, bytes, traffic)
                             : global_sectors(address.data(), warp.mask, bytes);
    (shared ? count.wavefronts : count.sectors) += cost.actual;
    (shared ? count.ideal_wavefronts : count.ideal_sectors) += cost.ideal;
    return cost;
}

Cost sectors(const Warp& warp, const Access& access, std::uint32_t bytes, std::uint64_t lanes) {
    return access.shape == Shape::row       ? row_sectors(access.start, lanes * bytes)
           : access.shape == Shape::uniform ? Cost{1, 1}
                                            : global_sectors(access.addresses().data(), warp.mask, bytes);
}

Asked asked(Traffic traffic) {
    return traffic == Traffic::load ? Asked::load : traffic == Traffic::store ? Asked::store : Asked::atomic;
}

}  // namespace

const char* space_name(Window window) {
    switch (window) {
        case Window::shared:
            return "shared";
        case Window::local:
            return "local";
        case Window::parameter:
            return "param";
        default:
            return "global";
    }
}

Target resolve(Warp& warp, const Instruction& instruction, std::uint64_t address, Window window, std::uint32_t bytes) {
    if (window == Window::generic) {
        window = window_of(address);
        if (window == Window::shared || window == Window::local) address &= kWindowBytes - 1;
    }
    if (window == Window::parameter) return {nullptr, address - kParameterWindow, window};
    if (window == Window::local) return {nullptr, address, window};
    if (window == Window::shared) return {warp.block->shared.get(), address, window};
    AccessCount& count = warp.worker->accesses[instruction.index];
    if (!count.hint || !count.hint->holds(address, bytes)) {
        Region* const found = warp.block->launch->device->memory().nearest(address);
        count.many_regions |= count.hint && found != count.hint;
        count.hint = found;
    }
    return {count.hint, count.hint ? address - count.hint->base : address, window};
}

std::span<std::byte> extent(Warp& warp, int lane, const Target& target) {
    if (target.region) return {target.region->data, target.region->size};
    if (target.window == Window::parameter) return parameters_of(warp, lane);
    if (target.window == Window::local) return warp.local[static_cast<std::size_t>(lane)].bytes;
    return {};
}

void report_access(Warp& warp, const Instruction& instruction, int lane, Fault fault, const Target& target,
                   std::uint64_t address, std::uint32_t bytes, bool write, const char* text) {
    Finding finding;
    finding.fault = fault;
    finding.space = space_name(target.window);
    finding.address = address;
    finding.bytes = bytes;
    finding.write = write;
    finding.text = text;
    finding.offset = static_cast<std::int64_t>(target.offset);
    finding.region_bytes = extent(warp, lane, target).size();
    if (target.region) finding.region = target.region->name;
    report(warp, instruction, lane, std::move(finding));
}

std::byte* place_of(Warp& warp, const Instruction& instruction, int lane, const Target& target, std::uint64_t address,
                    std::uint32_t bytes, bool write) {
    const std::span<std::byte> all = extent(warp, lane, target);
    Fault fault;
    const bool outside = target.offset > all.size() || bytes > all.size() - target.offset;
    if (outside || (target.window == Window::shared && !in_variable(warp, instruction, target.offset, bytes)))
        fault = write ? Fault::out_of_bounds_write : Fault::out_of_bounds_read;
    else if (address % bytes != 0)
        fault = Fault::misaligned_access;
    else if (write && (target.window == Window::parameter || (target.region && !target.region->writable)))
        fault = Fault::read_only_violation;
    else
        return all.data() + target.offset;
    report_access(warp, instruction, lane, fault, target, address, bytes, write);
    return nullptr;
}

void check_local(Warp& warp, const Instruction& instruction, int lane, const Target& target, std::uint64_t address,
                 std::uint32_t bytes, bool write) {
    if (target.window != Window::local) return;
    LocalMemory& local = warp.local[static_cast<std::size_t>(lane)];
    const auto valid = std::span(local.valid).subspan(target.offset, bytes);
    if (write)
        std::fill(valid.begin(), valid.end(), 1);
    else if (!std::all_of(valid.begin(), valid.end(), [](std::uint8_t one) { return one != 0; }))
        report_access(warp, instruction, lane, Fault::uninitialised_read, target, address, bytes, false);
}

void count_access(Warp& warp, const Instruction& instruction, const Access& access, std::uint32_t bytes, Window window,
                  Traffic traffic) {
    AccessCount& count = warp.worker->accesses[instruction.index];
    const auto lanes = static_cast<std::uint64_t>(lane_count(warp.mask));
    count.requests += 1;
    count.lanes += lanes;
    if (window == Window::local || window == Window::parameter) return;
    Cost wide{};
    if (instruction.compiled != kUnknownWidth && instruction.compiled > bytes)
        wide = count_wide(warp, instruction, access, window, traffic);
    const bool shared = window == Window::shared;
    const Cost cost = shared ? wavefronts(warp, access, bytes, traffic) : sectors(warp, access, bytes, lanes);
    (shared ? count.wavefronts : count.sectors) += cost.actual;
    (shared ? count.ideal_wavefronts : count.ideal_sectors) += cost.ideal;
    if (warp.is_noted) note_access(warp, instruction, access, bytes, window, asked(traffic), cost, wide);
}

}  // namespace simt
