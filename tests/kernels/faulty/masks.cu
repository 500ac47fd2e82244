// Masks of `.sync` operations that say what is not so; beside each a near twin that is right (`…_ok`).
//
// `// -> kind` marks a line that a finding of that kind names (of several kinds, one is enough); every line that a
// finding names is marked. Every entry gets x[n] and out[n], n = 128; tests/test_faulty_kernels.py runs them all.
#include <cuda_runtime.h>

#define ENTRY(kernel, blocks, threads)                                                          \
    extern "C" cudaError_t kernel##_entry(const int* x, int* out, int n, cudaStream_t stream) { \
        kernel<<<blocks, threads, 0, stream>>>(x, out, n);                                      \
        return cudaGetLastError();                                                              \
    }

constexpr unsigned kAll = 0xffffffffu;

// ---- lanes that never come -----------------------------------------------------------------------------------------

__global__ void all_named_behind_a_guard(const int* x, int* out, int n) {
    const int i = threadIdx.x;
    if (i < 100) {
        int sum = x[i];
        for (int d = 16; d > 0; d >>= 1) sum += __shfl_xor_sync(kAll, sum, d);  // -> bad_sync_mask
        out[i] = sum;
    }
}
ENTRY(all_named_behind_a_guard, 1, 128)

__global__ void all_come_and_bring_zero_ok(const int* x, int* out, int n) {
    const int i = threadIdx.x;
    int sum = i < 100 ? x[i] : 0;
    for (int d = 16; d > 0; d >>= 1) sum += __shfl_xor_sync(kAll, sum, d);
    if (i < 100) out[i] = sum;
}
ENTRY(all_come_and_bring_zero_ok, 1, 128)

__global__ void half_a_warp_names_all(const int* x, int* out, int n) {
    const int lane = threadIdx.x;
    int sum = x[lane];
    if (lane < 16)
        for (int d = 8; d > 0; d >>= 1) sum += __shfl_down_sync(kAll, sum, d, 16);  // -> bad_sync_mask
    if (lane == 0) out[0] = sum;
}
ENTRY(half_a_warp_names_all, 1, 32)

__global__ void half_a_warp_names_itself_ok(const int* x, int* out, int n) {
    const int lane = threadIdx.x;
    int sum = x[lane];
    if (lane < 16)
        for (int d = 8; d > 0; d >>= 1) sum += __shfl_down_sync(0x0000ffffu, sum, d, 16);
    if (lane == 0) out[0] = sum;
}
ENTRY(half_a_warp_names_itself_ok, 1, 32)

// Only some lanes come as far as the vote: && and || pass by what follows once they know.
__global__ void vote_behind_a_short_cut(const int* x, int* out, int n) {
    const int lane = threadIdx.x;
    const bool either = lane == 0 || __any_sync(kAll, x[lane] > 50);  // -> bad_sync_mask
    out[lane] = either;
}
ENTRY(vote_behind_a_short_cut, 1, 32)

__global__ void vote_before_the_short_cut_ok(const int* x, int* out, int n) {
    const int lane = threadIdx.x;
    const bool any = __any_sync(kAll, x[lane] > 50);
    const bool either = lane == 0 || any;
    out[lane] = either;
}
ENTRY(vote_before_the_short_cut_ok, 1, 32)

__global__ void shuffle_in_a_choice(const int* x, int* out, int n) {
    const int lane = threadIdx.x;
    const int value = x[lane];
    out[lane] = lane < 31 ? __shfl_sync(kAll, value, lane + 1) : 0;  // -> bad_sync_mask
}
ENTRY(shuffle_in_a_choice, 1, 32)

__global__ void shuffle_before_the_choice_ok(const int* x, int* out, int n) {
    const int lane = threadIdx.x;
    const int right = __shfl_sync(kAll, x[lane], lane + 1);
    out[lane] = lane < 31 ? right : 0;
}
ENTRY(shuffle_before_the_choice_ok, 1, 32)

// Lanes go round the loop a different number of times, and every round names all of them.
__global__ void rounds_by_lane(const int* x, int* out, int n) {
    const int lane = threadIdx.x;
    int sum = x[lane];
    for (int k = 0; k < 1 + lane % 3; ++k) sum += __shfl_sync(kAll, sum, 5);  // -> bad_sync_mask
    out[lane] = sum;
}
ENTRY(rounds_by_lane, 1, 32)

__global__ void rounds_of_the_warp_ok(const int* x, int* out, int n) {
    const int lane = threadIdx.x;
    int sum = x[lane];
    for (int k = 0; k < 3; ++k) {
        const int other = __shfl_sync(kAll, sum, 5);
        if (k < 1 + lane % 3) sum += other;
    }
    out[lane] = sum;
}
ENTRY(rounds_of_the_warp_ok, 1, 32)

__global__ void syncwarp_of_some(const int* x, int* out, int n) {
    __shared__ int tile[32];
    const int lane = threadIdx.x;
    tile[lane] = x[lane];  // -> data_race
    int value = 0;
    if (lane < 8) {
        __syncwarp();            // -> bad_sync_mask
        value = tile[lane + 8];  // -> data_race
    }
    out[lane] = __shfl_sync(kAll, value, lane % 8);  // -> bad_sync_mask
}
ENTRY(syncwarp_of_some, 1, 32)

// Both sides wait, each on a line of its own: that is one barrier.
__global__ void syncwarp_on_two_lines_ok(const int* x, int* out, int n) {
    __shared__ int tile[32];
    const int lane = threadIdx.x;
    tile[lane] = x[lane];
    if (lane < 8) {
        __syncwarp();
        out[lane] = tile[lane + 8];
    } else {
        __syncwarp();
        out[lane] = tile[lane - 8];
    }
}
ENTRY(syncwarp_on_two_lines_ok, 1, 32)

__global__ void reduction_in_a_branch(const int* x, int* out, int n) {
    const int lane = threadIdx.x;
    int most = 0;
    if (x[lane] % 2 == 0) most = __reduce_max_sync(kAll, x[lane]);  // -> bad_sync_mask
    out[lane] = most;
}
ENTRY(reduction_in_a_branch, 1, 32)

__global__ void reduction_of_those_in_the_branch_ok(const int* x, int* out, int n) {
    const int lane = threadIdx.x;
    const unsigned even = __ballot_sync(kAll, x[lane] % 2 == 0);
    int most = 0;
    if (x[lane] % 2 == 0) most = __reduce_max_sync(even, x[lane]);
    out[lane] = most;
}
ENTRY(reduction_of_those_in_the_branch_ok, 1, 32)

__global__ void ballot_asks_only_those_it_counts(const int* x, int* out, int n) {
    const int lane = threadIdx.x;
    int count = -1;
    if (x[lane] > 30) count = __popc(__ballot_sync(kAll, 1));  // -> bad_sync_mask
    out[lane] = count;
}
ENTRY(ballot_asks_only_those_it_counts, 1, 32)

__global__ void ballot_asks_all_ok(const int* x, int* out, int n) {
    const int lane = threadIdx.x;
    const unsigned above = __ballot_sync(kAll, x[lane] > 30);
    out[lane] = x[lane] > 30 ? __popc(above) : -1;
}
ENTRY(ballot_asks_all_ok, 1, 32)

__global__ void match_in_a_branch(const int* x, int* out, int n) {
    const int lane = threadIdx.x;
    unsigned same = 0;
    if (lane != 7) same = __match_any_sync(kAll, x[lane] % 4);  // -> bad_sync_mask
    out[lane] = __popc(same);
}
ENTRY(match_in_a_branch, 1, 32)

__global__ void match_of_those_in_the_branch_ok(const int* x, int* out, int n) {
    const int lane = threadIdx.x;
    unsigned same = 0;
    if (lane != 7) same = __match_any_sync(kAll ^ (1u << 7), x[lane] % 4);
    out[lane] = __popc(same);
}
ENTRY(match_of_those_in_the_branch_ok, 1, 32)

// ---- lanes that have left ------------------------------------------------------------------------------------------

__global__ void names_lanes_that_returned(const int* x, int* out, int n) {
    const int i = threadIdx.x;
    if (i >= 100) return;
    int sum = x[i];
    for (int d = 2; d > 0; d >>= 1) sum += __shfl_xor_sync(kAll, sum, d);  // -> bad_sync_mask
    out[i] = sum;
}
ENTRY(names_lanes_that_returned, 1, 128)

__global__ void names_lanes_that_stayed_ok(const int* x, int* out, int n) {
    const int i = threadIdx.x;
    const unsigned stay = __ballot_sync(kAll, i < 100);
    if (i >= 100) return;
    int sum = x[i];
    for (int d = 2; d > 0; d >>= 1) sum += __shfl_xor_sync(stay, sum, d);
    out[i] = sum;
}
ENTRY(names_lanes_that_stayed_ok, 1, 128)

// The mask was right when it was made; since then some lanes have gone.
__global__ void mask_from_before(const int* x, int* out, int n) {
    const int lane = threadIdx.x;
    const unsigned here = __ballot_sync(kAll, lane < 24);
    if (lane >= 24) return;
    if (x[lane] > 70) {
        out[lane] = 0;
        return;
    }
    out[lane] = __popc(__ballot_sync(here, x[lane] > 20));  // -> bad_sync_mask
}
ENTRY(mask_from_before, 1, 32)

__global__ void mask_made_anew_ok(const int* x, int* out, int n) {
    const int lane = threadIdx.x;
    unsigned here = __ballot_sync(kAll, lane < 24);
    if (lane >= 24) return;
    here = __ballot_sync(here, x[lane] <= 70);
    if (x[lane] > 70) {
        out[lane] = 0;
        return;
    }
    out[lane] = __popc(__ballot_sync(here, x[lane] > 20));
}
ENTRY(mask_made_anew_ok, 1, 32)

// Who is here now is asked at the top, and used where some are gone.
__global__ void activemask_from_before(const int* x, int* out, int n) {
    const int lane = threadIdx.x;
    const unsigned here = __activemask();
    int first = 0;
    if (x[lane] > 50) first = __shfl_sync(here, x[lane], __ffs(here) - 1);  // -> bad_sync_mask
    out[lane] = first;
}
ENTRY(activemask_from_before, 1, 32)

__global__ void activemask_on_the_spot_ok(const int* x, int* out, int n) {
    const int lane = threadIdx.x;
    int first = 0;
    if (x[lane] > 50) {
        const unsigned here = __activemask();
        first = __shfl_sync(here, x[lane], __ffs(here) - 1) > 50;
    }
    out[lane] = first;
}
ENTRY(activemask_on_the_spot_ok, 1, 32)

// ---- the caller itself ---------------------------------------------------------------------------------------------

__global__ void mask_without_the_caller(const int* x, int* out, int n) {
    const int lane = threadIdx.x;
    out[lane] = __shfl_sync(0x7fffffffu, x[lane], 0);  // -> bad_sync_mask
}
ENTRY(mask_without_the_caller, 1, 32)

__global__ void mask_with_the_caller_ok(const int* x, int* out, int n) {
    const int lane = threadIdx.x;
    int first = 0;
    if (lane < 31) first = __shfl_sync(0x7fffffffu, x[lane], 0);
    out[lane] = first;
}
ENTRY(mask_with_the_caller_ok, 1, 32)

__global__ void syncwarp_without_the_caller(const int* x, int* out, int n) {
    const int lane = threadIdx.x;
    out[lane] = x[lane];
    __syncwarp(0x0000ffffu);  // -> bad_sync_mask
    out[lane] += 1;
}
ENTRY(syncwarp_without_the_caller, 1, 32)

__global__ void syncwarp_with_the_caller_ok(const int* x, int* out, int n) {
    const int lane = threadIdx.x;
    out[lane] = x[lane];
    __syncwarp(lane < 16 ? 0x0000ffffu : 0xffff0000u);
    out[lane] += 1;
}
ENTRY(syncwarp_with_the_caller_ok, 1, 32)

// A mask that counts lanes from the bottom names one too few.
__global__ void one_lane_too_few(const int* x, int* out, int n) {
    const int i = threadIdx.x;
    if (i < 20) {
        const unsigned lanes = (1u << 19) - 1;
        out[i] = __popc(__ballot_sync(lanes, x[i] > 40));  // -> bad_sync_mask
    }
}
ENTRY(one_lane_too_few, 1, 32)

__global__ void as_many_lanes_as_there_are_ok(const int* x, int* out, int n) {
    const int i = threadIdx.x;
    if (i < 20) {
        const unsigned lanes = (1u << 20) - 1;
        out[i] = __popc(__ballot_sync(lanes, x[i] > 40));
    }
}
ENTRY(as_many_lanes_as_there_are_ok, 1, 32)

// The halves of a warp do not agree on who takes part.
__global__ void two_masks_for_one_shuffle(const int* x, int* out, int n) {
    const int lane = threadIdx.x;
    const unsigned mask = lane < 16 ? kAll : 0xffff0000u;
    out[lane] = __shfl_sync(mask, x[lane], lane | 1);  // -> bad_sync_mask
}
ENTRY(two_masks_for_one_shuffle, 1, 32)

__global__ void a_mask_for_each_half_ok(const int* x, int* out, int n) {
    const int lane = threadIdx.x;
    const unsigned mask = lane < 16 ? 0x0000ffffu : 0xffff0000u;
    out[lane] = __shfl_sync(mask, x[lane], lane | 1);
}
ENTRY(a_mask_for_each_half_ok, 1, 32)

// ---- the source of a shuffle ---------------------------------------------------------------------------------------

__global__ void source_outside_the_mask(const int* x, int* out, int n) {
    const int lane = threadIdx.x;
    int value = 0;
    if (lane < 16) value = __shfl_sync(0x0000ffffu, x[lane], lane + 16);  // -> bad_sync_mask
    out[lane] = value;
}
ENTRY(source_outside_the_mask, 1, 32)

__global__ void source_in_the_mask_ok(const int* x, int* out, int n) {
    const int lane = threadIdx.x;
    int value = 0;
    if (lane < 16) value = __shfl_sync(0x0000ffffu, x[lane], 15 - lane);
    out[lane] = value;
}
ENTRY(source_in_the_mask_ok, 1, 32)

// The tail of 20 is summed as if it were 32.
__global__ void tail_summed_as_a_whole_warp(const int* x, int* out, int n) {
    const int i = threadIdx.x;
    const unsigned here = __ballot_sync(kAll, i < 20);
    if (i < 20) {
        int sum = x[i];
        for (int d = 16; d > 0; d >>= 1) sum += __shfl_down_sync(here, sum, d);  // -> bad_sync_mask
        if (i == 0) out[0] = sum;
    }
}
ENTRY(tail_summed_as_a_whole_warp, 1, 32)

__global__ void tail_filled_up_ok(const int* x, int* out, int n) {
    const int i = threadIdx.x;
    int sum = i < 20 ? x[i] : 0;
    for (int d = 16; d > 0; d >>= 1) sum += __shfl_down_sync(kAll, sum, d);
    if (i == 0) out[0] = sum;
}
ENTRY(tail_filled_up_ok, 1, 32)

// The last warp of 48 threads has 16 lanes.
__global__ void lanes_that_never_were(const int* x, int* out, int n) {
    const int i = threadIdx.x;
    int sum = x[i];
    for (int d = 16; d > 0; d >>= 1) sum += __shfl_xor_sync(kAll, sum, d);  // -> bad_sync_mask
    out[i] = sum;
}
ENTRY(lanes_that_never_were, 1, 48)

__global__ void lanes_that_there_are_ok(const int* x, int* out, int n) {
    const int i = threadIdx.x;
    int sum = x[i];
    for (int d = 8; d > 0; d >>= 1) sum += __shfl_xor_sync(kAll, sum, d);
    out[i] = sum;
}
ENTRY(lanes_that_there_are_ok, 1, 48)
