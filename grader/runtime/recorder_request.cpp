#include "recorder_request.hpp"

#include <bit>
#include <sstream>

#include "facts.hpp"

namespace grader {

namespace {

bool read_range(std::istream& line, Range* range) {
    line >> range->address >> range->bytes;
    return !line.fail();
}

bool read_value(std::istream& line, Call* call) {
    std::string kind;
    std::uint64_t bits = 0;
    line >> kind >> bits;
    if (kind == "integer") {
        call->integers.push_back(bits);
    } else if (kind == "host") {
        call->host_bytes = bits;
        call->host_argument = call->integers.size();
        call->integers.push_back(0);
    } else {
        call->floats.push_back(std::bit_cast<double>(bits));
    }
    return !line.fail() && (kind == "integer" || kind == "float" || kind == "host");
}

bool read_line(const std::string& word, std::istream& line, Request* request) {
    if (word == "library") return static_cast<bool>(std::getline(line >> std::ws, request->library));
    if (word == "entry") return static_cast<bool>(line >> request->entry);
    if (word == "device") return read_device(line, &request->device);
    if (word == "kernel") return read_kernel(line, &request->kernels.emplace_back());
    if (word == "reserve") return read_range(line, &request->reserved.emplace_back());
    if (word == "stream") return static_cast<bool>(line >> request->stream);
    if (word == "memory") return static_cast<bool>(line >> request->limits.memory_bytes);
    if (word == "time") {
        line >> request->times.cpu_milliseconds >> request->times.wall_milliseconds;
        request->limits.cpu_seconds = request->times.cpu_milliseconds / 1000 + 1;
        return !line.fail();
    }
    if (word == "call") {
        RecordCall& record = request->calls.emplace_back().record;
        return static_cast<bool>(line >> record.refused_launch) && read_range(line, &record.arena);
    }
    if (request->calls.empty()) return false;
    if (word == "buffer") return read_range(line, &request->calls.back().record.buffers.emplace_back());
    if (word == "argument") return read_value(line, &request->calls.back());
    return false;
}

}  // namespace

bool read_request(std::istream& input, Request* request) {
    std::string text, word;
    if (!std::getline(input, text) || text != "record 1") return false;
    while (std::getline(input, text)) {
        std::istringstream line(text);
        line >> word;
        if (word == "end") return !request->calls.empty();
        if (!read_line(word, line, request)) return false;
    }
    return false;
}

}  // namespace grader
