// What the program has allocated: where it lies, how large it is, and where in the program that was asked for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "machine.hpp"

namespace grader {

enum class MemoryKind { device, managed, pinned, registered, variable };

struct Allocation {
    std::uint32_t id = 0;  // the machine knows it as "#id"
    std::uintptr_t address = 0;
    std::size_t bytes = 0;
    MemoryKind kind = MemoryKind::device;
    std::byte* memory = nullptr;  // where its bytes really lie; of what the host may touch that is its address
    unsigned flags = 0;           // of cudaHostAlloc and cudaHostRegister

    std::string region() const { return "#" + std::to_string(id); }

    bool on_host() const { return kind != MemoryKind::device && kind != MemoryKind::variable; }
    bool holds(std::uintptr_t pointer, std::size_t size) const {
        return pointer >= address && pointer - address <= bytes && size <= bytes - (pointer - address);
    }
};

class MemoryMap {
  public:
    // Of the device alone from `first_device` on, of host and device from `first_host` on.
    static constexpr std::uintptr_t first_device = 0x2000'0000'0000, first_host = 0x3000'0000'0000,
                                    end = 0x4000'0000'0000;

    explicit MemoryMap(Machine& machine) : machine_(machine) {}

    // Null where there is no more memory; `limit` bytes of device memory are there in all. Memory of the device lies at
    // addresses where the host has nothing, so that a host that follows one ends as it would beside a GPU.
    const Allocation* allocate(MemoryKind kind, std::size_t bytes, unsigned flags, std::size_t limit);
    const Allocation* adopt(void* memory, std::size_t bytes, unsigned flags);  // cudaHostRegister
    // The memory of a tensor, for one call; the machine knows it by the name of the parameter.
    const Allocation* lend(const std::string& name, void* memory, std::size_t bytes, bool initialised, bool writable);
    const Allocation* adopt_variable(std::uintptr_t address, std::size_t bytes);
    void release(std::uintptr_t address);

    // The allocation in which the pointer lies, at its end too; null: it lies in none.
    const Allocation* find(const void* pointer) const;
    // The same for what has been released since; its addresses are never given again.
    const Allocation* find_released(const void* pointer) const;
    std::size_t used() const { return used_; }

  private:
    using Table = std::map<std::uintptr_t, Allocation>;
    const Allocation* add(Allocation allocation);
    static const Allocation* find(const Table& table, const void* pointer);

    Machine& machine_;
    Table live_, released_;
    std::uintptr_t next_device_ = first_device, next_host_ = first_host;
    std::size_t used_ = 0;
    std::uint32_t last_ = 0;
};

}  // namespace grader
