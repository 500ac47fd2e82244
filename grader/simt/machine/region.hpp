// Region: a piece of memory with its true size: a buffer, a module's variable, a block's shared memory.
#pragma once

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "shadow.hpp"

namespace simt {

enum class Space : std::uint8_t { global, constant, shared };

struct FreeMemory {
    std::uint64_t mapped = 0;  // bytes of a mapping; 0: from the heap

    void operator()(std::byte* memory) const {
        if (mapped != 0)
            ::munmap(memory, mapped);
        else
            std::free(memory);
    }
};
using OwnedMemory = std::unique_ptr<std::byte[], FreeMemory>;

// Zeros. Pages that nobody touches cost nothing.
inline OwnedMemory zeroed_memory(std::uint64_t bytes) {
    OwnedMemory memory(static_cast<std::byte*>(std::calloc(std::max<std::uint64_t>(bytes, 1), 1)));
    if (!memory) throw std::bad_alloc();
    return memory;
}

// The same, where not even the addresses are promised memory: most of it is never touched.
inline OwnedMemory sparse_memory(std::uint64_t bytes) {
    bytes = std::max<std::uint64_t>(bytes, 1);
    void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    return OwnedMemory(static_cast<std::byte*>(memory), FreeMemory{bytes});
}

struct Region {
    Region(std::string region_name, Space region_space, std::uint64_t address, std::uint64_t bytes, std::byte* memory,
           bool initialised)
        : name(std::move(region_name)),
          space(region_space),
          writable(region_space != Space::constant),
          base(address),
          size(bytes),
          data(memory),
          shadow(bytes, initialised, memory) {}

    // Whole access inside? Written so that nothing overflows.
    bool holds(std::uint64_t address, std::uint64_t bytes) const {
        return address - base <= size && bytes <= size - (address - base);
    }

    std::string name;
    Space space;
    bool writable;
    std::uint64_t base, size;
    std::byte* data;
    Shadow shadow;
    OwnedMemory owned;  // where the machine itself holds the memory
    bool sparse = false;
};

// Generic addresses of shared and local memory: windows no buffer can lie in.
inline constexpr std::uint64_t kSharedWindow = 0x0100'0000'0000'0000, kLocalWindow = 0x0200'0000'0000'0000,
                               kParameterWindow = 0x0400'0000'0000'0000, kWindowBytes = 1ull << 32;

class AddressSpace {
  public:
    static constexpr std::uint64_t kFar = 1ull << 36;  // no index of 32 bits leads that far from its buffer

    Region& add(std::unique_ptr<Region> region) {
        const auto place = std::upper_bound(regions_.begin(), regions_.end(), region->base,
                                            [](std::uint64_t base, const auto& other) { return base < other->base; });
        return **regions_.insert(place, std::move(region));
    }
    // The region that holds `address`, else the one whose edge lies nearest; null when even that is far away.
    Region* nearest(std::uint64_t address) const {
        const auto after =
            std::upper_bound(regions_.begin(), regions_.end(), address,
                             [](std::uint64_t value, const auto& region) { return value < region->base; });
        Region* below = after == regions_.begin() ? nullptr : (after - 1)->get();
        Region* above = after == regions_.end() ? nullptr : after->get();
        const std::uint64_t past = below ? address - below->base : 0;
        if (below && past < below->size) return below;
        const std::uint64_t behind = below ? past - below->size : kFar, before = above ? above->base - address : kFar;
        if (std::min(behind, before) >= kFar) return nullptr;
        return behind <= before ? below : above;
    }
    // Moves the regions for which `wanted` holds to `other`.
    template <class Wanted>
    void take_if(Wanted&& wanted, AddressSpace& other) {
        for (auto& region : regions_)
            if (wanted(*region)) other.regions_.push_back(std::move(region));
        std::erase(regions_, nullptr);
    }
    const std::vector<std::unique_ptr<Region>>& all() const { return regions_; }

  private:
    std::vector<std::unique_ptr<Region>> regions_;
};

}  // namespace simt
