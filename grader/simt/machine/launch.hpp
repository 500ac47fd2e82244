// Device and launch: memory that lives as long as the device, and one kernel run on it.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "program.hpp"
#include "region.hpp"
#include "stamps.hpp"
#include "warp.hpp"

namespace simt {

enum class Order : std::uint32_t { forward, reverse, shuffled };

struct LaunchOptions {
    Order order = Order::forward;
    std::uint64_t seed = 0;
    std::uint32_t workers = 1;
    std::uint64_t warp_budget = 0;    // instructions one warp may issue; 0 = no bound
    std::uint64_t launch_budget = 0;  // all warps together; 0 = no bound
};

struct Launch {
    Device* device = nullptr;
    const Program* program = nullptr;
    const Function* function = nullptr;
    Dim3 grid, block;
    std::uint32_t dynamic_shared = 0;
    std::vector<std::byte> parameters;
    LaunchOptions options;
    Cell floor = 0;  // cells below are older than this launch
    std::uint32_t grid_stamp = 0;
    std::uint32_t warps_per_block = 0;
    std::uint64_t blocks = 0;
    std::uint64_t shuffle_factor = 1,
                  shuffle_offset = 0;  // of Order::shuffled: n -> factor * n + offset, a permutation
    std::atomic<std::uint64_t> next_block{0};
    std::atomic<std::uint64_t> issued{0};
    std::atomic<bool> stop{false};  // a fault after which nothing sensible can run
    bool parallel = false;
};

class Device {
  public:
    explicit Device(std::unique_ptr<Program> program);

    void add_buffer(const std::string& name, std::uint64_t address, std::uint64_t bytes, std::byte* memory,
                    bool initialised, bool writable);
    void allocate(std::uint64_t address, std::uint64_t bytes);  // memory of the device's own
    void free(std::uint64_t address);
    void remove_buffers();  // the module's variables stay
    void launch(const std::string& kernel, Dim3 grid, Dim3 block, std::uint32_t dynamic_shared,
                std::vector<std::byte> parameters, const LaunchOptions& options);
    void set(std::uint64_t address, std::uint64_t value, std::uint32_t element_bytes, std::uint64_t count);
    void copy(std::uint64_t to, std::uint64_t from, std::uint64_t bytes);
    void write(std::uint64_t to, const std::byte* from, std::uint64_t bytes);

    std::uint64_t variable_address(std::uint32_t variable) const { return variable_addresses_[variable]; }
    std::uint64_t variable_address(const std::string& name) const;
    AddressSpace& memory() { return memory_; }
    StampTable& stamps() { return stamps_; }
    std::string report();  // JSON: findings and counters since the last report
    std::string unwritten(const std::string& buffer, std::uint64_t element_bytes) const;  // JSON
    std::string last_writer(std::uint64_t address) const;  // JSON, "null" when there is none

  private:
    Region& region_for(std::uint64_t address, std::uint64_t bytes, const char* what);
    void place_variables();
    OwnedMemory owned_memory(std::uint64_t bytes);
    void collect(const Launch& launch, const std::vector<std::unique_ptr<Worker>>& workers);

    std::unique_ptr<Program> program_;
    AddressSpace memory_;
    std::uint64_t owned_bytes_ = 0;
    StampTable stamps_;
    std::vector<std::uint64_t> variable_addresses_;
    std::vector<std::string> reports_;  // one JSON object a launch
};

void run_worker(Launch& launch, Worker& worker);                               // scheduler.cpp
std::uint32_t take_stamp(Launch& launch, Worker& worker, const Stamp& stamp);  // scheduler.cpp; with its twin
std::string launch_report(const Launch& launch, const Worker& total);          // report.cpp

}  // namespace simt
