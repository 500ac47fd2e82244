#include "machine.hpp"

#include <dlfcn.h>

#include <algorithm>

namespace grader {

namespace {

// As api.cpp has it.
struct LaunchOptions {
    std::uint32_t bytes, order, workers, cooperative;
    std::uint64_t seed, warp_budget, launch_budget;
    const std::uint64_t* blocks;
    std::uint64_t block_count;
    std::uint64_t trace_block;
    std::uint32_t trace_thread, trace_most;
};

// Instructions of one warp, some ten seconds of looping: who goes on after that never ends.
constexpr std::uint64_t warp_budget = std::uint64_t{1} << 28;
constexpr std::uint64_t few_threads = 1 << 14;  // starting host threads would cost more than they save
constexpr std::string_view printed_key = ",\"printed\":\"";

unsigned hexadecimal(char digit) {
    return static_cast<unsigned>(digit <= '9' ? digit - '0' : digit - 'a' + 10);
}

// The string that begins at `from` in the machine's JSON, which spells a byte that is not plain as \u00XX.
std::string unescaped(std::string_view json, std::size_t from) {
    std::string text;
    for (std::size_t i = from; i < json.size() && json[i] != '"'; ++i) {
        if (json[i] != '\\') {
            text += json[i];
        } else if (json[++i] == 'u') {
            text += static_cast<char>(hexadecimal(json[i + 3]) << 4 | hexadecimal(json[i + 4]));
            i += 4;
        } else {
            text += json[i];
        }
    }
    return text;
}

// Of [{"kernel":…,"findings":[…],"printed":"…","counters":…}] what comes before "counters".
Report parsed(std::string_view json) {
    Report report;
    const std::size_t printed = json.find(printed_key);
    if (json.size() < 2 || printed == std::string_view::npos) return report;
    report.findings = std::string(json.substr(1, printed - 1)) + "}";
    report.printed = unescaped(json, printed + printed_key.size());
    report.clean = json.find("\"findings\":[]") < printed;
    return report;
}

}  // namespace

bool Report::has(std::string_view kind) const {
    return findings.find("\"kind\":\"" + std::string(kind) + "\"") != std::string::npos;
}

bool Report::says(std::string_view text) const {
    return findings.find("\"text\":\"" + std::string(text)) != std::string::npos;
}

struct Machine::Functions {
    const char* (*error)();
    void* (*create)(const char*);
    int (*add_buffer)(void*, const char*, std::uint64_t, std::uint64_t, void*, int, int);
    int (*free)(void*, std::uint64_t);
    int (*launch)(void*, const char*, const std::uint32_t*, const std::uint32_t*, std::uint32_t, const void*,
                  std::uint64_t, const LaunchOptions*);
    int (*set)(void*, std::uint64_t, std::uint64_t, std::uint32_t, std::uint64_t);
    int (*copy)(void*, std::uint64_t, std::uint64_t, std::uint64_t);
    int (*write)(void*, std::uint64_t, const void*, std::uint64_t);
    int (*read)(void*, std::uint64_t, std::uint64_t, void*);
    std::uint64_t (*variable)(void*, const char*);
    int (*lend_variable)(void*, const char*, void*);
    const char* (*report)(void*);
    const char* (*unwritten)(void*, const char*, std::uint64_t);
};

template <typename Function>
bool Machine::find(const char* name, Function* function) {
    *function = reinterpret_cast<Function>(dlsym(library_, name));
    return *function || refuse(dlerror());
}

bool Machine::refuse(const char* sentence) {
    why_ = sentence ? sentence : "";
    return false;
}

bool Machine::done(int failed) {
    return failed == 0 || refuse(call_->error());
}

bool Machine::open(const std::string& library, const std::string& program, unsigned workers) {
    workers_ = std::max(workers, 1u);
    library_ = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!library_) return refuse(dlerror());
    auto* found = new Functions;  // as long as the process
    call_ = found;
    if (!find("simt_error", &found->error) || !find("simt_device_create", &found->create) ||
        !find("simt_add_buffer", &found->add_buffer) || !find("simt_free", &found->free) ||
        !find("simt_launch", &found->launch) || !find("simt_set", &found->set) || !find("simt_copy", &found->copy) ||
        !find("simt_write", &found->write) || !find("simt_read", &found->read) ||
        !find("simt_variable", &found->variable) || !find("simt_lend_variable", &found->lend_variable) ||
        !find("simt_report", &found->report) || !find("simt_unwritten", &found->unwritten))
        return false;
    device_ = call_->create(program.c_str());
    return device_ || refuse(call_->error());
}

bool Machine::map(const std::string& name, std::uint64_t address, std::uint64_t bytes, void* memory, bool initialised,
                  bool writable) {
    return done(call_->add_buffer(device_, name.c_str(), address, bytes, memory, initialised, writable));
}

void Machine::unmap(std::uint64_t address) {
    call_->free(device_, address);
}

bool Machine::launch(const std::string& kernel, const dim3& grid, const dim3& block, std::size_t shared,
                     const std::vector<std::byte>& parameters, bool cooperative, Report* report) {
    const std::uint32_t blocks[] = {grid.x, grid.y, grid.z}, threads[] = {block.x, block.y, block.z};
    const std::uint64_t all = std::uint64_t{grid.x} * grid.y * grid.z * block.x * block.y * block.z;
    LaunchOptions options{};
    options.bytes = sizeof options;
    options.workers = all < few_threads ? 1 : workers_;
    options.warp_budget = warp_budget;
    options.cooperative = cooperative;
    if (!done(call_->launch(device_, kernel.c_str(), blocks, threads, static_cast<std::uint32_t>(shared),
                            parameters.data(), parameters.size(), &options)))
        return false;
    *report = parsed(call_->report(device_));
    return true;
}

bool Machine::set(std::uint64_t address, std::uint64_t value, unsigned element_bytes, std::uint64_t count) {
    return done(call_->set(device_, address, value, element_bytes, count));
}

bool Machine::copy(std::uint64_t to, std::uint64_t from, std::uint64_t bytes) {
    return done(call_->copy(device_, to, from, bytes));
}

bool Machine::write(std::uint64_t to, const void* from, std::uint64_t bytes) {
    return done(call_->write(device_, to, from, bytes));
}

bool Machine::read(std::uint64_t from, std::uint64_t bytes, void* to) {
    return done(call_->read(device_, from, bytes, to));
}

bool Machine::lend(const std::string& variable, void* memory) {
    return done(call_->lend_variable(device_, variable.c_str(), memory));
}

std::string Machine::unwritten(const std::string& name) {
    const char* told = call_->unwritten(device_, name.c_str(), 1);
    return told ? told : "";
}

std::uint64_t Machine::variable(const std::string& name) {
    return call_->variable(device_, name.c_str());
}

}  // namespace grader
