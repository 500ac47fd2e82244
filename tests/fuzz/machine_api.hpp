// The machine's C interface, as grader/simt/machine/api.cpp defines it.
#pragma once

#include <cstdint>

struct simt_device;

struct simt_launch_options {
    std::uint32_t bytes, order, workers, cooperative;
    std::uint64_t seed, warp_budget, launch_budget;
    const std::uint64_t* blocks;
    std::uint64_t block_count;
    std::uint64_t trace_block;
    std::uint32_t trace_thread, trace_most;
};

extern "C" {

const char* simt_error();
simt_device* simt_device_create_from(const void* program, std::uint64_t bytes);
void simt_device_destroy(simt_device*);

int simt_add_buffer(simt_device*, const char* name, std::uint64_t address, std::uint64_t bytes, void* memory,
                    int initialised, int writable);
int simt_add_sparse(simt_device*, const char* name, std::uint64_t address, std::uint64_t bytes,
                    std::uint32_t element_type, std::uint32_t fill, std::uint64_t seed, int writable);
int simt_allocate(simt_device*, std::uint64_t address, std::uint64_t bytes);
int simt_free(simt_device*, std::uint64_t address);
int simt_remove_buffers(simt_device*);

int simt_launch(simt_device*, const char* kernel, const std::uint32_t grid[3], const std::uint32_t block[3],
                std::uint32_t dynamic_shared, const void* parameters, std::uint64_t parameter_bytes,
                const simt_launch_options*);

int simt_set(simt_device*, std::uint64_t address, std::uint64_t value, std::uint32_t element_bytes,
             std::uint64_t count);
int simt_copy(simt_device*, std::uint64_t to, std::uint64_t from, std::uint64_t bytes);
int simt_write(simt_device*, std::uint64_t to, const void* from, std::uint64_t bytes);
int simt_read(simt_device*, std::uint64_t from, std::uint64_t bytes, void* to);
std::uint64_t simt_variable(simt_device*, const char* name);

const char* simt_report(simt_device*);
const char* simt_unwritten(simt_device*, const char* buffer, std::uint64_t element_bytes);
const char* simt_written(simt_device*, const char* buffer, std::uint64_t element_bytes, std::uint64_t most);
const char* simt_trace(simt_device*);
const char* simt_last_writer(simt_device*, std::uint64_t address);

}  // extern "C"
