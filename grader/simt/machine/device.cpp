// Device: memory that outlives a launch, and the way a launch is set up, spread over workers and collected.
#include <sched.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <random>
#include <thread>
#include <utility>

#include "frame.hpp"
#include "launch.hpp"
#include "origins.hpp"

namespace simt {
namespace {

constexpr std::uint64_t kMostSparse = 1ull << 37;  // bytes of a buffer that is there where it is touched
constexpr std::uint64_t kMostOwned = 1ull << 30;   // memory that is not a buffer of the caller's
// Module variables live where no buffer may, each in 4 GiB of its own. The host's own memory may be buffers, above.
constexpr std::uint64_t kVariableBase = 0x0000'6000'0000'0000, kVariableEnd = 0x0000'7000'0000'0000,
                        kVariableStride = 1ull << 32;

bool is_variable(const Region& region) {
    return region.base >= kVariableBase && region.base < kVariableEnd;
}

void shuffle(Launch& launch) {
    std::mt19937_64 random(launch.options.seed);
    launch.shuffle_factor = random() % 65536 * 2 + 1;
    while (std::gcd(launch.shuffle_factor, launch.blocks) != 1) launch.shuffle_factor += 2;
    launch.shuffle_offset = random() % launch.blocks;
    if (launch.shuffle_factor % launch.blocks == 1 && launch.shuffle_offset == 0)  // nothing would be shuffled
        launch.shuffle_offset = launch.blocks / 2;
}

// From here on the values that a sparse buffer holds from the beginning are there, in the pages of these bytes.
void touch(Region& region, std::uint64_t address, std::uint64_t bytes) {
    if (!region.sparse) return;
    const std::uint64_t first = (address - region.base) / kPageBytes,
                        last = (address - region.base + bytes - 1) / kPageBytes;
    for (std::uint64_t page = first; page <= last; ++page) region.shadow.page(page * kPageBytes);
}

// Each within what CUDA allows, so that their product fits 64 bits.
bool within(const Dim3& size, const Dim3& most) {
    return size.x != 0 && size.y != 0 && size.z != 0 && size.x <= most.x && size.y <= most.y && size.z <= most.z;
}
constexpr Dim3 kMostBlocks{0x7fffffff, 65535, 65535}, kMostThreads{1024, 1024, 64};

// Moves this thread to the n-th of the cores that it may use, and leaves it free to be moved on. Left to the scheduler,
// two workers now and then share one core for the whole of a launch while another one idles: half the speed.
void begin_on_core(std::size_t n) {
    cpu_set_t allowed, one;
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return;
    CPU_ZERO(&one);
    n %= static_cast<std::size_t>(std::max(CPU_COUNT(&allowed), 1));
    for (int core = 0; core < CPU_SETSIZE; ++core)
        if (CPU_ISSET(core, &allowed) && n-- == 0) CPU_SET(core, &one);
    sched_setaffinity(0, sizeof one, &one);
    sched_setaffinity(0, sizeof allowed, &allowed);
}

void run_on_workers(Launch& launch, std::vector<std::unique_ptr<Worker>>& workers) {
    if (workers.size() > 1) begin_on_core(0);
    {
        std::vector<std::jthread> threads;
        for (std::size_t i = 1; i < workers.size(); ++i)
            threads.emplace_back([&launch, &worker = *workers[i], i] {
                begin_on_core(i);
                run_worker(launch, worker);
            });
        run_worker(launch, *workers[0]);
    }
    for (const auto& worker : workers)
        if (worker->failure) std::rethrow_exception(worker->failure);
}

void add_up(std::vector<AccessCount>& total, const std::vector<AccessCount>& one) {
    for (std::size_t i = 0; i < total.size(); ++i) {
        AccessCount& to = total[i];
        const AccessCount& from = one[i];
        to.requests += from.requests;
        to.lanes += from.lanes;
        to.sectors += from.sectors;
        to.ideal_sectors += from.ideal_sectors;
        to.wavefronts += from.wavefronts;
        to.ideal_wavefronts += from.ideal_wavefronts;
        to.many_regions |= from.many_regions || (to.hint && from.hint && to.hint != from.hint);
        if (!to.hint) to.hint = from.hint;
    }
}

void add_up(Worker& total, const Worker& one) {
    add_up(total.accesses, one.accesses);
    add_up(total.wide, one.wide);
    for (std::size_t i = 0; i < total.blocks.size(); ++i) {
        total.blocks[i].runs += one.blocks[i].runs;
        total.blocks[i].lanes += one.blocks[i].lanes;
        total.blocks[i].splits += one.blocks[i].splits;
    }
    total.findings.merge(one.findings);
    total.barriers += one.barriers;
    total.printed.insert(total.printed.end(), one.printed.begin(), one.printed.end());
}

// Cooperative groups keep a part of shared memory for themselves: a program that asks where it is has it behind its
// own.
constexpr std::uint64_t kReservedShared = 1024;
bool wants_reserved_memory(const Program& program) {
    return std::any_of(program.op_names.begin(), program.op_names.end(),
                       [](const std::string& name) { return name.starts_with("mov.reserved_smem_offset"); });
}

}  // namespace

Device::Device(std::unique_ptr<Program> program) : program_(std::move(program)) {
    place_variables();
}

Device::~Device() = default;

void Device::mark_nans() {
    origins_ = std::make_unique<NanOrigins>(*program_);
}

std::string Device::nan_origins() const {
    return origins_ ? origins_->report(*program_) : "[]";
}

void Device::place_variables() {
    for (std::size_t i = 0; i < program_->variables.size(); ++i)
        variable_addresses_.push_back(kVariableBase + i * kVariableStride);
    for (std::size_t i = 0; i < program_->variables.size(); ++i) {
        const Variable& variable = program_->variables[i];
        OwnedMemory bytes = owned_memory(variable.size);
        std::copy(variable.initial.begin(), variable.initial.end(), reinterpret_cast<std::uint8_t*>(bytes.get()));
        for (const Relocation& relocation : variable.relocations) {
            const bool function = relocation.variable & 0x80000000u;
            const std::uint32_t index = relocation.variable & 0x7fffffffu;
            if (!function && index >= variable_addresses_.size())
                throw ProgramError("variable " + variable.name + " points to one that is not there");
            const std::uint64_t address =
                (function ? kFunctionBase + kFunctionStride * index : variable_addresses_[index]) +
                static_cast<std::uint64_t>(relocation.addend);
            std::memcpy(bytes.get() + relocation.offset, &address, sizeof address);
        }
        auto region = std::make_unique<Region>(variable.name, variable.constant ? Space::constant : Space::global,
                                               variable_addresses_[i], variable.size, bytes.get(), true);
        region->owned = std::move(bytes);
        memory_.add(std::move(region));
    }
}

std::uint64_t Device::variable_address(const std::string& name) const {
    for (std::size_t i = 0; i < program_->variables.size(); ++i)
        if (program_->variables[i].name == name) return variable_addresses_[i];
    throw ProgramError("the module has no variable " + name);
}

void Device::add_buffer(const std::string& name, std::uint64_t address, std::uint64_t bytes, std::byte* memory,
                        bool initialised, bool writable) {
    const bool among_variables = address + bytes >= kVariableBase && address < kVariableEnd;
    if (address + bytes < address || address + bytes >= kSharedWindow || among_variables)
        throw ProgramError("buffer " + name + " lies outside the address space");
    for (const auto& other : memory_.all())
        if ((address < other->base + other->size && other->base < address + bytes) || address == other->base)
            throw ProgramError("buffer " + name + " overlaps " + other->name);
    memory_.add(std::make_unique<Region>(name, Space::global, address, bytes, memory, initialised)).writable = writable;
}

OwnedMemory Device::owned_memory(std::uint64_t bytes) {
    if (bytes > kMostOwned - owned_bytes_)
        throw ProgramError("the module's variables and what its entry allocates are too large for the software GPU");
    owned_bytes_ += bytes;
    return zeroed_memory(bytes);
}

void Device::allocate(std::uint64_t address, std::uint64_t bytes) {
    if (bytes == 0) throw ProgramError("an allocation of no bytes");
    OwnedMemory memory = owned_memory(bytes);
    try {
        add_buffer("allocated memory", address, bytes, memory.get(), false, true);
    } catch (const ProgramError&) {
        owned_bytes_ -= bytes;
        throw;
    }
    memory_.nearest(address)->owned = std::move(memory);
}

void Device::add_sparse(const std::string& name, std::uint64_t address, std::uint64_t bytes, const Fill& fill,
                        bool writable) {
    if (fill.type > ElementType::i32 || fill.kind > FillKind::byte)
        throw ProgramError("buffer " + name + " is of a type that cannot be filled");
    if (bytes > kMostSparse) throw ProgramError("buffer " + name + " is too large for the software GPU");
    OwnedMemory memory = sparse_memory(bytes);
    add_buffer(name, address, bytes, memory.get(), false, writable);
    Region& region = region_for(address, bytes, "a buffer");
    region.owned = std::move(memory);
    region.sparse = true;
    region.shadow.fill_later(fill);
}

// Memory of the device's own, or a buffer that the caller takes back.
void Device::free(std::uint64_t address) {
    AddressSpace freed;
    memory_.take_if(
        [address](const Region& region) { return region.base == address && !region.sparse && !is_variable(region); },
        freed);
    for (const auto& region : freed.all())
        if (region->owned) owned_bytes_ -= region->size;
}

void Device::remove_buffers() {
    AddressSpace kept;
    memory_.take_if(is_variable, kept);
    for (const auto& region : memory_.all())
        if (region->owned && !region->sparse) owned_bytes_ -= region->size;
    memory_ = std::move(kept);
}

void Device::launch(const std::string& kernel, Dim3 grid, Dim3 block, std::uint32_t dynamic_shared,
                    std::vector<std::byte> parameters, const LaunchOptions& options) {
    const Function* function = program_->entry(kernel);
    if (!function) throw ProgramError("the module has no kernel " + kernel);
    if (!within(block, kMostThreads) || block.volume() > 1024 || !within(grid, kMostBlocks))
        throw ProgramError("kernel " + kernel + " has an impossible grid or block");
    if (grid.volume() >= std::numeric_limits<std::uint32_t>::max())
        throw ProgramError("a grid of more than 2^32 - 2 blocks is too large for the software GPU");
    if (parameters.size() < function->parameter_bytes)
        throw ProgramError("kernel " + kernel + " wants " + std::to_string(function->parameter_bytes) +
                           " bytes of parameters");
    if (std::uint64_t{dynamic_shared} + function->shared_bytes > (1u << 20))
        throw ProgramError("kernel " + kernel + " wants too much shared memory");
    if (function->local_bytes * block.volume() > kMostLocalOfBlock)
        throw ProgramError("kernel " + kernel + " wants more local memory than the software GPU has");
    if (stamps_.nearly_full()) {
        for (const auto& region : memory_.all()) region->shadow.forget_accesses();
        stamps_.restart();
        spare_first_ = spare_last_ = 0;
    }
    Launch launch;
    launch.device = this;
    launch.program = program_.get();
    launch.function = function;
    launch.grid = grid;
    launch.block = block;
    launch.dynamic_shared = dynamic_shared;
    launch.parameters = std::move(parameters);
    for (const SharedVariable& variable : function->shared)
        launch.variables.push_back({variable.offset, variable.offset + std::uint64_t{variable.size}});
    if (dynamic_shared != 0 || launch.variables.empty())  // behind all others
        launch.variables.push_back({function->shared_bytes, std::uint64_t{function->shared_bytes} + dynamic_shared});
    if (wants_reserved_memory(*program_)) {
        const std::uint64_t start = (std::uint64_t{function->shared_bytes} + dynamic_shared + 127) / 128 * 128;
        launch.variables.push_back({start, start + kReservedShared});
    }
    launch.options = options;
    for (const std::uint64_t one : options.blocks)
        if (one >= grid.volume()) throw ProgramError("a chosen block lies outside the grid of kernel " + kernel);
    launch.blocks = options.blocks.empty() ? grid.volume() : options.blocks.size();
    launch.warps_per_block = static_cast<std::uint32_t>((block.volume() + kLanes - 1) / kLanes);
    launch.floor = (spare_first_ != 0 ? spare_first_ : stamps_.frontier()) << kCellShift;
    if (options.order == Order::shuffled) shuffle(launch);
    launch.origins = origins_.get();
    if (options.cooperative) launch.grid_workspace = fresh_grid_workspace();
    const std::uint64_t wanted =
        std::clamp<std::uint64_t>(origins_ ? 1 : options.workers, 1, std::min<std::uint64_t>(launch.blocks, 256));
    launch.parallel = wanted > 1;
    launch.workers = wanted;
    std::vector<std::unique_ptr<Worker>> workers;
    for (std::uint64_t i = 0; i < wanted; ++i) workers.push_back(std::make_unique<Worker>(*program_));
    workers[0]->next_stamp = std::exchange(spare_first_, 0);
    workers[0]->last_stamp = std::exchange(spare_last_, 0);
    launch.grid_stamp = take_stamp(launch, *workers[0], {0, 0, 0, 0, Reach::grid});
    run_on_workers(launch, workers);
    collect(launch, workers);
}

// Where the blocks of a cooperative launch count themselves: zeros, behind the module's variables. The header of
// cooperative groups takes two words of it.
std::uint64_t Device::fresh_grid_workspace() {
    constexpr std::uint64_t bytes = 64;
    const std::uint64_t address = kVariableBase + (program_->variables.size() + 1) * kVariableStride;
    Region* region = memory_.nearest(address);
    if (!region || region->base != address) {
        auto made = std::make_unique<Region>("the grid's workspace", Space::global, address, bytes, nullptr, true);
        made->owned = owned_memory(bytes);
        made->data = made->owned.get();
        region = &memory_.add(std::move(made));
    }
    std::memset(region->data, 0, bytes);
    return address;
}

void Device::collect(const Launch& launch, const std::vector<std::unique_ptr<Worker>>& workers) {
    // What is left of the newest stamps is good for the next launch: all that were used are smaller.
    for (const auto& worker : workers)
        if (worker->next_stamp != worker->last_stamp && worker->last_stamp == stamps_.frontier()) {
            spare_first_ = worker->next_stamp;
            spare_last_ = worker->last_stamp;
        }
    Worker& total = *workers[0];
    for (std::size_t i = 1; i < workers.size(); ++i) add_up(total, *workers[i]);
    std::stable_sort(total.printed.begin(), total.printed.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    reports_.push_back(launch_report(launch, total));
    if (launch.options.trace_most != 0) trace_ = trace_report(launch);
}

Region& Device::region_for(std::uint64_t address, std::uint64_t bytes, const char* what) {
    Region* region = memory_.nearest(address);
    if (!region || !region->holds(address, bytes))
        throw ProgramError(std::string(what) + " reaches outside its buffer");
    return *region;
}

void Device::set(std::uint64_t address, std::uint64_t value, std::uint32_t element_bytes, std::uint64_t count) {
    if (count == 0) return;
    if (element_bytes == 0 || element_bytes > 4 || count > std::numeric_limits<std::uint64_t>::max() / 4)
        throw ProgramError("a fill of impossible size");
    const std::uint64_t bytes = count * element_bytes;
    Region& region = region_for(address, bytes, "a fill");
    if (region.sparse && bytes == region.size && element_bytes == 1) {
        set_sparse(region, static_cast<std::uint8_t>(value));
        return;
    }
    touch(region, address, bytes);
    for (std::uint64_t at = 0; at < bytes; at += element_bytes)
        std::memcpy(region.data + (address - region.base) + at, &value, element_bytes);
    region.shadow.mark_valid(address - region.base, bytes);
}

// All of it, but only the pages that were touched are written now.
void Device::set_sparse(Region& region, std::uint8_t value) {
    for (std::uint64_t offset = 0; offset < region.size; offset += kPageBytes)
        if (region.shadow.page_if_made(offset)) {
            const std::uint64_t bytes = std::min(kPageBytes, region.size - offset);
            std::memset(region.data + offset, value, bytes);
            region.shadow.mark_valid(offset, bytes);
        }
    region.shadow.fill_later({FillKind::byte, ElementType::f32, value});
}

void Device::read(std::uint64_t from, std::uint64_t bytes, std::byte* to) {
    if (bytes == 0) return;
    Region& region = region_for(from, bytes, "a read");
    touch(region, from, bytes);
    std::memcpy(to, region.data + (from - region.base), bytes);
}

void Device::copy(std::uint64_t to, std::uint64_t from, std::uint64_t bytes) {
    if (bytes == 0) return;
    Region& source = region_for(from, bytes, "a copy's source");
    touch(source, from, bytes);
    const std::vector<std::byte> held(source.data + (from - source.base), source.data + (from - source.base) + bytes);
    write(to, held.data(), bytes);
}

void Device::write(std::uint64_t to, const std::byte* from, std::uint64_t bytes) {
    if (bytes == 0) return;
    Region& region = region_for(to, bytes, "a copy");
    touch(region, to, bytes);
    std::memcpy(region.data + (to - region.base), from, bytes);
    region.shadow.mark_valid(to - region.base, bytes);
}

}  // namespace simt
