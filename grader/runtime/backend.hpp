// What our CUDA runtime asks of the thing behind it.
//
// The runtime (launch.cpp, memory.cpp, query.cpp) gives CUDA's functions their meaning: arguments, error codes, last
// error, attributes. A back end says what becomes of the work. "record" (record.cpp) writes it down, "software"
// (software/) executes it at once on the software GPU.
#pragma once

#include <cuda_runtime_api.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace grader {

struct Parameter {
    std::uint32_t offset;  // bytes from the start of the kernel's parameter block, as PTX lays it out
    std::uint32_t size;    // bytes
};

// A kernel of the learner's file: what the cubin says of it, and what cudaFuncSetAttribute changed since.
struct Kernel {
    std::string name;  // mangled
    int registers = 0;
    int static_shared = 0;  // bytes a block
    int local = 0;          // bytes a thread
    int max_threads = 0;    // a block, by __launch_bounds__
    std::vector<Parameter> parameters;
    int max_dynamic_shared = 0;  // bytes a block
    int carveout = -1;
};

// A __device__ or __constant__ variable of the learner's file.
struct Variable {
    std::string name;  // mangled
    std::size_t size;  // bytes
};

// The device that queries are answered for. Shared memory in bytes.
struct Device {
    std::string name;
    int major = 0, minor = 0;
    int multiprocessors = 0;
    int threads_per_multiprocessor = 0;
    int blocks_per_multiprocessor = 0;
    int registers_per_multiprocessor = 0;
    int shared_per_block = 0, shared_per_block_optin = 0, shared_per_multiprocessor = 0, shared_reserved = 0;
    int l2_bytes = 0, bus_bits = 0, memory_khz = 0, clock_khz = 0;
    std::size_t memory_bytes = 0;
};

// Where a call came from: return addresses in the learner's object, innermost first.
struct Place {
    std::array<std::uint64_t, 12> frames;
    std::size_t count = 0;
};

struct Launch {
    const Kernel* kernel;
    dim3 grid, block;
    std::size_t shared;  // dynamic, bytes a block
    bool cooperative;
    const void* const* arguments;  // one pointer a parameter
    Place place;
};

class Backend {
  public:
    virtual ~Backend() = default;

    virtual Place here() = 0;
    // May `function` put work on this stream? Anything but cudaSuccess becomes the function's result. `place` is where
    // the call was written; null means: look at the stack. The work that the same thread brings next is this one's.
    virtual cudaError_t enter(const char* function, cudaStream_t stream, const Place* place) = 0;
    // May `function`, which waits for the device or allocates at once, run? The same.
    virtual cudaError_t wait(const char* function) = 0;
    virtual cudaStreamCaptureStatus capture_status(cudaStream_t stream) = 0;

    // Work in stream order. Arguments were judged already, except that addresses may be any.
    virtual cudaError_t launch(const Launch& launch) = 0;
    virtual cudaError_t fill(void* destination, int value, std::size_t bytes) = 0;
    virtual cudaError_t copy(void* destination, const void* source, std::size_t bytes, cudaMemcpyKind kind) = 0;
    virtual cudaError_t copy_to_symbol(const Variable& symbol, std::size_t offset, const void* source,
                                       std::size_t bytes, cudaMemcpyKind kind) = 0;
    virtual cudaError_t allocate(void** address, std::size_t bytes) = 0;
    virtual cudaError_t release(void* address) = 0;

    // Told of what the runtime answered itself: a launch that is not possible, a call that failed, one that we lack.
    virtual void refused(const Launch& launch, cudaError_t error) = 0;
    virtual void failed(const char* function, cudaError_t error, const Place* place) = 0;
    virtual void unsupported(const char* function) = 0;
    // Where the host finds a __managed__ variable; null where there is no such memory.
    virtual void* place_managed(const Variable&) { return nullptr; }
    // The program asked for its last error and was told this one.
    virtual void looked(cudaError_t) {}
};

}  // namespace grader
