// What becomes of a piece of work: judged when it is asked for, done when its turn has come.
#include <algorithm>
#include <cstdio>
#include <cstring>

#include "software.hpp"

namespace grader {

namespace {

bool is_address_of_device(const void* pointer) {
    const auto address = reinterpret_cast<std::uintptr_t>(pointer);
    return address >= MemoryMap::first_device && address < MemoryMap::first_host;
}

std::size_t extent(const Side& side, std::size_t width, std::size_t height, std::size_t depth) {
    return (depth - 1) * side.slice + (height - 1) * side.pitch + width;
}

// May `bytes` bytes from `pointer` on be touched by the device, or by the host, as the direction says?
const char* misplaced(const MemoryMap& memory, const void* pointer, std::size_t bytes, bool by_device, bool by_host,
                      Why* why) {
    why->allocation = memory.find(pointer);
    if (const Allocation* found = why->allocation) {
        const auto address = reinterpret_cast<std::uintptr_t>(pointer);
        why->bytes = address + bytes - std::min<std::size_t>(address + bytes, found->address + found->bytes);
        if (why->bytes > 0) return "past_end";
        return by_host && !found->on_host() ? "device_for_host" : nullptr;
    }
    why->allocation = memory.find_released(pointer);
    if (why->allocation) return "freed";
    if (!pointer) return "null";
    if (is_address_of_device(pointer)) return "no_allocation";
    return by_device ? "host_for_device" : nullptr;
}

cudaError_t judge_copy(const MemoryMap& memory, const CopyWork& copy, Why* why) {
    if (copy.kind < cudaMemcpyHostToHost || copy.kind > cudaMemcpyDefault) {
        why->word = "direction";
        return cudaErrorInvalidMemcpyDirection;
    }
    if (copy.width == 0 || copy.height == 0 || copy.depth == 0) return cudaSuccess;
    if ((copy.height > 1 && (copy.width > copy.to.pitch || copy.width > copy.from.pitch))) {
        why->word = "pitch";
        return cudaErrorInvalidPitchValue;
    }
    const bool given = copy.kind != cudaMemcpyDefault;
    const bool to_device = copy.kind == cudaMemcpyHostToDevice || copy.kind == cudaMemcpyDeviceToDevice;
    const bool from_device = copy.kind == cudaMemcpyDeviceToHost || copy.kind == cudaMemcpyDeviceToDevice;
    const std::size_t written = extent(copy.to, copy.width, copy.height, copy.depth);
    const std::size_t read = extent(copy.from, copy.width, copy.height, copy.depth);
    const char* word = misplaced(memory, copy.to.pointer, written, to_device, given && !to_device, why);
    if (!word) word = misplaced(memory, copy.from.pointer, read, from_device, given && !from_device, why);
    if (!word) return cudaSuccess;
    why->word = word;
    return cudaErrorInvalidValue;
}

cudaError_t judge_fill(const MemoryMap& memory, const FillWork& fill, Why* why) {
    if (fill.width == 0 || fill.height == 0 || fill.depth == 0) return cudaSuccess;
    const std::size_t bytes = extent(fill.to, fill.width, fill.height, fill.depth);
    const char* word = misplaced(memory, fill.to.pointer, bytes, true, false, why);
    if (!word) return cudaSuccess;
    why->word = word;
    return cudaErrorInvalidValue;
}

template <typename Body>
void for_each_row(std::size_t height, std::size_t depth, Body&& body) {
    for (std::size_t slice = 0; slice < depth; ++slice)
        for (std::size_t row = 0; row < height; ++row) body(slice, row);
}

}  // namespace

cudaError_t Software::judge_work(const decltype(Work::what)& what, Why* why) const {
    if (const auto* copy = std::get_if<CopyWork>(&what)) return judge_copy(memory_, *copy, why);
    if (const auto* fill = std::get_if<FillWork>(&what)) return judge_fill(memory_, *fill, why);
    return cudaSuccess;
}

// Behind a kernel that broke the device nothing runs any more; who waits is told.
cudaError_t Software::perform(const Work& work) {
    if (const auto* host = std::get_if<HostWork>(&work.what)) {
        in_host_function_ = true;
        host->function(host->data);
        in_host_function_ = false;
    } else if (const auto* event = std::get_if<EventWork>(&work.what)) {
        event->event->recorded = true;
        event->event->when = std::chrono::steady_clock::now();
    } else if (fault_ != cudaSuccess) {
        return cudaSuccess;
    } else if (const auto* kernel = std::get_if<KernelWork>(&work.what)) {
        return perform_launch(work, *kernel);
    } else if (const auto* copy = std::get_if<CopyWork>(&work.what)) {
        return perform_copy(work, *copy);
    } else if (const auto* fill = std::get_if<FillWork>(&work.what)) {
        return perform_fill(*fill);
    } else if (const auto* child = std::get_if<ChildWork>(&work.what)) {
        for (const cudaGraphNode_t node : child->graph->ordered())
            if (const cudaError_t error = perform(node->work)) return error;
    }
    return cudaSuccess;
}

cudaError_t Software::perform_launch(const Work& work, const KernelWork& kernel) {
    Report report;
    if (!machine_.launch(kernel.kernel->name, kernel.grid, kernel.block, kernel.shared, kernel.parameters,
                         kernel.cooperative, &report)) {
        Line line(write_log, "refused_by_machine");
        line.text("kernel", kernel.kernel->name);
        line.text("reason", machine_.why());
        line.numbers("frames", work.place.frames.data(), work.place.count);
        line.end();
        fault_ = cudaErrorNotSupported;
        return cudaSuccess;
    }
    std::fwrite(report.printed.data(), 1, report.printed.size(), stdout);
    if (!report.printed.empty()) std::fflush(stdout);
    if (report.clean) return cudaSuccess;
    note(work, report);
    fault(report);
    return cudaSuccess;
}

// What a GPU would call it; data races and values that nobody has set it would not notice at all.
void Software::fault(const Report& report) {
    if (report.has("unsupported"))
        fault_ = cudaErrorNotSupported;
    else if (report.has("out_of_bounds_read") || report.has("out_of_bounds_write"))
        fault_ = cudaErrorIllegalAddress;
    else if (report.has("misaligned_access"))
        fault_ = cudaErrorMisalignedAddress;
    else if (report.has("device_trap"))
        fault_ = report.says("assert:") ? cudaErrorAssert : cudaErrorLaunchFailure;
    else if (report.has("endless_loop") || report.has("deadlock"))
        fault_ = cudaErrorLaunchTimeout;
}

bool Software::move(std::byte* to, std::byte* from, std::size_t bytes) {
    const auto target = reinterpret_cast<std::uintptr_t>(to), source = reinterpret_cast<std::uintptr_t>(from);
    const bool to_known = memory_.find(to) != nullptr, from_known = memory_.find(from) != nullptr;
    if (to_known && from_known) return machine_.copy(target, source, bytes);
    if (to_known) return machine_.write(target, from, bytes);
    if (from_known) return machine_.read(source, bytes, to);
    std::memmove(to, from, bytes);
    return true;
}

// The host fetches what nobody has written, the first time that it fetches any of it. No error, but if the program
// finds its results wrong, a likely reason.
void Software::note_unwritten(const Work& work, const CopyWork& copy) {
    constexpr std::size_t most_bytes = 4 << 20;  // that are looked through
    const Allocation *from = memory_.find(copy.from.pointer), *to = memory_.find(copy.to.pointer);
    if (!from || from->kind != MemoryKind::device || (to && !to->on_host()) || from->bytes > most_bytes) return;
    if (copy.height > 1 || copy.depth > 1 || !fetched_.insert(from->id).second) return;
    const std::string unwritten = machine_.unwritten(from->region());
    if (unwritten.empty() || unwritten.starts_with("{\"count\":0,")) return;
    Line line(write_log, "unwritten");
    line.text("function", work.function);
    line.number("allocation", from->id);
    line.number("offset", reinterpret_cast<std::uintptr_t>(copy.from.pointer) - from->address);
    line.number("bytes", copy.width);
    line.json("unwritten", unwritten);
    const Place place = work.place.count ? work.place : here();
    line.numbers("frames", place.frames.data(), place.count);
    line.end();
}

cudaError_t Software::perform_copy(const Work& work, const CopyWork& copy) {
    Why why;
    if (const cudaError_t error = judge_copy(memory_, copy, &why)) return fail(error, why);
    note_unwritten(work, copy);
    bool done = true;
    for_each_row(copy.height, copy.depth, [&](std::size_t slice, std::size_t row) {
        std::byte* to = copy.to.pointer + slice * copy.to.slice + row * copy.to.pitch;
        std::byte* from = copy.from.pointer + slice * copy.from.slice + row * copy.from.pitch;
        done = done && move(to, from, copy.width);
    });
    return done ? cudaSuccess : fail(cudaErrorInvalidValue);
}

cudaError_t Software::perform_fill(const FillWork& fill) {
    Why why;
    if (const cudaError_t error = judge_fill(memory_, fill, &why)) return fail(error, why);
    bool done = true;
    for_each_row(fill.height, fill.depth, [&](std::size_t slice, std::size_t row) {
        std::byte* to = fill.to.pointer + slice * fill.to.slice + row * fill.to.pitch;
        const auto address = reinterpret_cast<std::uintptr_t>(to);
        done = done && machine_.set(address, fill.value, fill.element_bytes, fill.width / fill.element_bytes);
    });
    return done ? cudaSuccess : fail(cudaErrorInvalidValue);
}

cudaError_t Software::run(const CUgraphExec_st& graph) {
    for (const CUgraphExec_st::Step& step : graph.steps) {
        if (!step.enabled) continue;
        current_function_ = step.work.function;
        if (const cudaError_t error = perform(step.work)) return error;
    }
    return cudaSuccess;
}

}  // namespace grader
