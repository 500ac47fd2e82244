#include "memory_map.hpp"

#include <sys/mman.h>

#include <cstring>
#include <string>

namespace grader {

namespace {

constexpr std::size_t alignment = 512;
// Between two allocations: an index that goes astray by less than this is told by the allocation that it left.
constexpr std::size_t gap = std::size_t{1} << 20;
constexpr std::size_t page = 4096;
// What cudaMalloc gives holds anything. All bits set is NaN as a float and -1 as an int: whoever uses it will notice.
constexpr int unset = 0xff;
constexpr std::size_t most_filled = std::size_t{64} << 20;

constexpr std::size_t most_released = 100'000;  // that are remembered

std::size_t rounded(std::size_t bytes, std::size_t multiple) {
    return (bytes + multiple - 1) / multiple * multiple;
}

std::byte* pages(std::uintptr_t wanted, std::size_t bytes) {
    const int fixed = wanted ? MAP_FIXED_NOREPLACE : 0;
    void* memory = mmap(reinterpret_cast<void*>(wanted), rounded(bytes, page), PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | fixed, -1, 0);
    if (memory == MAP_FAILED) return nullptr;
    if (!wanted || reinterpret_cast<std::uintptr_t>(memory) == wanted) return static_cast<std::byte*>(memory);
    munmap(memory, rounded(bytes, page));  // a system that takes the address for a hint
    return nullptr;
}

}  // namespace

const Allocation* MemoryMap::allocate(MemoryKind kind, std::size_t bytes, unsigned flags, std::size_t limit) {
    if (bytes > limit || used_ > limit - bytes) return nullptr;
    const bool on_host = kind != MemoryKind::device;
    std::uintptr_t& next = on_host ? next_host_ : next_device_;
    if (bytes > (on_host ? end : first_host) - next) return nullptr;
    std::byte* memory = pages(on_host ? next : 0, bytes);
    if (!memory) return nullptr;
    if (bytes <= most_filled && !on_host) std::memset(memory, unset, bytes);
    const Allocation* added = add({0, next, bytes, kind, memory, flags});
    if (!added) {
        munmap(memory, rounded(bytes, page));
        return nullptr;
    }
    next += rounded(bytes, on_host ? page : alignment) + gap;
    used_ += bytes;
    return added;
}

const Allocation* MemoryMap::adopt(void* memory, std::size_t bytes, unsigned flags) {
    const auto address = reinterpret_cast<std::uintptr_t>(memory);
    return add({0, address, bytes, MemoryKind::registered, static_cast<std::byte*>(memory), flags});
}

const Allocation* MemoryMap::lend(const std::string& name, void* memory, std::size_t bytes, bool initialised,
                                  bool writable) {
    const auto address = reinterpret_cast<std::uintptr_t>(memory);
    if (!machine_.map(name, address, bytes, memory, initialised, writable)) return nullptr;
    Allocation lent{++last_, address, bytes, MemoryKind::registered, static_cast<std::byte*>(memory), 0};
    return &live_.insert_or_assign(address, lent).first->second;
}

const Allocation* MemoryMap::adopt_variable(std::uintptr_t address, std::size_t bytes) {
    return &live_.try_emplace(address, Allocation{0, address, bytes, MemoryKind::variable, nullptr, 0}).first->second;
}

const Allocation* MemoryMap::add(Allocation allocation) {
    allocation.id = ++last_;
    if (!machine_.map(allocation.region(), allocation.address, allocation.bytes, allocation.memory,
                      allocation.kind != MemoryKind::device))
        return nullptr;
    return &live_.insert_or_assign(allocation.address, allocation).first->second;
}

void MemoryMap::release(std::uintptr_t address) {
    const auto found = live_.find(address);
    if (found == live_.end()) return;
    const Allocation allocation = found->second;
    machine_.unmap(address);
    live_.erase(found);
    if (allocation.kind == MemoryKind::registered) return;
    munmap(allocation.memory, rounded(allocation.bytes, page));
    used_ -= allocation.bytes;
    released_.insert_or_assign(address, allocation);
    if (released_.size() > most_released) released_.erase(released_.begin());  // addresses rise: the oldest of its kind
}

const Allocation* MemoryMap::find(const Table& table, const void* pointer) {
    const auto address = reinterpret_cast<std::uintptr_t>(pointer);
    auto after = table.upper_bound(address);
    if (after == table.begin()) return nullptr;
    const Allocation& before = std::prev(after)->second;
    return before.holds(address, 0) ? &before : nullptr;
}

const Allocation* MemoryMap::find(const void* pointer) const {
    return find(live_, pointer);
}

const Allocation* MemoryMap::find_released(const void* pointer) const {
    return find(released_, pointer);
}

}  // namespace grader
