// Two threads at one place with nothing between them, as learners write it; beside each a near twin that is right
// (`…_ok`).
//
// `// -> kind` marks a line that a finding of that kind names; every line that a finding names is marked. Every entry
// gets x[n] and out[n], n = 128; tests/test_faulty_kernels.py runs them all.
#include <cuda_runtime.h>

#define ENTRY(kernel, blocks, threads)                                                          \
    extern "C" cudaError_t kernel##_entry(const int* x, int* out, int n, cudaStream_t stream) { \
        kernel<<<blocks, threads, 0, stream>>>(x, out, n);                                      \
        return cudaGetLastError();                                                              \
    }

constexpr unsigned kAll = 0xffffffffu;

// ---- barriers that are missing -------------------------------------------------------------------------------------

__global__ void tiles_without_the_first_barrier(const int* x, int* out, int n) {
    __shared__ int tile[64];
    const int t = threadIdx.x;
    int sum = 0;
    for (int start = 0; start < n; start += 64) {
        tile[t] = x[start + t];                                 // -> data_race
        for (int k = 0; k < 64; ++k) sum += tile[k] * (k + 1);  // -> data_race
        __syncthreads();
    }
    out[t] = sum;
}
ENTRY(tiles_without_the_first_barrier, 1, 64)

__global__ void tiles_without_the_second_barrier(const int* x, int* out, int n) {
    __shared__ int tile[64];
    const int t = threadIdx.x;
    int sum = 0;
    for (int start = 0; start < n; start += 64) {
        tile[t] = x[start + t];  // -> data_race
        __syncthreads();
        for (int k = 0; k < 64; ++k) sum += tile[k] * (k + 1);  // -> data_race
    }
    out[t] = sum;
}
ENTRY(tiles_without_the_second_barrier, 1, 64)

__global__ void tiles_with_both_barriers_ok(const int* x, int* out, int n) {
    __shared__ int tile[64];
    const int t = threadIdx.x;
    int sum = 0;
    for (int start = 0; start < n; start += 64) {
        tile[t] = x[start + t];
        __syncthreads();
        for (int k = 0; k < 64; ++k) sum += tile[k] * (k + 1);
        __syncthreads();
    }
    out[t] = sum;
}
ENTRY(tiles_with_both_barriers_ok, 1, 64)

__global__ void tree_with_one_barrier_at_the_end(const int* x, int* out, int n) {
    __shared__ int tile[128];
    const int t = threadIdx.x;
    tile[t] = x[t];
    __syncthreads();
    for (int s = 64; s > 0; s >>= 1)
        if (t < s) tile[t] += tile[t + s];  // -> data_race
    __syncthreads();
    if (t == 0) out[0] = tile[0];
}
ENTRY(tree_with_one_barrier_at_the_end, 1, 128)

__global__ void tree_with_a_barrier_each_step_ok(const int* x, int* out, int n) {
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
ENTRY(tree_with_a_barrier_each_step_ok, 1, 128)

// The barrier stands before each step; after the last one, only the thread that added may read.
__global__ void all_read_the_sum_too_early(const int* x, int* out, int n) {
    __shared__ int tile[128];
    const int t = threadIdx.x;
    tile[t] = x[t];
    for (int s = 64; s > 0; s >>= 1) {
        __syncthreads();
        if (t < s) tile[t] += tile[t + s];  // -> data_race
    }
    out[t] = x[t] - tile[0];  // -> data_race
}
ENTRY(all_read_the_sum_too_early, 1, 128)

__global__ void thread_zero_reads_the_sum_ok(const int* x, int* out, int n) {
    __shared__ int tile[128];
    const int t = threadIdx.x;
    tile[t] = x[t];
    for (int s = 64; s > 0; s >>= 1) {
        __syncthreads();
        if (t < s) tile[t] += tile[t + s];
    }
    if (t == 0) out[t] = x[t] - tile[0];
}
ENTRY(thread_zero_reads_the_sum_ok, 1, 128)

__global__ void scan_in_place_one_barrier(const int* x, int* out, int n) {
    __shared__ int tile[128];
    const int t = threadIdx.x;
    tile[t] = x[t];
    for (int d = 1; d < 128; d *= 2) {
        __syncthreads();
        if (t >= d) tile[t] += tile[t - d];  // -> data_race
    }
    out[t] = tile[t];
}
ENTRY(scan_in_place_one_barrier, 1, 128)

__global__ void scan_in_place_two_barriers_ok(const int* x, int* out, int n) {
    __shared__ int tile[128];
    const int t = threadIdx.x;
    tile[t] = x[t];
    for (int d = 1; d < 128; d *= 2) {
        __syncthreads();
        const int left = t >= d ? tile[t - d] : 0;
        __syncthreads();
        tile[t] += left;
    }
    out[t] = tile[t];
}
ENTRY(scan_in_place_two_barriers_ok, 1, 128)

// Two buffers, but written and read the wrong way round in every second round.
__global__ void two_buffers_mixed_up(const int* x, int* out, int n) {
    __shared__ int tile[2][128];
    const int t = threadIdx.x;
    tile[0][t] = x[t];
    tile[1][t] = 0;
    __syncthreads();
    for (int round = 0; round < 4; ++round) {
        const int from = round / 2, to = 1 - round % 2;
        const int right = tile[from][(t + 1) % 128];  // -> data_race
        tile[to][t] = right + round;                  // -> data_race
        __syncthreads();
    }
    out[t] = tile[0][t];
}
ENTRY(two_buffers_mixed_up, 1, 128)

__global__ void two_buffers_in_turn_ok(const int* x, int* out, int n) {
    __shared__ int tile[2][128];
    const int t = threadIdx.x;
    tile[0][t] = x[t];
    tile[1][t] = 0;
    __syncthreads();
    for (int round = 0; round < 4; ++round) {
        const int from = round % 2, to = 1 - round % 2;
        const int right = tile[from][(t + 1) % 128];
        tile[to][t] = right + round;
        __syncthreads();
    }
    out[t] = tile[0][t];
}
ENTRY(two_buffers_in_turn_ok, 1, 128)

// The function's own variable is used again while somebody still reads what the first call left in it.
__device__ int sum_of_block_once(int value);

__global__ void called_twice(const int* x, int* out, int n) {
    const int t = threadIdx.x;
    const int sum = sum_of_block_once(x[t]);
    out[t] = sum + sum_of_block_once(x[t] * sum);
}
__device__ int sum_of_block_once(int value) {
    __shared__ int partial[4];
    value = __reduce_add_sync(kAll, value);
    if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = value;  // -> data_race
    __syncthreads();
    return partial[0] + partial[1] + partial[2] + partial[3];  // -> data_race
}
ENTRY(called_twice, 1, 128)

__device__ int sum_of_block(int value) {
    __shared__ int partial[4];
    value = __reduce_add_sync(kAll, value);
    __syncthreads();
    if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = value;
    __syncthreads();
    return partial[0] + partial[1] + partial[2] + partial[3];
}
__global__ void called_twice_ok(const int* x, int* out, int n) {
    const int t = threadIdx.x;
    const int sum = sum_of_block(x[t]);
    out[t] = sum + sum_of_block(x[t] * sum);
}
ENTRY(called_twice_ok, 1, 128)

__global__ void one_thread_prepares(const int* x, int* out, int n) {
    __shared__ int first;
    const int t = threadIdx.x;
    if (t == 0) first = x[0];  // -> data_race
    out[t] = x[t] - first;     // -> data_race
}
ENTRY(one_thread_prepares, 1, 128)

__global__ void one_thread_prepares_ok(const int* x, int* out, int n) {
    __shared__ int first;
    const int t = threadIdx.x;
    if (t == 0) first = x[0];
    __syncthreads();
    out[t] = x[t] - first;
}
ENTRY(one_thread_prepares_ok, 1, 128)

// ---- within a warp -------------------------------------------------------------------------------------------------

__global__ void last_steps_without_syncwarp(const int* x, int* out, int n) {
    __shared__ int tile[128];
    const int t = threadIdx.x;
    tile[t] = x[t];
    __syncthreads();
    for (int s = 64; s > 0; s >>= 1) {
        if (t < s) tile[t] += tile[t + s];  // -> data_race
        if (s > 32) __syncthreads();
    }
    if (t == 0) out[0] = tile[0];
}
ENTRY(last_steps_without_syncwarp, 1, 128)

__global__ void last_steps_with_syncwarp_ok(const int* x, int* out, int n) {
    __shared__ int tile[128];
    const int t = threadIdx.x;
    tile[t] = x[t];
    __syncthreads();
    for (int s = 64; s > 0; s >>= 1) {
        if (t < s) tile[t] += tile[t + s];
        if (s > 32)
            __syncthreads();
        else
            __syncwarp();
    }
    if (t == 0) out[0] = tile[0];
}
ENTRY(last_steps_with_syncwarp_ok, 1, 128)

// As it was written before 2017.
__global__ void volatile_for_a_barrier(const int* x, int* out, int n) {
    __shared__ int tile[64];
    const int t = threadIdx.x;
    tile[t] = x[t];
    __syncthreads();
    if (t < 32) {
        volatile int* v = tile;
        v[t] += v[t + 32];  // -> data_race
        v[t] += v[t + 16];  // -> data_race
        v[t] += v[t + 8];   // -> data_race
        v[t] += v[t + 4];   // -> data_race
        v[t] += v[t + 2];   // -> data_race
        v[t] += v[t + 1];   // -> data_race
    }
    if (t == 0) out[0] = tile[0];
}
ENTRY(volatile_for_a_barrier, 1, 64)

__global__ void volatile_and_syncwarp_ok(const int* x, int* out, int n) {
    __shared__ int tile[64];
    const int t = threadIdx.x;
    tile[t] = x[t];
    __syncthreads();
    if (t < 32) {
        volatile int* v = tile;
        int sum = v[t];
        for (int s = 32; s > 0; s >>= 1) {
            sum += v[t + s];
            __syncwarp();
            v[t] = sum;
            __syncwarp();
        }
    }
    if (t == 0) out[0] = tile[0];
}
ENTRY(volatile_and_syncwarp_ok, 1, 64)

// All lanes read, all lanes write: in step, as it looks, and nothing says so.
__global__ void shifted_in_step(const int* x, int* out, int n) {
    __shared__ int tile[64];
    const int t = threadIdx.x;
    tile[t] = x[t];
    __syncthreads();
    if (t < 32) {
        const int other = tile[t + 16];  // -> data_race
        tile[t] = other + 1;             // -> data_race
    }
    __syncthreads();
    out[t] = tile[t];
}
ENTRY(shifted_in_step, 1, 64)

__global__ void shifted_with_syncwarp_ok(const int* x, int* out, int n) {
    __shared__ int tile[64];
    const int t = threadIdx.x;
    tile[t] = x[t];
    __syncthreads();
    if (t < 32) {
        const int other = tile[t + 16];
        __syncwarp();
        tile[t] = other + 1;
    }
    __syncthreads();
    out[t] = tile[t];
}
ENTRY(shifted_with_syncwarp_ok, 1, 64)

__global__ void syncwarp_for_a_block(const int* x, int* out, int n) {
    __shared__ int tile[128];
    const int t = threadIdx.x;
    tile[t] = x[t];  // -> data_race
    __syncwarp();
    out[t] = tile[127 - t];  // -> data_race
}
ENTRY(syncwarp_for_a_block, 1, 128)

__global__ void syncwarp_for_a_warp_ok(const int* x, int* out, int n) {
    __shared__ int tile[128];
    const int t = threadIdx.x;
    tile[t] = x[t];
    __syncwarp();
    out[t] = tile[t ^ 31];
}
ENTRY(syncwarp_for_a_warp_ok, 1, 128)

// Each half waits for itself, and reads from the other.
__global__ void halves_wait_apart(const int* x, int* out, int n) {
    __shared__ int tile[32];
    const int lane = threadIdx.x;
    tile[lane] = x[lane];  // -> data_race
    __syncwarp(lane < 16 ? 0x0000ffffu : 0xffff0000u);
    out[lane] = tile[31 - lane];  // -> data_race
}
ENTRY(halves_wait_apart, 1, 32)

__global__ void halves_wait_apart_ok(const int* x, int* out, int n) {
    __shared__ int tile[32];
    const int lane = threadIdx.x;
    tile[lane] = x[lane];
    __syncwarp(lane < 16 ? 0x0000ffffu : 0xffff0000u);
    out[lane] = tile[lane ^ 15];
}
ENTRY(halves_wait_apart_ok, 1, 32)

// A shuffle and a vote gather lanes, and promise nothing about memory.
__global__ void shuffle_for_a_barrier(const int* x, int* out, int n) {
    __shared__ int tile[32];
    const int lane = threadIdx.x;
    tile[lane] = x[lane];  // -> data_race
    const int zero = __shfl_sync(kAll, 0, 0);
    out[lane] = tile[31 - lane] + zero;  // -> data_race
}
ENTRY(shuffle_for_a_barrier, 1, 32)

__global__ void shuffle_and_barrier_ok(const int* x, int* out, int n) {
    __shared__ int tile[32];
    const int lane = threadIdx.x;
    tile[lane] = x[lane];
    const int zero = __shfl_sync(kAll, 0, 0);
    __syncwarp();
    out[lane] = tile[31 - lane] + zero;
}
ENTRY(shuffle_and_barrier_ok, 1, 32)

// A fence puts one thread's own accesses in order. It waits for nobody.
__global__ void fence_for_a_barrier(const int* x, int* out, int n) {
    __shared__ int tile[128];
    const int t = threadIdx.x;
    tile[t] = x[t];  // -> data_race
    __threadfence_block();
    out[t] = tile[127 - t];  // -> data_race
}
ENTRY(fence_for_a_barrier, 1, 128)

__global__ void fence_and_barrier_ok(const int* x, int* out, int n) {
    __shared__ int tile[128];
    const int t = threadIdx.x;
    tile[t] = x[t];
    __threadfence_block();
    __syncthreads();
    out[t] = tile[127 - t];
}
ENTRY(fence_and_barrier_ok, 1, 128)

// ---- several threads, one place ------------------------------------------------------------------------------------

__global__ void bins_without_atomics(const int* x, int* out, int n) {
    __shared__ int bins[8];
    const int t = threadIdx.x;
    if (t < 8) bins[t] = 0;
    __syncthreads();
    bins[x[t] % 8] += 1;  // -> data_race
    __syncthreads();
    if (t < 8) out[t] = bins[t];
}
ENTRY(bins_without_atomics, 1, 128)

__global__ void bins_with_atomics_ok(const int* x, int* out, int n) {
    __shared__ int bins[8];
    const int t = threadIdx.x;
    if (t < 8) bins[t] = 0;
    __syncthreads();
    atomicAdd(&bins[x[t] % 8], 1);
    __syncthreads();
    if (t < 8) out[t] = bins[t];
}
ENTRY(bins_with_atomics_ok, 1, 128)

// Eight threads set their bits in one byte.
__global__ void bits_of_one_byte(const int* x, int* out, int n) {
    __shared__ unsigned char bits[16];
    const int t = threadIdx.x;
    if (t < 16) bits[t] = 0;
    __syncthreads();
    if (x[t] > 0) bits[t / 8] |= 1 << (t % 8);  // -> data_race
    __syncthreads();
    if (t < 16) out[t] = bits[t];
}
ENTRY(bits_of_one_byte, 1, 128)

__global__ void a_byte_for_each_ok(const int* x, int* out, int n) {
    __shared__ unsigned char flags[128];
    const int t = threadIdx.x;
    flags[t] = 0;
    if (x[t] > 0) flags[t] |= 1;
    __syncthreads();
    if (t < 16) out[t] = flags[8 * t] + 2 * flags[8 * t + 1];
}
ENTRY(a_byte_for_each_ok, 1, 128)

__global__ void last_one_wins(const int* x, int* out, int n) {
    __shared__ int place;
    const int t = threadIdx.x;
    if (t == 0) place = -1;
    __syncthreads();
    if (x[t] > 0) place = t;  // -> data_race
    __syncthreads();
    if (t == 0) out[0] = place;
}
ENTRY(last_one_wins, 1, 128)

__global__ void all_say_the_same_ok(const int* x, int* out, int n) {
    __shared__ int found;
    const int t = threadIdx.x;
    if (t == 0) found = 0;
    __syncthreads();
    if (x[t] > 0) found = 1;
    __syncthreads();
    if (t == 0) out[0] = found;
}
ENTRY(all_say_the_same_ok, 1, 128)

// Element (i, j) and element (j, i) are swapped by two threads, both at once.
__global__ void swapped_twice(const int* x, int* out, int n) {
    __shared__ int tile[8][8];
    const int i = threadIdx.y, j = threadIdx.x;
    tile[i][j] = x[8 * i + j];
    __syncthreads();
    const int held = tile[i][j];  // -> data_race
    tile[i][j] = tile[j][i];      // -> data_race
    tile[j][i] = held;            // -> data_race
    __syncthreads();
    out[8 * i + j] = tile[i][j];
}
ENTRY(swapped_twice, 1, dim3(8, 8))

__global__ void swapped_once_ok(const int* x, int* out, int n) {
    __shared__ int tile[8][8];
    const int i = threadIdx.y, j = threadIdx.x;
    tile[i][j] = x[8 * i + j];
    __syncthreads();
    if (i < j) {
        const int held = tile[i][j];
        tile[i][j] = tile[j][i];
        tile[j][i] = held;
    }
    __syncthreads();
    out[8 * i + j] = tile[i][j];
}
ENTRY(swapped_once_ok, 1, dim3(8, 8))

// ---- between blocks ------------------------------------------------------------------------------------------------

// Blocks of 64 threads that begin 32 apart.
__global__ void blocks_overlap(const int* x, int* out, int n) {
    const int i = blockIdx.x * 32 + threadIdx.x;
    if (i < n) out[i] = x[i] + static_cast<int>(blockIdx.x);  // -> data_race
}
ENTRY(blocks_overlap, 3, 64)

__global__ void blocks_side_by_side_ok(const int* x, int* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = x[i] + static_cast<int>(blockIdx.x);
}
ENTRY(blocks_side_by_side_ok, 2, 64)

// The barrier is one for the block; at its edge a thread reads what another block writes.
__global__ void neighbour_of_another_block(const int* x, int* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = 2 * x[i];  // -> data_race
    __syncthreads();
    const int right = out[min(i + 1, n - 1)];  // -> data_race
    __syncthreads();
    if (threadIdx.x + 1 < blockDim.x) out[i] = right;  // -> data_race
}
ENTRY(neighbour_of_another_block, 2, 64)

__global__ void neighbour_of_the_own_block_ok(const int* x, int* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = 2 * x[i];
    __syncthreads();
    const int right = out[threadIdx.x + 1 < blockDim.x ? i + 1 : i];
    __syncthreads();
    if (threadIdx.x + 1 < blockDim.x) out[i] = right;
}
ENTRY(neighbour_of_the_own_block_ok, 2, 64)

// Every block would prepare what only one of them may.
__global__ void each_block_prepares(const int* x, int* out, int n) {
    const int t = threadIdx.x;
    if (t == 0) out[n - 1] = x[blockIdx.x];  // -> data_race
    __syncthreads();
    out[blockIdx.x * 32 + t] = x[t] + out[n - 1];
}
ENTRY(each_block_prepares, 3, 32)

__global__ void each_block_prepares_its_own_ok(const int* x, int* out, int n) {
    const int t = threadIdx.x;
    if (t == 0) out[n - 1 - blockIdx.x] = x[blockIdx.x];
    __syncthreads();
    out[blockIdx.x * 32 + t] = x[t] + out[n - 1 - blockIdx.x];
}
ENTRY(each_block_prepares_its_own_ok, 3, 32)
