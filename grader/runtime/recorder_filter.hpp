// What a launcher may ask of the kernel: memory for itself, the time, and its own standard output. Nothing else.
#pragma once

#include <cstddef>

namespace grader {

struct Limits {
    long cpu_seconds;
    std::size_t memory_bytes;
};

// Both functions return null, or in a few words what the machine refused.
// `reserved_bytes` of address space are taken already, with nothing behind them.
const char* limit(const Limits& limits, std::size_t reserved_bytes);
// From here on every system call that is not on the list raises SIGSYS.
const char* install_filter();

}  // namespace grader
