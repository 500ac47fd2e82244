// Device and launch: memory that lives as long as the device, and one kernel run on it.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "counters.hpp"
#include "program.hpp"
#include "region.hpp"
#include "stamps.hpp"
#include "warp.hpp"

namespace simt {

class NanOrigins;

enum class Order : std::uint32_t { forward, reverse, shuffled };

// One memory access of the thread that is watched.
struct TraceEntry {
    const Function* function = nullptr;
    std::uint16_t site = 0, text = 0;
    const char* space = "";
    std::string region;
    std::uint64_t offset = 0;
    bool write = false;
    std::vector<std::byte> value;  // read, or stored; of an atomic what it left
};

// What a warp of the block that is watched asked of memory, or of its own lanes.
enum class Asked : std::uint8_t { load, store, atomic, shuffle, barrier };
struct WarpEntry {
    const Function* function = nullptr;
    std::uint32_t warp = 0, instruction = 0;  // instruction: its number in the program
    std::uint16_t site = 0, text = 0;
    Asked asked = Asked::load;
    const char* space = "";
    std::string region;       // where the first lane leads
    std::uint32_t bytes = 0;  // a lane
    std::uint8_t compiled = kUnknownWidth;
    Cost cost{}, compiled_cost{};  // wavefronts or sectors; of the wider access that ptxas made of it
    LaneMask lanes = 0;
    std::vector<std::int64_t> at;  // lane by lane: bytes from the region's start; of a shuffle, the lane it reads
};

constexpr std::uint32_t kWholeBlock = 0xffffffffu;  // LaunchOptions::trace_thread

struct LaunchOptions {
    Order order = Order::forward;
    std::uint64_t seed = 0;
    std::uint32_t workers = 1;
    std::uint64_t warp_budget = 0;      // instructions one warp may issue; 0 = no bound
    std::uint64_t launch_budget = 0;    // all warps together; 0 = no bound
    std::vector<std::uint64_t> blocks;  // run these alone; empty: all
    std::uint64_t trace_block = 0;
    std::uint32_t trace_thread = 0;  // kWholeBlock: all of them, warp by warp
    std::size_t trace_most = 0;      // accesses to note; 0: none
    bool cooperative = false;        // all blocks are there at the same time, and may wait for each other
};

// Where a variable lies in shared memory. Between two of them lies what is nobody's.
struct Extent {
    std::uint64_t begin, end;

    bool holds(std::uint64_t offset, std::uint64_t bytes) const {
        return offset >= begin && offset <= end && bytes <= end - offset;
    }
};

struct Launch {
    Device* device = nullptr;
    const Program* program = nullptr;
    const Function* function = nullptr;
    Dim3 grid, block;
    std::uint32_t dynamic_shared = 0;
    std::vector<std::byte> parameters;
    std::vector<Extent> variables;  // of shared memory; never empty
    LaunchOptions options;
    Cell floor = 0;  // cells below are older than this launch
    std::uint32_t grid_stamp = 0;
    std::uint64_t grid_workspace = 0;  // of a cooperative launch: where its blocks count themselves; else 0
    std::uint32_t warps_per_block = 0;
    std::uint64_t blocks = 0;
    std::uint64_t shuffle_factor = 1,
                  shuffle_offset = 0;  // of Order::shuffled: n -> factor * n + offset, a permutation
    std::atomic<std::uint64_t> next_block{0};
    std::atomic<std::uint64_t> issued{0};
    std::atomic<bool> stop{false};  // a fault after which nothing sensible can run
    bool parallel = false;
    std::size_t workers = 1;
    std::atomic<int> advancing{0};        // workers that are not just going round loops
    std::atomic<bool> fenced{false};      // some thread has: from now on strong accesses are followed
    std::atomic<bool> order_lost{false};  // more was published than is kept: no more races between blocks are told
    PublishedKnowledge published;
    std::vector<TraceEntry> trace;
    std::vector<WarpEntry> warp_trace;
    NanOrigins* origins = nullptr;  // null: nobody asks where a NaN comes from
};

class Device {
  public:
    explicit Device(std::unique_ptr<Program> program);
    ~Device();

    void add_buffer(const std::string& name, std::uint64_t address, std::uint64_t bytes, std::byte* memory,
                    bool initialised, bool writable);
    void allocate(std::uint64_t address, std::uint64_t bytes);  // memory of the device's own
    // Memory that is there where it is touched, with the values that `fill` says.
    void add_sparse(const std::string& name, std::uint64_t address, std::uint64_t bytes, const Fill& fill,
                    bool writable);
    void free(std::uint64_t address);
    void remove_buffers();  // the module's variables stay
    void launch(const std::string& kernel, Dim3 grid, Dim3 block, std::uint32_t dynamic_shared,
                std::vector<std::byte> parameters, const LaunchOptions& options);
    void set(std::uint64_t address, std::uint64_t value, std::uint32_t element_bytes, std::uint64_t count);
    void copy(std::uint64_t to, std::uint64_t from, std::uint64_t bytes);
    void write(std::uint64_t to, const std::byte* from, std::uint64_t bytes);
    void read(std::uint64_t from, std::uint64_t bytes, std::byte* to);

    std::uint64_t variable_address(std::uint32_t variable) const { return variable_addresses_[variable]; }
    std::uint64_t variable_address(const std::string& name) const;
    AddressSpace& memory() { return memory_; }
    StampTable& stamps() { return stamps_; }
    // From now on launches mark each NaN with where it was made, by one worker; see origins.hpp.
    void mark_nans();
    std::string nan_origins() const;  // JSON: by their numbers, from 1 on
    std::string report();             // JSON: findings and counters since the last report
    std::string unwritten(const std::string& buffer, std::uint64_t element_bytes) const;  // JSON
    // JSON: ranges of elements of a sparse buffer that something has written, at most `most` of them.
    std::string written(const std::string& buffer, std::uint64_t element_bytes, std::uint64_t most) const;
    std::string last_writer(std::uint64_t address) const;                 // JSON, "null" when there is none
    std::string trace() const { return trace_.empty() ? "[]" : trace_; }  // JSON: of the last launch that was watched

  private:
    Region& region_for(std::uint64_t address, std::uint64_t bytes, const char* what);
    void place_variables();
    std::uint64_t fresh_grid_workspace();
    void set_sparse(Region& region, std::uint8_t value);
    OwnedMemory owned_memory(std::uint64_t bytes);
    void collect(const Launch& launch, const std::vector<std::unique_ptr<Worker>>& workers);

    std::unique_ptr<Program> program_;
    AddressSpace memory_;
    std::uint64_t owned_bytes_ = 0;
    StampTable stamps_;
    std::vector<std::uint64_t> variable_addresses_;
    std::vector<std::string> reports_;  // one JSON object a launch
    std::string trace_;
    std::unique_ptr<NanOrigins> origins_;
    std::uint32_t spare_first_ = 0, spare_last_ = 0;  // stamps taken and not used
};

void run_worker(Launch& launch, Worker& worker);                               // scheduler.cpp
std::uint32_t take_stamp(Launch& launch, Worker& worker, const Stamp& stamp);  // scheduler.cpp; with its twin
std::string launch_report(const Launch& launch, const Worker& total);          // report.cpp
std::string trace_report(const Launch& launch);                                // report.cpp

}  // namespace simt
