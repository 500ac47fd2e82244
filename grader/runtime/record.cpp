#include "record.hpp"

#include <cstring>

#include "runtime.hpp"

namespace grader {

namespace {

// docs/plan-format.md: a Plan holds no more.
constexpr std::size_t max_operations = 65'536;
constexpr std::size_t max_payload = std::size_t{64} << 20;
constexpr std::size_t allocation_alignment = 512;

class RecordBackend final : public Backend {
  public:
    RecordBackend(const RecordHost& host, cudaStream_t stream) : host_(host), stream_(stream) {}

    void begin(const RecordCall& call) {
        call_ = call;
        live_.clear();
        arena_used_ = operations_ = payload_ = 0;
        launches_ = 0;
        invalidated_ = false;
    }

    Place here() override {
        Place place;
        place.count = host_.frames(place.frames.data(), place.frames.size());
        return place;
    }

    cudaError_t enter(const char* function, cudaStream_t stream, const Place* place) override {
        if (stream == stream_) return invalidated_ ? cudaErrorStreamCaptureInvalidated : cudaSuccess;
        const bool legacy = stream == nullptr || stream == cudaStreamLegacy;
        const char* which = legacy ? "legacy" : stream == cudaStreamPerThread ? "per_thread" : "other";
        return forbid(function, which, cudaErrorStreamCaptureImplicit, place ? *place : here());
    }

    cudaError_t wait(const char* function) override {
        return forbid(function, "none", cudaErrorStreamCaptureUnsupported, here());
    }

    cudaStreamCaptureStatus capture_status(cudaStream_t stream) override {
        if (stream != stream_) return cudaStreamCaptureStatusNone;
        return invalidated_ ? cudaStreamCaptureStatusInvalidated : cudaStreamCaptureStatusActive;
    }

    cudaError_t launch(const Launch& launch) override {
        if (!count()) return cudaErrorMemoryAllocation;
        if (++launches_ == call_.refused_launch) {
            Line line(host_.emit, "injected");
            finish(line, launch.place);
            return cudaErrorLaunchOutOfResources;
        }
        Line line(host_.emit, "launch");
        describe(line, launch);
        const std::vector<unsigned char> block = parameter_block(launch);
        line.base64("parameters", block.data(), block.size());
        finish(line, launch.place);
        return cudaSuccess;
    }

    cudaError_t fill(void* destination, int value, std::size_t bytes) override {
        if (!on_device(destination, bytes)) return misplaced("cudaMemsetAsync", destination, bytes);
        if (!count()) return cudaErrorMemoryAllocation;
        Line line(host_.emit, "memset");
        line.number("address", number(destination));
        line.integer("value", value);
        line.number("bytes", bytes);
        finish(line, here());
        return cudaSuccess;
    }

    cudaError_t copy(void* destination, const void* source, std::size_t bytes, cudaMemcpyKind kind) override {
        constexpr const char* function = "cudaMemcpyAsync";
        const bool to_device = kind == cudaMemcpyDefault
                                   ? starts_on_device(destination)
                                   : kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
        const bool from_device = kind == cudaMemcpyDefault
                                     ? starts_on_device(source)
                                     : kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
        if (!to_device) {
            unsupported("cudaMemcpyAsync to host memory");
            return cudaErrorNotSupported;
        }
        if (!on_device(destination, bytes)) return misplaced(function, destination, bytes);
        if (from_device ? !on_device(source, bytes) : starts_on_device(source)) {
            return misplaced(function, source, bytes);
        }
        if (!count(from_device ? 0 : bytes)) return cudaErrorMemoryAllocation;
        Line line(host_.emit, from_device ? "copy" : "upload");
        line.number("destination", number(destination));
        source_of(line, from_device, source, bytes);
        finish(line, here());
        return cudaSuccess;
    }

    cudaError_t copy_to_symbol(const Variable& symbol, std::size_t offset, const void* source, std::size_t bytes,
                               cudaMemcpyKind kind) override {
        constexpr const char* function = "cudaMemcpyToSymbolAsync";
        if (kind != cudaMemcpyHostToDevice && kind != cudaMemcpyDeviceToDevice && kind != cudaMemcpyDefault) {
            failed(function, cudaErrorInvalidMemcpyDirection, nullptr);
            return cudaErrorInvalidMemcpyDirection;
        }
        const bool from_device =
            kind == cudaMemcpyDefault ? starts_on_device(source) : kind == cudaMemcpyDeviceToDevice;
        if (from_device ? !on_device(source, bytes) : starts_on_device(source)) {
            return misplaced(function, source, bytes);
        }
        if (!count(from_device ? 0 : bytes)) return cudaErrorMemoryAllocation;
        Line line(host_.emit, from_device ? "symbol_copy" : "symbol_upload");
        line.text("symbol", symbol.name);
        line.number("offset", offset);
        source_of(line, from_device, source, bytes);
        finish(line, here());
        return cudaSuccess;
    }

    cudaError_t allocate(void** address, std::size_t bytes) override {
        if (bytes > call_.arena.bytes - arena_used_) {
            failed("cudaMallocAsync", cudaErrorMemoryAllocation, nullptr);
            return cudaErrorMemoryAllocation;
        }
        if (!count()) return cudaErrorMemoryAllocation;
        live_.push_back({call_.arena.address + arena_used_, bytes});
        arena_used_ += (bytes + allocation_alignment - 1) / allocation_alignment * allocation_alignment;
        arena_used_ = std::min(arena_used_, call_.arena.bytes);
        *address = reinterpret_cast<void*>(live_.back().address);
        Line line(host_.emit, "allocate");
        line.number("address", live_.back().address);
        line.number("bytes", bytes);
        finish(line, here());
        return cudaSuccess;
    }

    cudaError_t release(void* address) override {
        const auto at = [&](const Range& range) { return range.address == number(address); };
        const auto found = std::find_if(live_.begin(), live_.end(), at);
        if (found == live_.end()) return misplaced("cudaFreeAsync", address, 0);
        if (!count()) return cudaErrorMemoryAllocation;
        live_.erase(found);
        Line line(host_.emit, "free");
        line.number("address", number(address));
        finish(line, here());
        return cudaSuccess;
    }

    void refused(const Launch& launch, cudaError_t error) override {
        if (!count()) return;
        Line line(host_.emit, "refused");
        line.integer("code", error);
        describe(line, launch);
        finish(line, launch.place);
    }

    void failed(const char* function, cudaError_t error, const Place* place) override {
        if (!count()) return;
        Line line(host_.emit, "failed");
        line.text("function", function);
        line.integer("code", error);
        finish(line, place ? *place : here());
    }

    void unsupported(const char* function) override {
        if (!count()) return;
        Line line(host_.emit, "unsupported");
        line.text("function", function);
        finish(line, here());
    }

  private:
    static std::uintptr_t number(const void* pointer) { return reinterpret_cast<std::uintptr_t>(pointer); }

    bool on_device(const void* pointer, std::size_t bytes) const {
        const auto holds = [&](const Range& range) { return range.contains(number(pointer), bytes); };
        return std::any_of(call_.buffers.begin(), call_.buffers.end(), holds) ||
               std::any_of(live_.begin(), live_.end(), holds);
    }
    bool starts_on_device(const void* pointer) const { return on_device(pointer, 0); }

    // False once a call of the entry has said more than a Plan may hold; it is told once.
    bool count(std::size_t payload = 0) {
        payload_ += std::min(payload, max_payload + 1);
        const bool fits = operations_ < max_operations && payload_ <= max_payload;
        if (!fits && !over_limit_) {
            Line line(host_.emit, "limit");
            finish(line, here());
        }
        over_limit_ = !fits;
        operations_ += fits;
        return fits;
    }

    cudaError_t forbid(const char* function, const char* stream, cudaError_t error, const Place& place) {
        invalidated_ = true;
        if (!count()) return error;
        Line line(host_.emit, "capture");
        line.text("function", function);
        line.text("stream", stream);
        line.integer("code", error);
        finish(line, place);
        return error;
    }

    // An address that lies in no buffer, or a range that leaves one.
    cudaError_t misplaced(const char* function, const void* pointer, std::size_t bytes) {
        if (!count()) return cudaErrorInvalidValue;
        Line line(host_.emit, "failed");
        line.text("function", function);
        line.integer("code", cudaErrorInvalidValue);
        line.number("address", number(pointer));
        line.number("bytes", bytes);
        finish(line, here());
        return cudaErrorInvalidValue;
    }

    static void describe(Line& line, const Launch& launch) {
        const unsigned grid[] = {launch.grid.x, launch.grid.y, launch.grid.z};
        const unsigned block[] = {launch.block.x, launch.block.y, launch.block.z};
        line.text("kernel", launch.kernel->name);
        line.numbers("grid", grid, 3);
        line.numbers("block", block, 3);
        line.number("shared", launch.shared);
        line.flag("cooperative", launch.cooperative);
        line.integer("max_dynamic_shared", launch.kernel->max_dynamic_shared);
    }

    // The bytes between parameters stay zero.
    static std::vector<unsigned char> parameter_block(const Launch& launch) {
        std::vector<unsigned char> block;
        const std::vector<Parameter>& parameters = launch.kernel->parameters;
        for (const Parameter& parameter : parameters) {
            block.resize(std::max<std::size_t>(block.size(), parameter.offset + parameter.size));
        }
        for (std::size_t i = 0; i < parameters.size(); ++i) {
            std::memcpy(block.data() + parameters[i].offset, launch.arguments[i], parameters[i].size);
        }
        return block;
    }

    void source_of(Line& line, bool from_device, const void* source, std::size_t bytes) {
        if (!from_device) return line.base64("payload", source, bytes);
        line.number("source", number(source));
        line.number("bytes", bytes);
    }

    static void finish(Line& line, const Place& place) {
        line.numbers("frames", place.frames.data(), place.count);
        line.end();
    }

    RecordHost host_;
    cudaStream_t stream_;
    RecordCall call_{};
    std::vector<Range> live_;  // allocations of this call
    std::size_t arena_used_ = 0, operations_ = 0, payload_ = 0;
    unsigned launches_ = 0;
    bool invalidated_ = false, over_limit_ = false;
};

RecordBackend* recording = nullptr;

}  // namespace

extern "C" void grader_record_start(const RecordHost& host, const Device& device, std::vector<Kernel> kernels,
                                    cudaStream_t stream) {
    recording = new RecordBackend(host, stream);
    Runtime::get().start(recording, device, std::move(kernels));
}

extern "C" void grader_record_call(const RecordCall& call) {
    recording->begin(call);
    Runtime::get().forget_call();
}

}  // namespace grader
