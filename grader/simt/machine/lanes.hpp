// Lanes: what a warp's 32 lanes look like to the rest of the machine.
//
// A register is an array of 32 values, one a lane, so that one PTX instruction is one loop the compiler vectorises.
// A predicate is a 32-bit mask. Nothing here knows about programs or memory.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <vector>

#if defined(__AVX2__) || defined(__SSE2__)
#include <immintrin.h>
#endif

namespace simt {

inline constexpr int kLanes = 32;
using LaneMask = std::uint32_t;
inline constexpr LaneMask kAllLanes = 0xffffffffu;

inline int lane_count(LaneMask mask) {
    return std::popcount(mask);
}
inline int first_lane(LaneMask mask) {
    return std::countr_zero(mask);
}

// Memory that begins at a cache line, so that 32 lanes of 4 bytes take two of them and no vector straddles a third.
template <class T>
struct LineAllocator {
    using value_type = T;
    LineAllocator() = default;
    template <class Other>
    LineAllocator(const LineAllocator<Other>&) {}
    T* allocate(std::size_t n) { return static_cast<T*>(::operator new(n * sizeof(T), std::align_val_t{64})); }
    void deallocate(T* memory, std::size_t) { ::operator delete(memory, std::align_val_t{64}); }
    bool operator==(const LineAllocator&) const { return true; }
};
template <class T>
using LineVector = std::vector<T, LineAllocator<T>>;

// Calls `body(lane)` for every lane in `mask`, lowest first.
template <class Body>
inline void for_each_lane(LaneMask mask, Body&& body) {
    for (; mask != 0; mask &= mask - 1) body(first_lane(mask));
}

// Bit i of the result is set where flags[i] is not 0; flags hold 0 or -1.
inline LaneMask pack_flags(const std::int32_t* flags) {
#if defined(__AVX2__)
    LaneMask mask = 0;
    for (int i = 0; i < 4; ++i) {
        const __m256i v = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(flags + 8 * i));
        mask |= static_cast<LaneMask>(_mm256_movemask_ps(_mm256_castsi256_ps(v))) << (8 * i);
    }
    return mask;
#elif defined(__SSE2__)
    LaneMask mask = 0;
    for (int i = 0; i < 8; ++i) {
        const __m128i v = _mm_loadu_si128(reinterpret_cast<const __m128i*>(flags + 4 * i));
        mask |= static_cast<LaneMask>(_mm_movemask_ps(_mm_castsi128_ps(v))) << (4 * i);
    }
    return mask;
#else
    LaneMask mask = 0;
    for (int lane = 0; lane < kLanes; ++lane) mask |= static_cast<LaneMask>(flags[lane] & 1) << lane;
    return mask;
#endif
}

// The inverse: select[i] is -1 where bit i of mask is set, else 0.
inline void unpack_mask(LaneMask mask, std::int32_t* select) {
    for (int lane = 0; lane < kLanes; ++lane) select[lane] = -static_cast<std::int32_t>((mask >> lane) & 1u);
}

}  // namespace simt
