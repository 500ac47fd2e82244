// The software GPU's machine (grader/simt/machine/api.cpp), loaded when the program starts.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "../backend.hpp"

namespace grader {

// What a launch left: its findings as JSON, and what the kernel printed.
struct Report {
    std::string findings;  // the report of grader/simt/machine/report.cpp, without its counters
    std::string printed;
    bool clean = true;

    // Is one of the findings of this kind?
    bool has(std::string_view kind) const;
    // Does a finding's text begin like this? As "assert:".
    bool says(std::string_view text) const;
};

class Machine {
  public:
    // False, with why() told, where the library or the program cannot be loaded.
    bool open(const std::string& library, const std::string& program, unsigned workers);
    const std::string& why() const { return why_; }

    // Memory of ours at an address of the device, until unmap.
    bool map(const std::string& name, std::uint64_t address, std::uint64_t bytes, void* memory, bool initialised,
             bool writable = true);
    void unmap(std::uint64_t address);

    bool launch(const std::string& kernel, const dim3& grid, const dim3& block, std::size_t shared,
                const std::vector<std::byte>& parameters, bool cooperative, Report* report);
    bool set(std::uint64_t address, std::uint64_t value, unsigned element_bytes, std::uint64_t count);
    bool copy(std::uint64_t to, std::uint64_t from, std::uint64_t bytes);
    bool write(std::uint64_t to, const void* from, std::uint64_t bytes);
    bool read(std::uint64_t from, std::uint64_t bytes, void* to);
    // Which bytes of a mapped piece of memory nobody has written: {"count": …, "ranges": [[first, last], …]}.
    std::string unwritten(const std::string& name);
    std::uint64_t variable(const std::string& name);  // 0: there is none
    // From now on the variable's bytes lie there, for the host to see.
    bool lend(const std::string& variable, void* memory);

  private:
    struct Functions;
    template <typename Function>
    bool find(const char* name, Function* function);
    bool done(int failed);
    bool refuse(const char* sentence);

    const Functions* call_ = nullptr;
    void* library_ = nullptr;
    void* device_ = nullptr;
    unsigned workers_ = 1;
    std::string why_;
};

}  // namespace grader
