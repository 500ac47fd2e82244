// Data structures that many threads build or walk together: queues, tables, lists, sparse rows, bitmaps.
//
// Every entry gets x[n] and writes out; what it makes stands in structures.py under the kernel's name.
#include <cuda_runtime.h>

#define ENTRY(kernel, blocks, threads)                                                          \
    extern "C" cudaError_t kernel##_entry(const int* x, int* out, int n, cudaStream_t stream) { \
        kernel<<<blocks, threads, 0, stream>>>(x, out, n);                                      \
        return cudaGetLastError();                                                              \
    }
// Scratch of `bytes` bytes starts at zero.
#define ENTRY_WITH_SCRATCH(kernel, bytes, blocks, threads)                                                     \
    extern "C" cudaError_t kernel##_entry(const int* x, int* out, void* scratch, int n, cudaStream_t stream) { \
        const cudaError_t error = cudaMemsetAsync(scratch, 0, bytes, stream);                                  \
        if (error != cudaSuccess) return error;                                                                \
        kernel<<<blocks, threads, 0, stream>>>(x, out, static_cast<int*>(scratch), n);                         \
        return cudaGetLastError();                                                                             \
    }

constexpr unsigned kAll = 0xffffffffu;

// ---- who takes which piece of work ---------------------------------------------------------------------------------

// Blocks draw tiles until there are none: the number is drawn by one thread and told to all.
__global__ void tiles_drawn_by_blocks(const int* x, int* out, int* drawn, int n) {
    __shared__ int tile;
    const int t = threadIdx.x;
    for (;;) {
        if (t == 0) tile = atomicAdd(drawn, 1);
        __syncthreads();
        const int i = tile * 32 + t;
        __syncthreads();
        if (i - t >= n) return;
        if (i < n) out[i] = x[i] * 2 + 1;
    }
}
ENTRY_WITH_SCRATCH(tiles_drawn_by_blocks, 4, 3, 32)

// Each warp draws for itself; its lanes hear the number by a shuffle.
__global__ void tiles_drawn_by_warps(const int* x, int* out, int* drawn, int n) {
    const int lane = threadIdx.x % 32;
    for (;;) {
        int start = 0;
        if (lane == 0) start = atomicAdd(drawn, 32);
        start = __shfl_sync(kAll, start, 0);
        if (start >= n) break;
        if (start + lane < n) out[start + lane] = -x[start + lane];
    }
}
ENTRY_WITH_SCRATCH(tiles_drawn_by_warps, 4, 2, 96)

// A block asks for room for all that it has found, and fills it.
__global__ void room_for_a_block(const int* x, int* out, int* taken, int n) {
    __shared__ int count, base;
    const int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    if (t == 0) count = 0;
    __syncthreads();
    const bool found = x[i] % 2 == 0;
    const int place = found ? atomicAdd(&count, 1) : 0;
    __syncthreads();
    if (t == 0) base = atomicAdd(taken, count);
    __syncthreads();
    if (found)
        out[base + place] = x[i];
    else
        out[n - 1 - atomicAdd(taken + 1, 1)] = x[i];
}
ENTRY_WITH_SCRATCH(room_for_a_block, 8, 4, 64)

// ---- tables, lists, bitmaps ----------------------------------------------------------------------------------------

// Counts by key in a table with open addressing: a slot is taken by compare and swap, and then its count is added to.
__global__ void into_a_hash_table(const int* x, int* table, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const int key = x[i] + 1000;
    for (int slot = key * 7 % 128;; slot = (slot + 1) % 128) {
        const int before = atomicCAS(&table[2 * slot], 0, key);
        if (before == 0 || before == key) {
            atomicAdd(&table[2 * slot + 1], 1);
            return;
        }
    }
}
__global__ void out_of_the_hash_table(const int* table, int* out) {
    const int key = threadIdx.x + 950;
    int slot = key * 7 % 128;
    while (table[2 * slot] != 0 && table[2 * slot] != key) slot = (slot + 1) % 128;
    out[threadIdx.x] = table[2 * slot] == key ? table[2 * slot + 1] : 0;
}
extern "C" cudaError_t hash_table_entry(const int* x, int* out, void* scratch, int n, cudaStream_t stream) {
    auto* table = static_cast<int*>(scratch);
    const cudaError_t error = cudaMemsetAsync(table, 0, 256 * sizeof(int), stream);
    if (error != cudaSuccess) return error;
    into_a_hash_table<<<5, 64, 0, stream>>>(x, table, n);
    out_of_the_hash_table<<<1, 101, 0, stream>>>(table, out);
    return cudaGetLastError();
}

// A list for each bucket: the new head is exchanged for the old one, which becomes its successor.
__global__ void into_lists(const int* x, int* lists, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) lists[16 + i] = atomicExch(&lists[x[i] & 15], i + 1);
}
__global__ void along_the_lists(const int* x, int* out, const int* lists, int n) {
    const int bucket = threadIdx.x;
    int sum = 0;
    for (int node = lists[bucket]; node != 0; node = lists[16 + node - 1]) sum += x[node - 1];
    out[bucket] = sum;
}
extern "C" cudaError_t linked_lists_entry(const int* x, int* out, void* scratch, int n, cudaStream_t stream) {
    auto* lists = static_cast<int*>(scratch);
    const cudaError_t error = cudaMemsetAsync(lists, 0, 16 * sizeof(int), stream);
    if (error != cudaSuccess) return error;
    into_lists<<<4, 64, 0, stream>>>(x, lists, n);
    along_the_lists<<<1, 16, 0, stream>>>(x, out, lists, n);
    return cudaGetLastError();
}

__global__ void bitmap_of_what_is_there(const int* x, int* out, int n) {
    __shared__ unsigned bits[4];
    const int t = threadIdx.x;
    if (t < 4) bits[t] = 0;
    __syncthreads();
    for (int i = t; i < n; i += blockDim.x) {
        const int number = x[i] + 50;
        atomicOr(&bits[number / 32], 1u << (number % 32));
    }
    __syncthreads();
    for (int number = t; number <= 100; number += blockDim.x) out[number] = bits[number / 32] >> (number % 32) & 1;
}
ENTRY(bitmap_of_what_is_there, 1, 64)

// ---- rows of different lengths -------------------------------------------------------------------------------------

// Rows of a sparse matrix: row r has 1 + x[r] % 13 elements, which lie behind each other from x[32] on. Eight lanes a
// row.
__global__ void sparse_rows_by_eight_lanes(const int* x, int* out, int n) {
    __shared__ int starts[33];
    const int t = threadIdx.x, row = t / 8, lane = t % 8;
    if (t < 33) {
        int start = 32;
        for (int r = 0; r < t; ++r) start += 1 + x[r] % 13;
        starts[t] = start;
    }
    __syncthreads();
    int sum = 0;
    for (int k = starts[row] + lane; k < starts[row + 1]; k += 8) sum += x[k];
    for (int d = 4; d > 0; d >>= 1) sum += __shfl_down_sync(kAll, sum, d, 8);
    if (lane == 0) out[row] = sum;
}
ENTRY(sparse_rows_by_eight_lanes, 1, 256)

// Which segment an element belongs to is looked up by bisection, a different number of steps for each.
__global__ void segments_by_bisection(const int* x, int* out, int n) {
    __shared__ int ends[20];
    const int t = threadIdx.x;
    if (t == 0)
        for (int s = 0, end = 0; s < 20; ++s) ends[s] = end += 1 + x[s] % 9;
    __syncthreads();
    for (int i = t; i < ends[19]; i += blockDim.x) {
        int low = 0, high = 19;
        while (low < high) {
            const int middle = (low + high) / 2;
            if (ends[middle] > i)
                high = middle;
            else
                low = middle + 1;
        }
        out[i] = low;
    }
    for (int i = ends[19] + t; i < n; i += blockDim.x) out[i] = -1;
}
ENTRY(segments_by_bisection, 1, 64)

// ---- waiting inside a block ----------------------------------------------------------------------------------------

// A ring of four slots between two warps: one fills it while the other empties it.
__global__ void ring_between_warps(const int* x, int* out, int n) {
    __shared__ int slots[4][32];
    __shared__ volatile int filled, emptied;
    const int t = threadIdx.x, lane = t % 32;
    if (t == 0) filled = emptied = 0;
    __syncthreads();
    for (int round = 0; round < n / 32; ++round) {
        if (t < 32) {
            while (round - emptied >= 4) {
            }
            __threadfence_block();
            slots[round % 4][lane] = x[32 * round + lane];
            __threadfence_block();
            __syncwarp();
            if (lane == 0) filled = round + 1;
        } else {
            while (filled <= round) {
            }
            __threadfence_block();
            out[32 * round + lane] = slots[round % 4][31 - lane];
            __threadfence_block();
            __syncwarp();
            if (lane == 0) emptied = round + 1;
        }
    }
}
ENTRY(ring_between_warps, 1, 64)

// A barrier made by hand: each warp counts itself in and waits for the rest.
__global__ void barrier_by_counting(const int* x, int* out, int n) {
    __shared__ int tile[128];
    __shared__ int arrived;
    const int t = threadIdx.x;
    if (t == 0) arrived = 0;
    __syncthreads();
    tile[t] = x[t];
    __threadfence_block();
    __syncwarp();
    if (t % 32 == 0) {
        atomicAdd(&arrived, 1);
        while (atomicAdd(&arrived, 0) < 4) {
        }
    }
    __syncwarp();
    __threadfence_block();
    out[t] = tile[127 - t];
}
ENTRY(barrier_by_counting, 1, 128)

// Atomics on global memory that only this block touches; behind the barrier an ordinary load will do.
__global__ void own_counter_read_behind_a_barrier(const int* x, int* out, int n) {
    const int t = threadIdx.x, b = blockIdx.x;
    if (t == 0) out[b] = 0;
    __syncthreads();
    if (x[64 * b + t] > 0) atomicAdd(&out[b], 1);
    __syncthreads();
    out[4 + 64 * b + t] = out[b];
}
ENTRY(own_counter_read_behind_a_barrier, 4, 64)

// Whoever finds it says so; the others look now and then, and stop early if they see it.
__global__ void search_that_stops_early(const int* x, int* out, int* found, int n) {
    volatile int* seen = found;
    const int i = blockIdx.x * blockDim.x + threadIdx.x, wanted = x[n - 1];
    for (int k = i; k < n && *seen == 0; k += gridDim.x * blockDim.x)
        if (x[k] == wanted) *seen = 1;
    __syncthreads();
    if (i == 0) out[0] = wanted;
}
ENTRY_WITH_SCRATCH(search_that_stops_early, 4, 2, 64)
