// Running sums: of a block, in shared memory and in registers; of a grid, in one pass with look-back.
//
// Every entry gets x[n] and writes out; what it makes stands in scans.py under the kernel's name.
#include <cuda_runtime.h>

#include <cuda/atomic>

#define ENTRY(kernel, blocks, threads)                                                          \
    extern "C" cudaError_t kernel##_entry(const int* x, int* out, int n, cudaStream_t stream) { \
        kernel<<<blocks, threads, 0, stream>>>(x, out, n);                                      \
        return cudaGetLastError();                                                              \
    }
// Scratch is set to zero first: the state of each block (0: nothing yet), then a counter that gives out blocks.
#define ENTRY_WITH_SCRATCH(kernel, Scratch, bytes, blocks, threads)                                            \
    extern "C" cudaError_t kernel##_entry(const int* x, int* out, void* scratch, int n, cudaStream_t stream) { \
        const cudaError_t error = cudaMemsetAsync(scratch, 0, bytes, stream);                                  \
        if (error != cudaSuccess) return error;                                                                \
        kernel<<<blocks, threads, 0, stream>>>(x, out, static_cast<Scratch*>(scratch), n);                     \
        return cudaGetLastError();                                                                             \
    }

constexpr unsigned kAll = 0xffffffffu;

// ---- one block -----------------------------------------------------------------------------------------------------

__global__ void in_place_two_barriers(const int* x, int* out, int n) {
    __shared__ int tile[128];
    const int t = threadIdx.x;
    tile[t] = t < n ? x[t] : 0;
    __syncthreads();
    for (int d = 1; d < 128; d *= 2) {
        const int left = t >= d ? tile[t - d] : 0;
        __syncthreads();
        tile[t] += left;
        __syncthreads();
    }
    if (t < n) out[t] = tile[t];
}
ENTRY(in_place_two_barriers, 1, 128)

// Reads one buffer and writes the other, then the other way round: one barrier a step is enough.
__global__ void ping_pong_one_barrier(const int* x, int* out, int n) {
    __shared__ int tile[2][128];
    const int t = threadIdx.x;
    int from = 0;
    tile[from][t] = x[t];
    __syncthreads();
    for (int d = 1; d < 128; d *= 2) {
        tile[1 - from][t] = tile[from][t] + (t >= d ? tile[from][t - d] : 0);
        from = 1 - from;
        __syncthreads();
    }
    out[t] = tile[from][t];
}
ENTRY(ping_pong_one_barrier, 1, 128)

__global__ void up_and_down_the_tree(const int* x, int* out, int n) {
    __shared__ int tile[256];
    const int t = threadIdx.x;
    tile[2 * t] = x[2 * t];
    tile[2 * t + 1] = x[2 * t + 1];
    int offset = 1;
    for (int d = 128; d > 0; d >>= 1) {
        __syncthreads();
        if (t < d) tile[offset * (2 * t + 2) - 1] += tile[offset * (2 * t + 1) - 1];
        offset *= 2;
    }
    if (t == 0) tile[255] = 0;
    for (int d = 1; d < 256; d *= 2) {
        offset >>= 1;
        __syncthreads();
        if (t < d) {
            const int left = offset * (2 * t + 1) - 1, right = offset * (2 * t + 2) - 1;
            const int sum = tile[left];
            tile[left] = tile[right];
            tile[right] += sum;
        }
    }
    __syncthreads();
    out[2 * t] = tile[2 * t];
    out[2 * t + 1] = tile[2 * t + 1];
}
ENTRY(up_and_down_the_tree, 1, 128)

// The same with a gap after every 32 elements, so that banks do not meet.
__global__ void tree_with_gaps(const int* x, int* out, int n) {
    extern __shared__ int tile[];
    const auto at = [](int i) { return i + i / 32; };
    const int t = threadIdx.x;
    tile[at(t)] = x[t];
    tile[at(t + 64)] = x[t + 64];
    int offset = 1;
    for (int d = 64; d > 0; d >>= 1, offset *= 2) {
        __syncthreads();
        if (t < d) tile[at(offset * (2 * t + 2) - 1)] += tile[at(offset * (2 * t + 1) - 1)];
    }
    __syncthreads();
    if (t == 0) tile[at(127)] = 0;
    for (int d = 1; d < 128; d *= 2) {
        offset >>= 1;
        __syncthreads();
        if (t < d) {
            const int left = at(offset * (2 * t + 1) - 1), right = at(offset * (2 * t + 2) - 1);
            const int sum = tile[left];
            tile[left] = tile[right];
            tile[right] += sum;
        }
    }
    __syncthreads();
    out[t] = tile[at(t)];
    out[t + 64] = tile[at(t + 64)];
}
extern "C" cudaError_t tree_with_gaps_entry(const int* x, int* out, int n, cudaStream_t stream) {
    tree_with_gaps<<<1, 64, (128 + 4) * sizeof(int), stream>>>(x, out, n);
    return cudaGetLastError();
}

__device__ int scan_of_warp(int value) {
    for (int d = 1; d < 32; d *= 2) {
        const int left = __shfl_up_sync(kAll, value, d);
        if (static_cast<int>(threadIdx.x % 32) >= d) value += left;
    }
    return value;
}

__device__ int scan_of_block(int value) {
    __shared__ int sums[32];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    value = scan_of_warp(value);
    if (lane == 31) sums[warp] = value;
    __syncthreads();
    if (warp == 0) sums[lane] = scan_of_warp(lane < static_cast<int>(blockDim.x) / 32 ? sums[lane] : 0);
    __syncthreads();
    if (warp > 0) value += sums[warp - 1];
    return value;
}

__global__ void warps_then_block(const int* x, int* out, int n) {
    const int t = threadIdx.x;
    const int sum = scan_of_block(t < n ? x[t] : 0);
    if (t < n) out[t] = sum;
}
ENTRY(warps_then_block, 1, 256)

// Tile by tile, with what came before carried along.
__global__ void one_block_all_tiles(const int* x, int* out, int n) {
    __shared__ int carry;
    const int t = threadIdx.x, last = blockDim.x - 1;
    if (t == 0) carry = 0;
    for (int start = 0; start < n; start += blockDim.x) {
        const int sum = scan_of_block(start + t < n ? x[start + t] : 0);
        const int before = carry;
        if (start + t < n) out[start + t] = before + sum;
        __syncthreads();
        if (t == last) carry = before + sum;
    }
}
ENTRY(one_block_all_tiles, 1, 96)

__global__ void in_registers_of_each_thread(const int* x, int* out, int n) {
    const int t = threadIdx.x;
    int items[4], sum = 0;
    for (int k = 0; k < 4; ++k) items[k] = sum += x[4 * t + k];
    const int before = scan_of_block(sum) - sum;
    for (int k = 0; k < 4; ++k) out[4 * t + k] = before + items[k];
}
ENTRY(in_registers_of_each_thread, 1, 64)

// ---- the grid, in several launches ---------------------------------------------------------------------------------

__global__ void scan_each_block(const int* x, int* out, int* sums, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const int sum = scan_of_block(i < n ? x[i] : 0);
    if (i < n) out[i] = sum;
    if (threadIdx.x == blockDim.x - 1) sums[blockIdx.x] = sum;
}
__global__ void add_what_came_before(int* out, const int* sums, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (blockIdx.x > 0 && i < n) out[i] += sums[blockIdx.x - 1];
}
extern "C" cudaError_t scan_then_propagate_entry(const int* x, int* out, void* scratch, int n, cudaStream_t stream) {
    int *sums = static_cast<int*>(scratch), *scanned = sums + 8, *total = sums + 16;
    scan_each_block<<<8, 64, 0, stream>>>(x, out, sums, n);
    scan_each_block<<<1, 32, 0, stream>>>(sums, scanned, total, 8);
    add_what_came_before<<<8, 64, 0, stream>>>(out, scanned, n);
    return cudaGetLastError();
}

// ---- the grid, in one launch ---------------------------------------------------------------------------------------

// Each block waits for the one before it. Blocks are numbered as they start, so that none waits for one that never
// does.
__global__ void chained(const int* x, int* out, int* state, int n) {
    __shared__ int number, before;
    const int t = threadIdx.x, blocks = gridDim.x;
    if (t == 0) number = atomicAdd(&state[2 * blocks], 1);
    __syncthreads();
    const int i = number * blockDim.x + t;
    const int sum = scan_of_block(i < n ? x[i] : 0);
    if (t == static_cast<int>(blockDim.x) - 1) {
        int left = 0;
        if (number > 0) {
            while (atomicAdd(&state[2 * number - 2], 0) == 0) {
            }
            __threadfence();
            left = state[2 * number - 1];
        }
        before = left;
        state[2 * number + 1] = left + sum;
        __threadfence();
        atomicExch(&state[2 * number], 1);
    }
    __syncthreads();
    if (i < n) out[i] = before + sum;
}
ENTRY_WITH_SCRATCH(chained, int, (2 * 12 + 1) * sizeof(int), 12, 64)

struct Status {
    volatile int flag;  // 0: nothing yet, 1: this block's own sum, 2: the sum of all up to here
    volatile int own;
    volatile int all;
};

// Look-back with volatile flags: a fence between a value and its flag, on both sides.
__global__ void look_back_volatile(const int* x, int* out, Status* status, int n) {
    __shared__ int before;
    const int t = threadIdx.x, b = blockIdx.x, i = b * blockDim.x + t;
    const int sum = scan_of_block(i < n ? x[i] : 0);
    if (t == static_cast<int>(blockDim.x) - 1) {
        status[b].own = sum;
        __threadfence();
        status[b].flag = 1;
        int left = 0;
        for (int k = b - 1; k >= 0;) {
            const int flag = status[k].flag;
            __threadfence();
            if (flag == 2) {
                left += status[k].all;
                break;
            }
            if (flag == 1) left += status[k--].own;
        }
        before = left;
        status[b].all = left + sum;
        __threadfence();
        status[b].flag = 2;
    }
    __syncthreads();
    if (i < n) out[i] = before + sum;
}
ENTRY_WITH_SCRATCH(look_back_volatile, Status, 16 * sizeof(Status), 16, 64)

// Flag and value in one 64-bit word: there is nothing to put in order.
__global__ void look_back_one_word(const int* x, int* out, unsigned long long* words, int n) {
    __shared__ int before;
    const int t = threadIdx.x, b = blockIdx.x, i = b * blockDim.x + t;
    const int sum = scan_of_block(i < n ? x[i] : 0);
    const auto word = [](unsigned flag, int value) {
        return static_cast<unsigned long long>(flag) << 32 | static_cast<unsigned>(value);
    };
    if (t == static_cast<int>(blockDim.x) - 1) {
        atomicExch(&words[b], word(b == 0 ? 2 : 1, sum));
        int left = 0;
        for (int k = b - 1; k >= 0;) {
            const unsigned long long seen = *static_cast<volatile unsigned long long*>(&words[k]);
            if (seen >> 32 == 0) continue;
            left += static_cast<int>(seen);
            if (seen >> 32 == 2) break;
            --k;
        }
        if (b > 0) atomicExch(&words[b], word(2, left + sum));
        before = left;
    }
    __syncthreads();
    if (i < n) out[i] = before + sum;
}
ENTRY_WITH_SCRATCH(look_back_one_word, unsigned long long, 16 * sizeof(long long), 16, 64)

// One warp looks at the 32 blocks before this one at once.
__global__ void look_back_by_a_warp(const int* x, int* out, unsigned long long* words, int n) {
    __shared__ int before;
    const int t = threadIdx.x, b = blockIdx.x, i = b * blockDim.x + t, lane = t % 32;
    const int sum = scan_of_block(i < n ? x[i] : 0);
    volatile unsigned long long* seen = words;
    if (t == static_cast<int>(blockDim.x) - 1) {
        seen[b] = (b == 0 ? 2ull : 1ull) << 32 | static_cast<unsigned>(sum);
        if (b == 0) before = 0;
    }
    if (b > 0 && t >= 32) {
        int left = 0;
        for (int last = b - 1;; last -= 32) {
            const int k = last - lane;
            unsigned long long word = 2ull << 32;
            do {
                if (k >= 0) word = seen[k];
            } while (__any_sync(kAll, word >> 32 == 0));
            const unsigned complete = __ballot_sync(kAll, word >> 32 == 2);
            const int stop = complete ? __ffs(complete) - 1 : 31;
            left += __reduce_add_sync(kAll, lane <= stop ? static_cast<int>(word) : 0);
            if (complete) break;
        }
        if (lane == 31) {
            seen[b] = 2ull << 32 | static_cast<unsigned>(left + sum);
            before = left;
        }
    }
    __syncthreads();
    if (i < n) out[i] = before + sum;
}
ENTRY_WITH_SCRATCH(look_back_by_a_warp, unsigned long long, 40 * sizeof(long long), 40, 64)

// The same protocol in the words of C++: what is stored before a release is there after an acquire that sees it.
__global__ void look_back_acquire_release(const int* x, int* out, int* state, int n) {
    using Flag = cuda::atomic_ref<int, cuda::thread_scope_device>;
    __shared__ int before;
    const int t = threadIdx.x, b = blockIdx.x, i = b * blockDim.x + t, blocks = gridDim.x;
    int *flags = state, *own = state + blocks, *all = own + blocks;
    const int sum = scan_of_block(i < n ? x[i] : 0);
    if (t == static_cast<int>(blockDim.x) - 1) {
        own[b] = sum;
        Flag(flags[b]).store(1, cuda::std::memory_order_release);
        int left = 0;
        for (int k = b - 1; k >= 0;) {
            const int flag = Flag(flags[k]).load(cuda::std::memory_order_acquire);
            if (flag == 2) {
                left += all[k];
                break;
            }
            if (flag == 1) left += own[k--];
        }
        before = left;
        all[b] = left + sum;
        Flag(flags[b]).store(2, cuda::std::memory_order_release);
    }
    __syncthreads();
    if (i < n) out[i] = before + sum;
}
ENTRY_WITH_SCRATCH(look_back_acquire_release, int, 3 * 16 * sizeof(int), 16, 64)
