// What the parent asks of the recorder, read from standard input before anything of the learner's is loaded.
#pragma once

#include <istream>
#include <string>
#include <vector>

#include "backend.hpp"
#include "record.hpp"
#include "recorder_fault.hpp"
#include "recorder_filter.hpp"

namespace grader {

struct Call {
    RecordCall record;
    std::vector<std::uint64_t> integers;  // pointers and integers, in the order of the C parameters
    std::vector<double> floats;           // a float sits in the low half
    std::size_t host_bytes = 0;           // of host memory that the entry fills, if it does
    std::size_t host_argument = 0;        // which of `integers` gets its address
};

struct Request {
    std::string library, entry;
    Device device;
    std::vector<Kernel> kernels;
    std::vector<Range> reserved;  // address ranges where nothing of the process may lie
    std::uint64_t stream = 0;
    Limits limits{};
    Times times{};
    std::vector<Call> calls;
};

// The text that grader/record/request.py writes: a word and its values a line, to "end". False when it is not that.
bool read_request(std::istream& input, Request* request);

}  // namespace grader
