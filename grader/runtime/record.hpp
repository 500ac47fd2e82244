// The back end that executes nothing and writes everything down, as lines that grader/record/protocol.py reads.
#pragma once

#include <cstdint>
#include <vector>

#include "backend.hpp"
#include "line.hpp"

namespace grader {

// What the recorder lends the library.
struct RecordHost {
    Emit emit;
    std::size_t (*frames)(std::uint64_t* offsets, std::size_t capacity);
};

struct Range {
    std::uintptr_t address;
    std::size_t bytes;
    bool contains(std::uintptr_t first, std::size_t count) const {
        return first >= address && first - address <= bytes && count <= bytes - (first - address);
    }
};

// One call of the entry: its buffers, where stream-ordered allocations go, and which of its launches shall
// fail, counted from 1; 0 for none.
struct RecordCall {
    std::vector<Range> buffers;
    Range arena;
    unsigned refused_launch;
};

extern "C" {
void grader_record_start(const RecordHost& host, const Device& device, std::vector<Kernel> kernels,
                         cudaStream_t stream);
void grader_record_call(const RecordCall& call);
}

}  // namespace grader
