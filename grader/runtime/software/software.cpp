#include "software.hpp"

#include <algorithm>
#include <cstring>

#include "../errors.hpp"
#include "frames.hpp"

namespace grader {

thread_local CUstream_st* Software::current_stream_ = nullptr;
thread_local const char* Software::current_function_ = "";
thread_local bool Software::in_host_function_ = false;
thread_local Software* Software::used_ = nullptr;

Software& Software::get() {
    static Software* of_the_process = new Software;  // never gone: programs call CUDA from destructors too
    return used_ ? *used_ : *of_the_process;
}

void Software::use(Software* software) {
    used_ = software;
}

void Software::forgive() {
    fault_ = cudaSuccess;
    poisoned_ = false;
    reports_ = 0;
    Runtime::get().forget_call();
}

Software::Software() : memory_(machine_) {
    legacy_.id = 1;
    legacy_.legacy = true;
    per_thread_.id = 2;
}

cudaStreamCaptureMode& Software::thread_mode() {
    static thread_local cudaStreamCaptureMode mode = cudaStreamCaptureModeGlobal;
    return mode;
}

Place Software::here() {
    return frames_here();
}

// ---- beginning of a call -------------------------------------------------------------------------------------------

cudaError_t Software::begin(const char* function) {
    current_function_ = function;
    Runtime& runtime = Runtime::get();
    if (!runtime.started()) return runtime.finish(cudaErrorNoDevice);
    if (in_host_function_) return fail(cudaErrorNotPermitted, {"host_function"});
    return poisoned_ ? runtime.finish(fault_) : cudaSuccess;
}

bool Software::capture_forbids(const Capture& capture) const {
    if (thread_mode() == cudaStreamCaptureModeRelaxed || capture.mode == cudaStreamCaptureModeRelaxed) return false;
    return capture.mode == cudaStreamCaptureModeGlobal || capture.thread == std::this_thread::get_id();
}

cudaError_t Software::begin_blocking(const char* function) {
    if (const cudaError_t error = begin(function)) return error;
    bool forbidden = false;
    const auto look = [&](const CUstream_st& stream) {
        if (stream.capture && capture_forbids(*stream.capture)) stream.capture->invalidated = forbidden = true;
    };
    for (const CUstream_st* stream : streams_) look(*stream);
    look(per_thread_);
    return forbidden ? fail(cudaErrorStreamCaptureUnsupported, {"capturing"}) : cudaSuccess;
}

cudaError_t Software::begin_waiting(const char* function) {
    if (const cudaError_t error = begin_blocking(function)) return error;
    return wait_for_device(function);
}

cudaError_t Software::wait_for_device(const char* function) {
    if (const cudaError_t error = begin(function)) return error;
    if (fault_ == cudaSuccess) return cudaSuccess;
    poisoned_ = true;
    return Runtime::get().finish(fault_);
}

cudaError_t Software::enter(const char* function, cudaStream_t handle, const Place*) {
    const Lock locked = lock();
    if (const cudaError_t error = begin(function)) return error;
    current_stream_ = stream(handle);
    if (!current_stream_) return fail(cudaErrorInvalidResourceHandle, {"no_stream"});
    if (current_stream_->capture && current_stream_->capture->invalidated)
        return fail(cudaErrorStreamCaptureInvalidated, {"invalidated"});
    if (!current_stream_->legacy) return cudaSuccess;
    bool implied = false;
    for (const CUstream_st* other : streams_) {
        if (!other->capture || other->flags & cudaStreamNonBlocking) continue;
        other->capture->invalidated = implied = true;
    }
    return implied ? fail(cudaErrorStreamCaptureImplicit, {"capturing"}) : cudaSuccess;
}

cudaError_t Software::wait(const char* function) {
    const Lock locked = lock();
    if (const cudaError_t error = begin(function)) return error;
    unsupported(function);
    return cudaErrorNotSupported;
}

// ---- streams -------------------------------------------------------------------------------------------------------

CUstream_st* Software::stream(cudaStream_t handle) {
    if (handle == nullptr || handle == cudaStreamLegacy) return &legacy_;
    if (handle == cudaStreamPerThread) return &per_thread_;
    return streams_.count(handle) ? handle : nullptr;
}

CUstream_st* Software::make_stream(unsigned flags, int priority) {
    auto* made = new CUstream_st;
    made->flags = flags;
    made->priority = priority;
    made->id = next_id();
    streams_.insert(made);
    return made;
}

void Software::remove_stream(CUstream_st* stream) {
    if (stream->capture) stream->capture->invalidated = true;
    streams_.erase(stream);
    delete stream;
}

void Software::begin_capture(CUstream_st* stream, cudaStreamCaptureMode mode, std::shared_ptr<CUgraph_st> graph) {
    stream->capture =
        std::make_shared<Capture>(Capture{next_id(), std::move(graph), stream, mode, std::this_thread::get_id()});
    stream->last.clear();
}

std::shared_ptr<CUgraph_st> Software::graph(cudaGraph_t handle) const {
    const auto found = graphs_.find(handle);
    return found == graphs_.end() ? nullptr : found->second;
}

cudaGraph_t Software::keep_graph(std::shared_ptr<CUgraph_st> graph) {
    const cudaGraph_t handle = graph.get();
    graphs_[handle] = std::move(graph);
    return handle;
}

std::vector<CUstream_st*> Software::streams_of(const Capture& capture) {
    std::vector<CUstream_st*> found;
    for (CUstream_st* stream : streams_)
        if (stream->capture.get() == &capture) found.push_back(stream);
    if (per_thread_.capture.get() == &capture) found.push_back(&per_thread_);
    return found;
}

void Software::end_capture(const Capture& capture) {
    for (CUstream_st* stream : streams_of(capture)) {
        stream->last.clear();
        stream->capture.reset();
    }
}

cudaStreamCaptureStatus Software::capture_status(cudaStream_t handle) {
    const Lock locked = lock();
    const CUstream_st* known = stream(handle);
    if (!known || !known->capture) return cudaStreamCaptureStatusNone;
    return known->capture->invalidated ? cudaStreamCaptureStatusInvalidated : cudaStreamCaptureStatusActive;
}

// ---- what the shared functions ask ---------------------------------------------------------------------------------

cudaError_t Software::submit(decltype(Work::what) what, const Place* place) {
    Why why;
    if (const cudaError_t error = judge_work(what, &why)) return fail(error, why);
    Work work{std::move(what), current_function_, place ? *place : Place{}};
    CUstream_st* stream = current_stream_;
    if (!stream->capture) return perform(work);
    stream->last = {stream->capture->graph->add(std::move(work), stream->last)};
    return cudaSuccess;
}

cudaError_t Software::launch(const Launch& launch) {
    const Lock locked = lock();
    return submit(kernel_work(launch), &launch.place);
}

KernelWork kernel_work(const Launch& launch) {
    KernelWork work{launch.kernel, launch.grid, launch.block, launch.shared, launch.cooperative, {}};
    const std::vector<Parameter>& parameters = launch.kernel->parameters;
    for (const Parameter& parameter : parameters)
        work.parameters.resize(std::max<std::size_t>(work.parameters.size(), parameter.offset + parameter.size));
    for (std::size_t i = 0; i < parameters.size(); ++i)
        std::memcpy(work.parameters.data() + parameters[i].offset, launch.arguments[i], parameters[i].size);
    return work;
}

cudaError_t Software::fill(void* destination, int value, std::size_t bytes) {
    const Lock locked = lock();
    const Side to{static_cast<std::byte*>(destination), bytes, bytes};
    return submit(FillWork{to, static_cast<unsigned>(value), 1, bytes, 1, 1});
}

CopyWork line_copy(void* destination, const void* source, std::size_t bytes, cudaMemcpyKind kind) {
    const Side to{static_cast<std::byte*>(destination), bytes, bytes};
    const Side from{static_cast<std::byte*>(const_cast<void*>(source)), bytes, bytes};
    return {to, from, bytes, 1, 1, kind};
}

cudaError_t Software::copy(void* destination, const void* source, std::size_t bytes, cudaMemcpyKind kind) {
    const Lock locked = lock();
    return submit(line_copy(destination, source, bytes, kind));
}

cudaError_t Software::copy_to_symbol(const Variable& symbol, std::size_t offset, const void* source, std::size_t bytes,
                                     cudaMemcpyKind kind) {
    const Lock locked = lock();
    if (kind != cudaMemcpyHostToDevice && kind != cudaMemcpyDeviceToDevice && kind != cudaMemcpyDefault)
        return fail(cudaErrorInvalidMemcpyDirection, {"direction"});
    const std::uintptr_t address = address_of(symbol);
    if (!address) return fail(cudaErrorInvalidSymbol);
    return submit(line_copy(reinterpret_cast<void*>(address + offset), source, bytes, kind));
}

std::uintptr_t Software::address_of(const Variable& variable) {
    const std::uintptr_t address = machine_.variable(variable.name);
    if (address) memory_.adopt_variable(address, variable.size);
    return address;
}

void* Software::place_managed(const Variable& variable) {
    const Lock locked = lock();
    current_function_ = "__managed__";
    const std::size_t limit = Runtime::get().device().memory_bytes;
    const Allocation* made = memory_.allocate(MemoryKind::managed, variable.size, cudaMemAttachGlobal, limit);
    if (!made || !machine_.lend(variable.name, made->memory)) return nullptr;
    note_allocation(*made);
    return made->memory;
}

cudaError_t Software::allocate(void** address, std::size_t bytes) {
    const Lock locked = lock();
    return make(MemoryKind::device, bytes, 0, address);
}

// Memory that a graph allocates is there as long as the program.
cudaError_t Software::release(void* address) {
    const Lock locked = lock();
    if (current_stream_->capture) return cudaSuccess;
    return free(address, MemoryKind::device, MemoryKind::device);
}

cudaError_t Software::make(MemoryKind kind, std::size_t bytes, unsigned flags, void** address) {
    if (!address) return fail(cudaErrorInvalidValue, {"null"});
    const Allocation* made = memory_.allocate(kind, bytes, flags, Runtime::get().device().memory_bytes);
    if (!made) return fail(cudaErrorMemoryAllocation, {"no_room", nullptr, bytes});
    *address = reinterpret_cast<void*>(made->address);
    note_allocation(*made);
    return cudaSuccess;
}

cudaError_t Software::free(void* address, MemoryKind kind, MemoryKind other) {
    const Allocation* found = memory_.find(address);
    if (!found || found->address != reinterpret_cast<std::uintptr_t>(address)) {
        const Allocation* released = memory_.find_released(address);
        if (found) return fail(cudaErrorInvalidValue, {"inside", found});
        return fail(cudaErrorInvalidValue, {released ? "freed_twice" : "not_allocated", released});
    }
    if (found->kind != kind && found->kind != other) return fail(cudaErrorInvalidValue, {"other_free", found});
    note_release(*found);
    memory_.release(found->address);
    return cudaSuccess;
}

// ---- the log -------------------------------------------------------------------------------------------------------

namespace {

void finish(Line& line, const Place& place) {
    line.numbers("frames", place.frames.data(), place.count);
    line.end();
}

constexpr std::uint32_t most_noted = 100'000;  // allocations

const char* name_of(MemoryKind kind) {
    constexpr const char* names[] = {"device", "managed", "pinned", "registered", "variable"};
    return names[static_cast<int>(kind)];
}

}  // namespace

void Software::note_release(const Allocation& allocation) {
    if (allocation.id > most_noted) return;
    Line line(write_log, "freed");
    line.number("id", allocation.id);
    finish(line, here());
}

void Software::note_allocation(const Allocation& allocation) {
    if (allocation.id > most_noted) return;
    Line line(write_log, "allocation");
    line.number("id", allocation.id);
    line.text("function", current_function_);
    line.text("memory", name_of(allocation.kind));
    line.number("address", allocation.address);
    line.number("bytes", allocation.bytes);
    finish(line, here());
}

cudaError_t Software::fail(cudaError_t error, const Why& why) {
    Line line(write_log, "failed");
    line.text("function", current_function_);
    line.text("name", error_name(error));
    line.text("why", why.word);
    line.number("allocation", why.allocation ? why.allocation->id : 0);
    line.number("bytes", why.bytes);
    finish(line, here());
    return Runtime::get().finish(error);
}

void Software::failed(const char* function, cudaError_t error, const Place* place) {
    const Lock locked = lock();
    Line line(write_log, "failed");
    line.text("function", function);
    line.text("name", error_name(error));
    line.text("why", "");
    line.number("allocation", 0);
    line.number("bytes", 0);
    finish(line, place ? *place : here());
}

void Software::refused(const Launch& launch, cudaError_t error) {
    const Lock locked = lock();
    const unsigned grid[] = {launch.grid.x, launch.grid.y, launch.grid.z};
    const unsigned block[] = {launch.block.x, launch.block.y, launch.block.z};
    Line line(write_log, "refused");
    line.text("function", current_function_);
    line.text("name", error_name(error));
    line.text("kernel", launch.kernel->name);
    line.numbers("grid", grid, 3);
    line.numbers("block", block, 3);
    line.number("shared", launch.shared);
    line.integer("max_dynamic_shared", launch.kernel->max_dynamic_shared);
    finish(line, launch.place);
}

void Software::unsupported(const char* function) {
    const Lock locked = lock();
    Line line(write_log, "unsupported");
    line.text("function", function);
    finish(line, here());
    Runtime::get().finish(cudaErrorNotSupported);
}

void Software::looked(cudaError_t) {
    const Lock locked = lock();
    Line line(write_log, "looked");
    line.end();
}

void Software::note(const Work& work, const Report& report) {
    constexpr std::size_t most_reports = 1000;
    if (reports_++ >= most_reports) return;
    Line line(write_log, "report");
    line.json("report", report.findings);
    finish(line, work.place);
}

}  // namespace grader
