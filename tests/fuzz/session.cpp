#include "session.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string_view>

namespace fuzz {
namespace {

constexpr std::uint64_t kFirstAddress = 0x2000'0000'0000, kStride = 1ull << 37;  // as far apart as a plan's buffers
constexpr int kOften = 2'000;
constexpr std::uint64_t kMostGrowth = 16 << 20;

std::vector<std::byte> bytes_of(std::uint64_t count, Random& random) {
    std::vector<std::byte> bytes(count);
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random.next());
    return bytes;
}

// A launch of some blocks, of very many, or of none.
void choose_grid(std::uint32_t grid[3], Random& random) {
    constexpr std::uint32_t largest[3] = {0x7fffffff, 65535, 65535};
    for (int i = 0; i < 3; ++i) grid[i] = static_cast<std::uint32_t>(1 + random.below(i == 0 ? 6 : 2));
    if (random.one_in(4)) grid[0] = static_cast<std::uint32_t>(random.any());
    if (random.one_in(16)) grid[random.below(3)] = static_cast<std::uint32_t>(random.any());
    if (random.one_in(32)) std::copy_n(largest, random.below(4), grid);
}

void choose_block(std::uint32_t block[3], Random& random) {
    constexpr std::uint32_t usual[][3] = {{32, 1, 1}, {1, 1, 1},  {33, 1, 1},  {128, 1, 1}, {16, 16, 1}, {1024, 1, 1},
                                          {5, 3, 7},  {32, 2, 1}, {100, 1, 1}, {64, 1, 1},  {1, 1, 64},  {1025, 1, 1}};
    std::copy_n(random.of(usual), 3, block);
    if (random.one_in(16)) block[random.below(3)] = static_cast<std::uint32_t>(random.any());
}

}  // namespace

void fail(const std::string& what) {
    std::fprintf(stderr, "fuzz: %s\n", what.c_str());
    std::abort();
}

std::uint64_t resident_bytes() {
    std::uint64_t all = 0, resident = 0;
    std::ifstream("/proc/self/statm") >> all >> resident;
    return resident * 4096;
}

Session::Session(const Bytes& program)
    : map_(map_program(program)), device_(simt_device_create_from(program.data(), program.size())) {
    if (!device_) check_sentence();
}

void Session::step(std::uint64_t number, Random& random) {
    if (number < 2) return add_buffer(random);
    switch (random.below(12)) {
        case 0:
            return random.one_in(3) ? add_sparse(random) : add_buffer(random);
        case 1:
            return allocate_or_free(random);
        case 2:
        case 3:
            return work_on_memory(random);
        case 4:
        case 5:
            return ask(random);
        default:
            return launch(random);
    }
}

// ---- memory
// ----------------------------------------------------------------------------------------------------------

std::uint64_t Session::free_place(Random& random) {
    const std::uint64_t place = kFirstAddress + buffers_.size() * kStride;
    if (random.one_in(32)) return random.any();
    return random.one_in(8) ? place + random.below(256) : place;
}

void Session::add_buffer(Random& random) {
    const std::uint64_t bytes = random.of({0, 1, 3, 4, 100, 400, 1024, 4096, 4100, 20'000});
    Buffer buffer{"buffer " + std::to_string(buffers_.size()), free_place(random), bytes,
                  std::make_unique<std::byte[]>(bytes)};
    std::ranges::copy(bytes_of(bytes, random), buffer.memory.get());
    if (done(simt_add_buffer(device_.get(), buffer.name.c_str(), buffer.address, bytes, buffer.memory.get(),
                             !random.one_in(3), !random.one_in(4))))
        buffers_.push_back(std::move(buffer));
}

void Session::add_sparse(Random& random) {
    const std::uint64_t bytes = random.one_in(8) ? random.any() >> 16 : random.below(1 << 22);
    Buffer buffer{"sparse " + std::to_string(buffers_.size()), free_place(random), bytes, nullptr};
    if (done(simt_add_sparse(device_.get(), buffer.name.c_str(), buffer.address, bytes,
                             static_cast<std::uint32_t>(random.below(5)), static_cast<std::uint32_t>(random.below(4)),
                             random.next(), !random.one_in(4))))
        buffers_.push_back(std::move(buffer));
}

void Session::allocate_or_free(Random& random) {
    if (random.one_in(16)) {
        done(simt_remove_buffers(device_.get()));
        buffers_.clear();
    } else if (random.one_in(4)) {
        const std::uint64_t address = address_near(random);
        done(simt_free(device_.get(), address));
        std::erase_if(buffers_, [&](const Buffer& buffer) { return buffer.address == address && !buffer.memory; });
    } else {
        Buffer buffer{"allocated memory", free_place(random), random.one_in(8) ? random.any() : random.below(10'000),
                      nullptr};
        if (done(simt_allocate(device_.get(), buffer.address, buffer.bytes))) buffers_.push_back(std::move(buffer));
    }
}

// An address in a buffer or near its edges; sometimes any other.
std::uint64_t Session::address_near(Random& random) {
    if (buffers_.empty() || random.one_in(16)) return random.any();
    const Buffer& buffer = random.of(buffers_);
    switch (random.below(6)) {
        case 0:
            return buffer.address + buffer.bytes - random.below(64);
        case 1:
            return buffer.address - random.below(64);
        case 2:
            return buffer.address + (buffer.bytes ? random.below(buffer.bytes) : 0);
        default:
            return buffer.address;
    }
}

void Session::work_on_memory(Random& random) {
    const std::uint64_t to = address_near(random), from = address_near(random);
    const std::uint64_t count = random.one_in(8) ? random.any() : random.below(5'000);
    switch (random.below(4)) {
        case 0:
            done(simt_set(device_.get(), to, random.next(), static_cast<std::uint32_t>(random.below(6)), count));
            break;
        case 1:
            done(simt_copy(device_.get(), to, from, count));
            break;
        case 2: {
            const auto bytes = bytes_of(std::min<std::uint64_t>(count, 5'000), random);
            done(simt_write(device_.get(), to, bytes.data(), bytes.size()));
            break;
        }
        default: {
            std::vector<std::byte> bytes(std::min<std::uint64_t>(count, 5'000));
            done(simt_read(device_.get(), from, bytes.size(), bytes.data()));
        }
    }
}

// ---- launches
// --------------------------------------------------------------------------------------------------------

std::vector<std::byte> Session::parameters_for(const FunctionMap& kernel, Random& random) {
    std::vector<std::byte> parameters(std::min(kernel.parameter_bytes, 65536u));
    if (random.one_in(16)) parameters.resize(random.below(64));
    for (std::size_t at = 0; at < parameters.size(); at += 8) {
        std::uint64_t word = random.one_in(3) ? random.below(300) * 0x1'0000'0001 : address_near(random);
        if (random.one_in(16)) word = random.any();
        std::memcpy(parameters.data() + at, &word, std::min<std::size_t>(sizeof word, parameters.size() - at));
    }
    return parameters;
}

void Session::launch(Random& random) {
    std::vector<const FunctionMap*> kernels;
    for (const FunctionMap& function : map_.functions)
        if (function.entry) kernels.push_back(&function);
    if (kernels.empty()) return;
    do_launch(*random.of(kernels), random);
    check_answer(simt_report(device_.get()));
    if (random.one_in(4)) check_answer(simt_trace(device_.get()));
}

void Session::do_launch(const FunctionMap& kernel, Random& random) {
    std::uint32_t grid[3], block[3];
    choose_grid(grid, random);
    choose_block(block, random);
    const std::uint64_t volume = std::uint64_t{grid[0]} * grid[1] * grid[2];
    std::vector<std::uint64_t> blocks(random.one_in(6) ? random.below(5) : 0);
    for (std::uint64_t& one : blocks) one = random.one_in(16) ? random.any() : random.below(std::max(volume, 1ul));
    const auto parameters = parameters_for(kernel, random);
    const auto shared = static_cast<std::uint32_t>(random.one_in(16) ? random.any() : random.below(2) * 9'000);
    const simt_launch_options options{
        .bytes = sizeof options,
        .order = static_cast<std::uint32_t>(random.below(3)),
        .workers = static_cast<std::uint32_t>(random.one_in(64) ? random.any() : 1 + random.below(2)),
        .cooperative = random.one_in(4) ? 1u : 0u,
        .seed = random.next(),
        .warp_budget = budget_ / 10,
        .launch_budget = budget_,
        .blocks = blocks.data(),
        .block_count = blocks.size(),
        .trace_block = random.one_in(4) ? random.any() : random.below(4),
        .trace_thread = static_cast<std::uint32_t>(random.one_in(4)   ? random.any()
                                                   : random.one_in(3) ? 0xffffffffu
                                                                      : random.below(40)),
        .trace_most = static_cast<std::uint32_t>(random.one_in(3) ? random.below(200) : 0),
    };
    done(simt_launch(device_.get(), kernel.name.c_str(), grid, block, shared, parameters.data(), parameters.size(),
                     &options));
}

void Session::launch_often(Random& random) {
    std::uint64_t settled = 0;
    budget_ = 1'000;
    for (int i = 0; i < kOften; ++i) {
        Random same = random;
        launch(same);
        if (i == kOften / 4) settled = resident_bytes();
    }
    if (resident_bytes() > settled + kMostGrowth)
        fail("launches that are alike take more and more memory: " + std::to_string(kOften * 3 / 4) + " of them " +
             std::to_string((resident_bytes() - settled) >> 20) + " MiB");
}

// ---- questions
// -------------------------------------------------------------------------------------------------------

std::string Session::buffer_name(Random& random) {
    if (buffers_.empty() || random.one_in(16)) return "nothing";
    if (!map_.variables.empty() && random.one_in(4)) return random.of(map_.variables);
    return random.of(buffers_).name;
}

void Session::ask(Random& random) {
    const std::uint64_t element_bytes = random.one_in(8) ? random.any() : 1 << random.below(5);
    switch (random.below(5)) {
        case 0:
            return check_answer(simt_unwritten(device_.get(), buffer_name(random).c_str(), element_bytes));
        case 1:
            return check_answer(
                simt_written(device_.get(), buffer_name(random).c_str(), element_bytes, random.below(100)));
        case 2:
            return check_answer(simt_last_writer(device_.get(), address_near(random)));
        case 3:
            return check_answer(simt_trace(device_.get()));
        default:
            if (simt_variable(device_.get(), buffer_name(random).c_str()) == 0) check_sentence();
    }
}

// ---- what the machine says
// -------------------------------------------------------------------------------------------

bool Session::done(int failed) const {
    if (failed) check_sentence();
    return !failed;
}

void Session::check_answer(const char* text) const {
    if (!text)
        check_sentence();
    else if (!std::strchr("[{n", *text))
        fail(std::string("an answer that is no JSON: ") + text);
}

// One of the machine's own sentences, not what the C++ library calls its troubles.
void Session::check_sentence() const {
    const std::string_view words = simt_error();
    if (words.find("::") != words.npos) fail("an error that is no sentence: " + std::string(words));
    if (words.find(' ') == words.npos) fail("an error without a sentence: " + std::string(words));
}

}  // namespace fuzz
