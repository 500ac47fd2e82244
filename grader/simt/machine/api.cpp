// The machine's C interface: what Python's ctypes calls, and what a program without Python links to.
//
// Every function that can fail returns null or 1 and leaves one sentence for simt_error(). Strings that a function
// returns stay valid until the next call on the same thread.
#include <cstring>
#include <exception>
#include <new>
#include <string>

#include "json.hpp"
#include "launch.hpp"
#include "operations.hpp"

namespace {

thread_local std::string last_error, last_text;

template <class Body>
auto guarded(Body&& body, decltype(body()) failure) -> decltype(body()) {
    try {
        return body();
    } catch (const std::bad_alloc&) {
        last_error = "out of memory";
    } catch (const std::exception& error) {
        last_error = error.what();
    }
    return failure;
}

const char* keep(std::string text) {
    last_text = std::move(text);
    return last_text.c_str();
}

}  // namespace

extern "C" {

struct simt_launch_options {
    std::uint32_t bytes;           // of this structure, as the caller knows it
    std::uint32_t order, workers;  // order: 0 forward, 1 reverse, 2 shuffled by seed
    std::uint32_t cooperative;     // 0 or 1
    std::uint64_t seed, warp_budget, launch_budget;
    const std::uint64_t* blocks;  // linear indices of those that run; none: all
    std::uint64_t block_count;
    std::uint64_t trace_block;  // whose thread's accesses are noted, `trace_most` at most
    std::uint32_t trace_thread, trace_most;
};

const char* simt_error() {
    return last_error.c_str();
}
std::uint32_t simt_program_version() {
    return simt::kProgramVersion;
}

// JSON: the names of all operations that the machine knows.
const char* simt_operation_names() {
    return guarded(
        [] {
            simt::Json json;
            json.open('[');
            for (const std::string& name : simt::operations().names()) json.value(name);
            return keep(json.close(']').text());
        },
        nullptr);
}

simt::Device* simt_device_create(const char* program_path) {
    return guarded([&] { return new simt::Device(simt::load_program(program_path)); }, nullptr);
}
simt::Device* simt_device_create_from(const void* program, std::uint64_t bytes) {
    return guarded(
        [&] {
            const char* begin = static_cast<const char*>(program);
            return new simt::Device(simt::decode_program({begin, begin + bytes}, "the program"));
        },
        nullptr);
}
void simt_device_destroy(simt::Device* device) {
    delete device;
}

int simt_add_buffer(simt::Device* device, const char* name, std::uint64_t address, std::uint64_t bytes, void* memory,
                    int initialised, int writable) {
    return guarded(
        [&] {
            return device->add_buffer(name, address, bytes, static_cast<std::byte*>(memory), initialised != 0,
                                      writable != 0),
                   0;
        },
        1);
}
// Memory of the machine's own, made where it is touched: fill and element_type are those of fill.hpp.
int simt_add_sparse(simt::Device* device, const char* name, std::uint64_t address, std::uint64_t bytes,
                    std::uint32_t element_type, std::uint32_t fill, std::uint64_t seed, int writable) {
    return guarded(
        [&] {
            const simt::Fill values{static_cast<simt::FillKind>(fill), static_cast<simt::ElementType>(element_type),
                                    seed};
            return device->add_sparse(name, address, bytes, values, writable != 0), 0;
        },
        1);
}
int simt_allocate(simt::Device* device, std::uint64_t address, std::uint64_t bytes) {
    return guarded([&] { return device->allocate(address, bytes), 0; }, 1);
}
int simt_free(simt::Device* device, std::uint64_t address) {
    return guarded([&] { return device->free(address), 0; }, 1);
}
int simt_remove_buffers(simt::Device* device) {
    return guarded([&] { return device->remove_buffers(), 0; }, 1);
}

int simt_launch(simt::Device* device, const char* kernel, const std::uint32_t grid[3], const std::uint32_t block[3],
                std::uint32_t dynamic_shared, const void* parameters, std::uint64_t parameter_bytes,
                const simt_launch_options* options) {
    return guarded(
        [&] {
            if (options->bytes != sizeof *options)
                throw simt::ProgramError("the caller of simt_launch knows other options than the machine");
            const auto* bytes = static_cast<const std::byte*>(parameters);
            device->launch(kernel, {grid[0], grid[1], grid[2]}, {block[0], block[1], block[2]}, dynamic_shared,
                           {bytes, bytes + parameter_bytes},
                           {static_cast<simt::Order>(options->order),
                            options->seed,
                            options->workers,
                            options->warp_budget,
                            options->launch_budget,
                            {options->blocks, options->blocks + options->block_count},
                            options->trace_block,
                            options->trace_thread,
                            options->trace_most,
                            options->cooperative != 0});
            return 0;
        },
        1);
}

int simt_set(simt::Device* device, std::uint64_t address, std::uint64_t value, std::uint32_t element_bytes,
             std::uint64_t count) {
    return guarded([&] { return device->set(address, value, element_bytes, count), 0; }, 1);
}
int simt_copy(simt::Device* device, std::uint64_t to, std::uint64_t from, std::uint64_t bytes) {
    return guarded([&] { return device->copy(to, from, bytes), 0; }, 1);
}
int simt_write(simt::Device* device, std::uint64_t to, const void* from, std::uint64_t bytes) {
    return guarded([&] { return device->write(to, static_cast<const std::byte*>(from), bytes), 0; }, 1);
}

int simt_read(simt::Device* device, std::uint64_t from, std::uint64_t bytes, void* to) {
    return guarded([&] { return device->read(from, bytes, static_cast<std::byte*>(to)), 0; }, 1);
}

// Address of a module's variable; 0 and an error where there is none.
std::uint64_t simt_variable(simt::Device* device, const char* name) {
    return guarded([&] { return device->variable_address(name); }, std::uint64_t{0});
}

// A module's variable whose bytes lie in the caller's memory from now on, for the host to see, with what it holds.
int simt_lend_variable(simt::Device* device, const char* name, void* memory) {
    return guarded(
        [&] {
            simt::Region* region = device->memory().nearest(device->variable_address(name));
            std::memcpy(memory, region->data, region->size);
            region->data = static_cast<std::byte*>(memory);
            return 0;
        },
        1);
}

// JSON: a list with one object a launch since the last report.
const char* simt_report(simt::Device* device) {
    return guarded([&] { return keep(device->report()); }, nullptr);
}
const char* simt_unwritten(simt::Device* device, const char* buffer, std::uint64_t element_bytes) {
    return guarded([&] { return keep(device->unwritten(buffer, element_bytes)); }, nullptr);
}
const char* simt_written(simt::Device* device, const char* buffer, std::uint64_t element_bytes, std::uint64_t most) {
    return guarded([&] { return keep(device->written(buffer, element_bytes, most)); }, nullptr);
}
// JSON: the accesses of the thread that the last launch with `trace_most` watched.
const char* simt_trace(simt::Device* device) {
    return guarded([&] { return keep(device->trace()); }, nullptr);
}
// From now on a NaN carries, in the low bits of its payload, the number of the instruction that made it.
int simt_mark_nans(simt::Device* device) {
    return guarded([&] { return device->mark_nans(), 0; }, 1);
}
// JSON: these instructions, the first is number 1.
const char* simt_nan_origins(simt::Device* device) {
    return guarded([&] { return keep(device->nan_origins()); }, nullptr);
}
const char* simt_last_writer(simt::Device* device, std::uint64_t address) {
    return guarded([&] { return keep(device->last_writer(address)); }, nullptr);
}

}  // extern "C"
