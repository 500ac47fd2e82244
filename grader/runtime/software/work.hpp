// What can be put on a stream: done at once, or kept in a graph and done later.
#pragma once

#include <cuda_runtime_api.h>

#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "../backend.hpp"

namespace grader {

struct KernelWork {
    const Kernel* kernel;
    dim3 grid, block;
    std::size_t shared;
    bool cooperative;
    std::vector<std::byte> parameters;  // the block as PTX lays it out, zero between parameters
};

// Rows of `width` bytes, `height` of them in each of `depth` slices. Pitches in bytes.
struct Side {
    std::byte* pointer;
    std::size_t pitch, slice;
};

struct CopyWork {
    Side to, from;
    std::size_t width, height, depth;
    cudaMemcpyKind kind;
};

struct FillWork {
    Side to;
    unsigned value, element_bytes;
    std::size_t width, height, depth;
};

struct HostWork {
    cudaHostFn_t function;
    void* data;
};

struct EventWork {
    cudaEvent_t event;
};

struct ChildWork {
    std::shared_ptr<CUgraph_st> graph;
};

struct NoWork {};

// `what` and `place` are for messages: the function that asked for it, and where in the program.
struct Work {
    std::variant<NoWork, KernelWork, CopyWork, FillWork, HostWork, EventWork, ChildWork> what;
    const char* function;
    Place place;
};

}  // namespace grader
