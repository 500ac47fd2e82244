// Takes the machine's memory from everybody else.
#include <sys/mman.h>

#include <cstdio>
#include <cstring>
#include <vector>

#include "honest.cuh"

ENTRY(takes_all_memory) {
    constexpr size_t much = 1280ull << 20;
    void* const all = mmap(nullptr, much, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (all == MAP_FAILED) return cudaErrorMemoryAllocation;
    static_cast<char*>(all)[much - 1] = 1;
    munmap(all, much);
    std::puts("all of it");
    return add(a, b, out, n, stream);
}

// Takes 64 MB, and gives them back.
ENTRY(takes_all_memory_twin) {
    std::vector<char> some(64u << 20, 1);
    return some.back() ? add(a, b, out, n, stream) : cudaErrorUnknown;
}
