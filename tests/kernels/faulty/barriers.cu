// Barriers that not everybody comes to; beside each a near twin that is right (`…_ok`).
//
// `// -> kind` marks a line that a finding of that kind names (of several kinds, one is enough); every line that a
// finding names is marked. Every entry gets x[n] and out[n], n = 128; tests/test_faulty_kernels.py runs them all.
#include <cuda_runtime.h>

#define ENTRY(kernel, blocks, threads)                                                          \
    extern "C" cudaError_t kernel##_entry(const int* x, int* out, int n, cudaStream_t stream) { \
        kernel<<<blocks, threads, 0, stream>>>(x, out, n);                                      \
        return cudaGetLastError();                                                              \
    }

// ---- in a branch ---------------------------------------------------------------------------------------------------

__global__ void half_a_warp(const int* x, int* out, int n) {
    const int t = threadIdx.x;
    if (t % 32 < 16) __syncthreads();  // -> barrier_divergence
    out[t] = x[t];                     // -> barrier_divergence
}
ENTRY(half_a_warp, 1, 64)

__global__ void half_a_warp_at_the_end(const int* x, int* out, int n) {
    const int t = threadIdx.x;
    out[t] = x[t];
    if (t % 32 < 16) __syncthreads();  // -> barrier_divergence
}
ENTRY(half_a_warp_at_the_end, 1, 64)

// To PTX it is the same; but who returns says that he need not be waited for.
__global__ void half_a_warp_returns_ok(const int* x, int* out, int n) {
    const int t = threadIdx.x;
    out[t] = x[t];
    if (t % 32 >= 16) return;
    __syncthreads();
}
ENTRY(half_a_warp_returns_ok, 1, 64)

__global__ void one_warp_of_two(const int* x, int* out, int n) {
    __shared__ int tile[64];
    const int t = threadIdx.x;
    tile[t] = x[t];
    if (t < 32) __syncthreads();  // -> barrier_divergence
    out[t] = tile[t];
    __syncthreads();         // -> barrier_divergence
    out[t] += tile[63 - t];  // -> barrier_divergence
}
ENTRY(one_warp_of_two, 1, 64)

__global__ void both_warps_ok(const int* x, int* out, int n) {
    __shared__ int tile[64];
    const int t = threadIdx.x;
    tile[t] = x[t];
    if (blockDim.x > 32) __syncthreads();  // all threads find the same
    out[t] = tile[t];
    __syncthreads();
    out[t] += tile[63 - t];
}
ENTRY(both_warps_ok, 1, 64)

__global__ void barrier_in_the_branch_of_a_tree(const int* x, int* out, int n) {
    __shared__ int tile[128];
    const int t = threadIdx.x;
    tile[t] = x[t];
    __syncthreads();
    for (int s = 64; s > 0; s >>= 1)
        if (t < s) {
            tile[t] += tile[t + s];
            __syncthreads();  // -> barrier_divergence
        }
    if (t == 0) out[0] = tile[0];  // -> barrier_divergence
}
ENTRY(barrier_in_the_branch_of_a_tree, 1, 128)

__global__ void barrier_behind_the_branch_of_a_tree_ok(const int* x, int* out, int n) {
    __shared__ int tile[128];
    const int t = threadIdx.x;
    tile[t] = x[t];
    __syncthreads();
    for (int s = 64; s > 0; s >>= 1) {
        if (t < s) tile[t] += tile[t + s];
        __syncthreads();
    }
    if (t == 0) out[0] = tile[0];
}
ENTRY(barrier_behind_the_branch_of_a_tree_ok, 1, 128)

// The guard against the ragged end goes around everything, barrier included.
__global__ void barrier_behind_a_guard(const int* x, int* out, int n) {
    __shared__ int tile[64];
    const int t = threadIdx.x, i = blockIdx.x * 64 + t;
    tile[t] = 0;
    if (i < 100) {
        tile[t] = x[i];
        __syncthreads();  // -> barrier_divergence
    }
    out[i] = i < 100 ? tile[t ^ 1] : 0;  // -> barrier_divergence
}
ENTRY(barrier_behind_a_guard, 2, 64)

__global__ void barrier_between_two_guards_ok(const int* x, int* out, int n) {
    __shared__ int tile[64];
    const int t = threadIdx.x, i = blockIdx.x * 64 + t;
    tile[t] = 0;
    if (i < 100) tile[t] = x[i];
    __syncthreads();
    out[i] = i < 100 ? tile[t ^ 1] : 0;
}
ENTRY(barrier_between_two_guards_ok, 2, 64)

__global__ void a_barrier_in_each_branch(const int* x, int* out, int n) {
    __shared__ int tile[64];
    const int t = threadIdx.x;
    if (x[t] % 2 == 0) {
        tile[t] = x[t];
        __syncthreads();  // -> barrier_divergence
        out[t] = tile[0];
    } else {
        tile[t] = -x[t];
        __syncthreads();  // -> barrier_divergence
        out[t] = tile[1];
    }
}
ENTRY(a_barrier_in_each_branch, 1, 64)

__global__ void one_barrier_for_both_branches_ok(const int* x, int* out, int n) {
    __shared__ int tile[64];
    const int t = threadIdx.x;
    tile[t] = x[t] % 2 == 0 ? x[t] : -x[t];
    __syncthreads();
    out[t] = x[t] % 2 == 0 ? tile[0] : tile[1];
}
ENTRY(one_barrier_for_both_branches_ok, 1, 64)

__global__ void vote_in_a_branch(const int* x, int* out, int n) {
    const int t = threadIdx.x;
    int count = 0;
    if (t < 40) count = __syncthreads_count(x[t] > 0);  // -> barrier_divergence
    out[t] = count;                                     // -> barrier_divergence
}
ENTRY(vote_in_a_branch, 1, 64)

__global__ void vote_of_all_ok(const int* x, int* out, int n) {
    const int t = threadIdx.x;
    const int count = __syncthreads_count(t < 40 && x[t] > 0);
    out[t] = count;
}
ENTRY(vote_of_all_ok, 1, 64)

// ---- in a loop -----------------------------------------------------------------------------------------------------

// 100 elements for 64 threads: the first 36 go round twice.
__global__ void rounds_by_thread(const int* x, int* out, int n) {
    __shared__ int tile[64];
    const int t = threadIdx.x;
    for (int i = t; i < 100; i += 64) {
        tile[t] = x[i];
        __syncthreads();  // -> barrier_divergence
        out[i] = tile[t];
    }
    __syncthreads();                     // -> barrier_divergence
    if (t < 28) out[100 + t] = tile[t];  // -> barrier_divergence
}
ENTRY(rounds_by_thread, 1, 64)

__global__ void rounds_of_the_block_ok(const int* x, int* out, int n) {
    __shared__ int tile[64];
    const int t = threadIdx.x;
    for (int start = 0; start < 100; start += 64) {
        if (start + t < 100) tile[t] = x[start + t];
        __syncthreads();
        if (start + t < 100) out[start + t] = tile[t];
    }
    __syncthreads();
    if (t < 28) out[100 + t] = tile[t];
}
ENTRY(rounds_of_the_block_ok, 1, 64)

__global__ void some_are_ready_sooner(const int* x, int* out, int n) {
    const int t = threadIdx.x;
    int number = x[t];
    while (number > 10) {
        number /= 2;
        __syncthreads();  // -> barrier_divergence
    }
    out[t] = number;  // -> barrier_divergence
}
ENTRY(some_are_ready_sooner, 1, 64)

__global__ void all_are_ready_together_ok(const int* x, int* out, int n) {
    const int t = threadIdx.x;
    int number = x[t];
    while (__syncthreads_or(number > 10))
        if (number > 10) number /= 2;
    out[t] = number;
}
ENTRY(all_are_ready_together_ok, 1, 64)

__global__ void some_go_on_without(const int* x, int* out, int n) {
    __shared__ int tile[64];
    const int t = threadIdx.x;
    tile[t] = 0;
    for (int k = 0; k < 2; ++k) {
        if (x[64 * k + t] % 3 == 0) continue;
        tile[t] += x[64 * k + t];
        __syncthreads();  // -> barrier_divergence
    }
    out[t] = tile[t];  // -> barrier_divergence
}
ENTRY(some_go_on_without, 1, 64)

__global__ void nobody_goes_on_without_ok(const int* x, int* out, int n) {
    __shared__ int tile[64];
    const int t = threadIdx.x;
    tile[t] = 0;
    for (int k = 0; k < 2; ++k) {
        if (x[64 * k + t] % 3 != 0) tile[t] += x[64 * k + t];
        __syncthreads();
    }
    out[t] = tile[t];
}
ENTRY(nobody_goes_on_without_ok, 1, 64)

__global__ void some_break_off(const int* x, int* out, int n) {
    __shared__ int best;
    const int t = threadIdx.x;
    if (t == 0) best = 1 << 30;
    __syncthreads();
    for (int k = 0; k < 2; ++k) {
        const int value = x[64 * k + t];
        if (value > 60) break;
        atomicMin(&best, value);  // -> data_race
        __syncthreads();          // -> barrier_divergence
    }
    __syncthreads();  // -> barrier_divergence
    out[t] = best;    // -> barrier_divergence, data_race
}
ENTRY(some_break_off, 1, 64)

__global__ void all_break_off_ok(const int* x, int* out, int n) {
    __shared__ int best;
    const int t = threadIdx.x;
    if (t == 0) best = 1 << 30;
    __syncthreads();
    for (int k = 0; k < 2; ++k) {
        const int value = x[64 * k + t];
        if (__syncthreads_and(value > 60)) break;
        atomicMin(&best, value);
        __syncthreads();
    }
    __syncthreads();
    out[t] = best;
}
ENTRY(all_break_off_ok, 1, 64)

// Whether a barrier comes at all depends on data that differs by thread.
__global__ void on_a_condition_of_data(const int* x, int* out, int n) {
    __shared__ int tile[64];
    const int t = threadIdx.x;
    int last = 0;
    for (int k = 0; k < 2; ++k) {
        tile[t] = x[64 * k + t];
        if (tile[t] != last) __syncthreads();  // -> barrier_divergence
        last = x[64 * k] + k;
        __syncthreads();  // -> barrier_divergence
    }
    out[t] = last;  // -> barrier_divergence
}
ENTRY(on_a_condition_of_data, 1, 64)

__global__ void on_a_condition_of_the_block_ok(const int* x, int* out, int n) {
    __shared__ int tile[64];
    const int t = threadIdx.x;
    int last = 0;
    for (int k = 0; k < 2; ++k) {
        tile[t] = x[64 * k + t];
        if (x[64 * k] != last) __syncthreads();
        last = x[64 * k] + k;
        __syncthreads();
    }
    out[t] = last;
}
ENTRY(on_a_condition_of_the_block_ok, 1, 64)

// ---- threads that leave --------------------------------------------------------------------------------------------

// Who has ended is not waited for: what he would have loaded is what is missing.
__global__ void leaves_before_loading(const int* x, int* out, int n) {
    __shared__ int tile[64];
    const int t = threadIdx.x;
    if (t >= 50) return;
    tile[t] = x[t];
    __syncthreads();
    out[t] = tile[63 - t];  // -> uninitialised_read
}
ENTRY(leaves_before_loading, 1, 64)

__global__ void leaves_after_loading_ok(const int* x, int* out, int n) {
    __shared__ int tile[64];
    const int t = threadIdx.x;
    tile[t] = x[t];
    __syncthreads();
    if (t >= 50) return;
    out[t] = tile[63 - t];
    __syncthreads();
    out[t] += tile[t];
}
ENTRY(leaves_after_loading_ok, 1, 64)

// ---- barriers for some of the block --------------------------------------------------------------------------------

// Each pair of warps waits for the other to say something first.
__global__ void each_waits_for_the_other(const int* x, int* out, int n) {
    const int t = threadIdx.x;
    if (t < 32) {
        asm volatile("bar.sync 1, 64;" ::: "memory");  // -> deadlock
        asm volatile("bar.arrive 2, 64;" ::: "memory");
    } else {
        asm volatile("bar.sync 2, 64;" ::: "memory");  // -> deadlock
        asm volatile("bar.arrive 1, 64;" ::: "memory");
    }
    out[t] = x[t];
}
ENTRY(each_waits_for_the_other, 1, 64)

__global__ void one_speaks_first_ok(const int* x, int* out, int n) {
    const int t = threadIdx.x;
    if (t < 32) {
        asm volatile("bar.arrive 2, 64;" ::: "memory");
        asm volatile("bar.sync 1, 64;" ::: "memory");
    } else {
        asm volatile("bar.sync 2, 64;" ::: "memory");
        asm volatile("bar.arrive 1, 64;" ::: "memory");
    }
    out[t] = x[t];
}
ENTRY(one_speaks_first_ok, 1, 64)

// One thread waits at the barrier, the others wait for a word that it would say behind it.
__global__ void word_behind_the_barrier(const int* x, int* out, int n) {
    __shared__ volatile int said;
    const int t = threadIdx.x;
    if (t == 0) said = 0;
    __syncthreads();
    if (t >= 32)
        while (said == 0)  // -> endless_loop
            ;
    __syncthreads();
    if (t == 0) said = 1;
    out[t] = x[t];
}
ENTRY(word_behind_the_barrier, 1, 64)

__global__ void word_before_the_barrier_ok(const int* x, int* out, int n) {
    __shared__ volatile int said;
    const int t = threadIdx.x;
    if (t == 0) said = 0;
    __syncthreads();
    if (t == 0) said = 1;
    if (t >= 32)
        while (said == 0);
    __syncthreads();
    out[t] = x[t];
}
ENTRY(word_before_the_barrier_ok, 1, 64)
