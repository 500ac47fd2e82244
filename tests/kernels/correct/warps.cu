// Lanes that work together: shuffles, votes, masks, and shared memory within a warp.
//
// Every entry gets x[n] and writes out; what it makes stands in warps.py under the kernel's name.
#include <cuda_runtime.h>

#define ENTRY(kernel, blocks, threads)                                                          \
    extern "C" cudaError_t kernel##_entry(const int* x, int* out, int n, cudaStream_t stream) { \
        kernel<<<blocks, threads, 0, stream>>>(x, out, n);                                      \
        return cudaGetLastError();                                                              \
    }

constexpr unsigned kAll = 0xffffffffu;

// ---- shuffles ------------------------------------------------------------------------------------------------------

__global__ void sums_by_shuffle_down(const int* x, int* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    int sum = i < n ? x[i] : 0;
    for (int d = 16; d > 0; d >>= 1) sum += __shfl_down_sync(kAll, sum, d);
    if (threadIdx.x % 32 == 0) out[i / 32] = sum;
}
ENTRY(sums_by_shuffle_down, 3, 64)

__global__ void sums_by_butterfly(const int* x, int* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    int sum = i < n ? x[i] : 0;
#pragma unroll
    for (int d = 16; d > 0; d >>= 1) sum += __shfl_xor_sync(kAll, sum, d);
    if (i < n) out[i] = sum;
}
ENTRY(sums_by_butterfly, 2, 128)

__global__ void running_sums_by_shuffle_up(const int* x, int* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32;
    int sum = i < n ? x[i] : 0;
    for (int d = 1; d < 32; d *= 2) {
        const int left = __shfl_up_sync(kAll, sum, d);
        if (lane >= d) sum += left;
    }
    if (i < n) out[i] = sum;
}
ENTRY(running_sums_by_shuffle_up, 1, 96)

__global__ void rotation_by_shuffle(const int* x, int* out, int n) {
    const int i = threadIdx.x, lane = i % 32;
    const int right = __shfl_sync(kAll, x[i], (lane + 1) % 32);
    out[i] = right;
}
ENTRY(rotation_by_shuffle, 1, 64)

__global__ void lane_zero_tells_all(const int* x, int* out, int n) {
    const int i = threadIdx.x;
    int base = 0;
    if (i % 32 == 0) base = x[i / 32];
    base = __shfl_sync(kAll, base, 0);
    out[i] = base + i % 32;
}
ENTRY(lane_zero_tells_all, 1, 128)

// A source beyond the section gives the lane's own value back.
__global__ void shuffles_in_sections(const int* x, int* out, int n) {
    const int i = threadIdx.x;
    const int up = __shfl_up_sync(kAll, x[i], 1, 16), down = __shfl_down_sync(kAll, x[i], 3, 8);
    const int swap = __shfl_xor_sync(kAll, x[i], 2, 4), first = __shfl_sync(kAll, x[i], 0, 8);
    out[i] = up;
    out[i + 64] = down;
    out[i + 128] = swap;
    out[i + 192] = first;
}
ENTRY(shuffles_in_sections, 1, 64)

// 64 bits go as two shuffles.
__global__ void wide_values_by_shuffle(const int* x, int* out, int n) {
    const int i = threadIdx.x;
    const double third = __shfl_xor_sync(kAll, x[i] * 0.5, 1);
    const long long far = __shfl_down_sync(kAll, static_cast<long long>(x[i]) << 33, 4);
    out[i] = static_cast<int>(third * 2.0) + static_cast<int>(far >> 33);
}
ENTRY(wide_values_by_shuffle, 1, 32)

__global__ void transposed_in_registers(const int* x, int* out, int n) {
    const int lane = threadIdx.x;
    int low = x[lane], high = x[lane + 32];
    const bool odd = lane & 1;
    const int give = odd ? low : high;
    const int got = __shfl_xor_sync(kAll, give, 1);
    (odd ? low : high) = got;
    out[lane] = low;
    out[lane + 32] = high;
}
ENTRY(transposed_in_registers, 1, 32)

// ---- masks ---------------------------------------------------------------------------------------------------------

// Who is left is asked while everybody is there, and only those are named.
__global__ void sum_of_a_ragged_end(const int* x, int* out, int n) {
    const int i = threadIdx.x;
    const unsigned here = __ballot_sync(kAll, i < n);
    if (i < n) {
        int sum = x[i];
        const int lanes = __popc(here), lane = i % 32;
        for (int d = 1; d < 32; d *= 2) {
            const int left = __shfl_up_sync(here, sum, d);
            if (lane >= d) sum += left;
        }
        sum = __shfl_sync(here, sum, lanes - 1);
        out[i] = sum;
    }
}
ENTRY(sum_of_a_ragged_end, 1, 128)

// What comes from a lane that takes no part is dropped by who got it.
__global__ void ragged_end_by_shuffle_down(const int* x, int* out, int n) {
    const int i = threadIdx.x, lane = i % 32;
    const unsigned here = __ballot_sync(kAll, i < n);
    if (i < n) {
        int sum = x[i];
        const int lanes = __popc(here);
        for (int d = 16; d > 0; d >>= 1) {
            const int other = __shfl_down_sync(here, sum, d);
            if (lane + d < lanes) sum += other;
        }
        if (lane == 0) out[i / 32] = sum;
    }
}
ENTRY(ragged_end_by_shuffle_down, 1, 128)

// Two halves on two ways, each with a mask of its own and as many rounds as it likes.
__global__ void halves_on_their_own_ways(const int* x, int* out, int n) {
    const int i = threadIdx.x, lane = i % 32;
    int value = x[i];
    if (lane < 16) {
        for (int d = 8; d > 0; d >>= 1) value += __shfl_xor_sync(0x0000ffffu, value, d);
    } else {
        for (int d = 8; d > 2; d >>= 1) value = max(value, __shfl_xor_sync(0xffff0000u, value, d));
    }
    out[i] = value;
}
ENTRY(halves_on_their_own_ways, 1, 64)

// The same instruction reached from two ways: the mask says who waits for whom.
__device__ __noinline__ int sum_of_group(unsigned mask, int value, int lanes) {
    for (int d = lanes / 2; d > 0; d >>= 1) value += __shfl_xor_sync(mask, value, d);
    return value;
}
__global__ void quarters_in_one_function(const int* x, int* out, int n) {
    const int i = threadIdx.x, quarter = i % 32 / 8;
    const unsigned mask = 0xffu << (8 * quarter);
    int value = x[i];
    if (quarter == 1) value = sum_of_group(mask, 2 * value, 8);
    if (quarter != 1) value = sum_of_group(mask, value, quarter == 2 ? 4 : 8);
    out[i] = value;
}
ENTRY(quarters_in_one_function, 1, 64)

// Lanes leave the loop one after the other; those that stay name those that stay.
__global__ void lanes_leave_a_loop(const int* x, int* out, int n) {
    const int i = threadIdx.x, lane = i % 32;
    unsigned here = kAll;
    int sum = 0;
    for (int k = 0;; ++k) {
        here = __ballot_sync(here, k <= lane);
        if (k > lane) break;
        sum += __shfl_sync(here, x[i], 31);  // the last lane stays longest
    }
    out[i] = sum;
}
ENTRY(lanes_leave_a_loop, 1, 64)

__global__ void trip_counts_by_lane(const int* x, int* out, int n) {
    const int i = threadIdx.x;
    int number = i + 1, steps = 0;
    while (number != 1) {
        number = number % 2 ? 3 * number + 1 : number / 2;
        ++steps;
    }
    __syncwarp();
    int most = steps;
    for (int d = 16; d > 0; d >>= 1) most = max(most, __shfl_xor_sync(kAll, most, d));
    out[i] = steps;
    out[i + 64] = most;
}
ENTRY(trip_counts_by_lane, 1, 64)

__global__ void rounds_until_nobody_wants(const int* x, int* out, int n) {
    const int i = threadIdx.x;
    int left = abs(x[i]) % 7, rounds = 0;
    while (__any_sync(kAll, left > 0)) {
        if (left > 0) --left;
        ++rounds;
    }
    out[i] = rounds;
}
ENTRY(rounds_until_nobody_wants, 1, 128)

// The last warp of the block has only 8 lanes: those that never were are waited for by nobody.
__global__ void block_of_forty(const int* x, int* out, int n) {
    const int i = threadIdx.x;
    int sum = x[i];
    for (int d = 4; d > 0; d >>= 1) sum += __shfl_xor_sync(kAll, sum, d);
    out[i] = sum;
}
ENTRY(block_of_forty, 1, 40)

// ---- votes and matches ---------------------------------------------------------------------------------------------

__global__ void votes(const int* x, int* out, int n) {
    const int i = threadIdx.x;
    const unsigned positive = __ballot_sync(kAll, x[i] > 0);
    out[i] = __popc(positive);
    out[i + 64] = 2 * __any_sync(kAll, x[i] > 45) + __all_sync(kAll, x[i] < 45);
}
ENTRY(votes, 1, 64)

// Each lane that keeps its number goes behind those of lower lanes.
__global__ void positives_first(const int* x, int* out, int n) {
    const int i = threadIdx.x, lane = i % 32;
    const bool keep = x[i] > 0;
    const unsigned kept = __ballot_sync(kAll, keep), below = (1u << lane) - 1;
    const int place = keep ? __popc(kept & below) : __popc(kept) + __popc(~kept & below);
    out[i - lane + place] = x[i];
}
ENTRY(positives_first, 1, 64)

__global__ void how_many_are_like_me(const int* x, int* out, int n) {
    const int i = threadIdx.x;
    const unsigned same = __match_any_sync(kAll, x[i] % 5);
    out[i] = __popc(same);
}
ENTRY(how_many_are_like_me, 1, 64)

__global__ void are_all_alike(const int* x, int* out, int n) {
    const int i = threadIdx.x;
    int everybody;
    const unsigned same = __match_all_sync(kAll, i < 32 ? 7 : x[i], &everybody);
    out[i] = everybody ? __popc(same) : -1;
}
ENTRY(are_all_alike, 1, 64)

// One lane of each group of equal keys works for its group.
__global__ void one_speaks_for_its_group(const int* x, int* out, int n) {
    const int i = threadIdx.x, lane = i % 32;
    const long long key = static_cast<long long>(x[i] & 3) << 40;
    const unsigned group = __match_any_sync(kAll, key);
    const int leader = __ffs(group) - 1;
    int squared = 0;
    if (lane == leader) squared = __popc(group) * __popc(group);
    out[i] = __shfl_sync(group, squared, leader);
}
ENTRY(one_speaks_for_its_group, 1, 64)

__global__ void reductions_in_one_instruction(const int* x, int* out, int n) {
    const int i = threadIdx.x;
    out[i] = __reduce_add_sync(kAll, x[i]);
    out[i + 32] = __reduce_min_sync(kAll, x[i]) + 1000 * __reduce_max_sync(kAll, x[i]);
    const auto bits = static_cast<unsigned>(x[i]);
    out[i + 64] = static_cast<int>(__reduce_and_sync(kAll, bits | 0xf0u));
    out[i + 96] = static_cast<int>(__reduce_or_sync(kAll, bits & 0xffu) ^ __reduce_xor_sync(kAll, bits));
}
ENTRY(reductions_in_one_instruction, 1, 32)

__global__ void reduction_of_some_lanes(const int* x, int* out, int n) {
    const int i = threadIdx.x;
    int sum = -1;
    if (i % 3 == 0) sum = __reduce_add_sync(0x49249249u, x[i]);
    out[i] = sum;
}
ENTRY(reduction_of_some_lanes, 1, 32)

// Asking who happens to be here is no promise, but it may be used for what works with any answer.
__global__ void whoever_is_here(const int* x, int* out, int n) {
    const int i = threadIdx.x, lane = i % 32;
    int leads = 0;
    if (x[i] > 0) {
        const unsigned here = __activemask();
        leads = (here >> lane) & 1;
        const int first = __ffs(here) - 1;
        const int base = __shfl_sync(here, x[i], first);
        leads += lane == first ? base - x[i] : 0;
    }
    out[i] = leads;
}
ENTRY(whoever_is_here, 1, 64)

// ---- shared memory within a warp -----------------------------------------------------------------------------------

__global__ void tree_in_one_warp(const int* x, int* out, int n) {
    __shared__ int tile[128];
    const int i = threadIdx.x, lane = i % 32;
    tile[i] = x[i];
    __syncwarp();
    for (int s = 16; s > 0; s >>= 1) {
        if (lane < s) tile[i] += tile[i + s];
        __syncwarp();
    }
    out[i] = tile[i - lane];
}
ENTRY(tree_in_one_warp, 1, 128)

// Read, wait, write, wait: all 32 lanes at every step.
__global__ void tree_with_all_lanes(const int* x, int* out, int n) {
    __shared__ int tile[64];
    const int lane = threadIdx.x;
    tile[lane] = x[lane];
    tile[lane + 32] = 0;
    __syncwarp();
    int sum = tile[lane];
    for (int s = 16; s > 0; s >>= 1) {
        sum += tile[lane + s];
        __syncwarp();
        tile[lane] = sum;
        __syncwarp();
    }
    if (lane == 0) out[0] = sum;
}
ENTRY(tree_with_all_lanes, 1, 32)

__global__ void volatile_with_syncwarp(const int* x, int* out, int n) {
    __shared__ int tile[32];
    volatile int* v = tile;
    const int lane = threadIdx.x;
    v[lane] = x[lane];
    __syncwarp();
    for (int s = 16; s > 0; s >>= 1) {
        const int other = lane < s ? v[lane + s] : 0;
        __syncwarp();
        if (lane < s) v[lane] = v[lane] + other;
        __syncwarp();
    }
    out[lane] = v[0];
}
ENTRY(volatile_with_syncwarp, 1, 32)

__global__ void half_a_warp_waits(const int* x, int* out, int n) {
    __shared__ int tile[32];
    const int lane = threadIdx.x;
    int value = x[lane];
    if (lane < 16) {
        tile[lane] = value;
        __syncwarp(0x0000ffffu);
        value += tile[15 - lane];
        __syncwarp(0x0000ffffu);
        tile[lane] = value;
        __syncwarp(0x0000ffffu);
        value = tile[lane ^ 1];
    }
    out[lane] = value;
}
ENTRY(half_a_warp_waits, 1, 32)

// All lanes of a half read what one of them then changes.
__global__ void halves_read_one_place(const int* x, int* out, int n) {
    __shared__ int place[2];
    const int lane = threadIdx.x, half = lane / 16;
    const unsigned mask = half == 0 ? 0x0000ffffu : 0xffff0000u;
    if (lane % 16 == 0) place[half] = x[half];
    __syncwarp(mask);
    int sum = 0;
    for (int round = 0; round < 3; ++round) {
        const int seen = place[half];
        __syncwarp(mask);
        if (lane % 16 == round) place[half] = seen + 1;
        __syncwarp(mask);
        sum += seen;
    }
    out[lane] = sum;
}
ENTRY(halves_read_one_place, 1, 32)

__global__ void every_warp_its_own_slots(const int* x, int* out, int n) {
    __shared__ int tile[4][33];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    for (int round = 0; round < 3; ++round) {
        tile[warp][lane] = x[threadIdx.x] + round;
        __syncwarp();
        const int mirrored = tile[warp][31 - lane];
        __syncwarp();
        out[128 * round + threadIdx.x] = mirrored;
    }
}
ENTRY(every_warp_its_own_slots, 1, 128)
