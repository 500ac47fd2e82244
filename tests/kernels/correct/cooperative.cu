// Cooperative launches, whose blocks wait for each other, and barriers for a part of a block.
//
// Every entry gets x[n] and writes out; what it makes stands in cooperative.py under the kernel's name.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cuda_runtime.h>

namespace cg = cooperative_groups;

#define ENTRY(kernel, blocks, threads)                                                          \
    extern "C" cudaError_t kernel##_entry(const int* x, int* out, int n, cudaStream_t stream) { \
        kernel<<<blocks, threads, 0, stream>>>(x, out, n);                                      \
        return cudaGetLastError();                                                              \
    }
#define ENTRY_TOGETHER(kernel, blocks, threads)                                                                     \
    extern "C" cudaError_t kernel##_entry(const int* x, int* out, void* scratch, int n, cudaStream_t stream) {      \
        void* arguments[] = {&x, &out, &scratch, &n};                                                               \
        return cudaLaunchCooperativeKernel(reinterpret_cast<void*>(kernel), blocks, threads, arguments, 0, stream); \
    }

// ---- the grid ------------------------------------------------------------------------------------------------------

__global__ void sum_of_the_grid(const int* x, int* out, int* sums, int n) {
    const auto grid = cg::this_grid();
    const auto warp = cg::tiled_partition<32>(cg::this_thread_block());
    const int sum = cg::reduce(warp, x[grid.thread_rank()], cg::plus<int>());
    if (warp.thread_rank() == 0) sums[grid.thread_rank() / 32] = sum;
    grid.sync();
    int total = 0;
    for (unsigned i = 0; i < grid.size() / 32; ++i) total += sums[i];
    out[grid.thread_rank()] = total;
}
ENTRY_TOGETHER(sum_of_the_grid, 5, 64)

// Every round reads what other blocks wrote in the round before.
__global__ void rounds_of_the_grid(const int* x, int* out, int* other, int n) {
    const auto grid = cg::this_grid();
    const int i = grid.thread_rank();
    other[i] = x[i];
    grid.sync();
    int *from = other, *to = out;
    for (int round = 0; round < 5; ++round) {
        to[i] = from[i] + from[(i + 50) % n] - from[(i + n - 1) % n];
        grid.sync();
        int* const swapped = from;
        from = to;
        to = swapped;
    }
}
ENTRY_TOGETHER(rounds_of_the_grid, dim3(2, 3), dim3(8, 4))

__global__ void arrive_work_wait(const int* x, int* out, int* shared_with_all, int n) {
    auto grid = cg::this_grid();
    const int i = grid.thread_rank();
    shared_with_all[i] = 3 * x[i];
    auto token = grid.barrier_arrive();
    int own = x[i] * x[i];  // work that needs nobody
    grid.barrier_wait(std::move(token));
    out[i] = own + shared_with_all[n - 1 - i];
}
ENTRY_TOGETHER(arrive_work_wait, 4, 32)

// More blocks than are begun at the same time where they need not wait for each other.
__global__ void many_blocks(const int* x, int* out, int* flags, int n) {
    const auto grid = cg::this_grid();
    if (threadIdx.x == 0) flags[blockIdx.x] = blockIdx.x + 1;
    cg::sync(grid);
    out[grid.thread_rank()] = flags[gridDim.x - 1 - blockIdx.x] + x[grid.thread_rank()];
}
ENTRY_TOGETHER(many_blocks, 600, 32)

extern "C" cudaError_t as_many_blocks_as_fit_entry(const int* x, int* out, void* scratch, int n, cudaStream_t stream) {
    void* arguments[] = {&x, &out, &scratch, &n};
    int device = 0, multiprocessors = 0, blocks = 0;
    cudaGetDevice(&device);
    cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device);
    cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, sum_of_the_grid, 64, 0);
    const int most = blocks * multiprocessors < n / 64 ? blocks * multiprocessors : n / 64;
    return cudaLaunchCooperativeKernel(reinterpret_cast<void*>(sum_of_the_grid), most, 64, arguments, 0, stream);
}

// ---- a part of the block -------------------------------------------------------------------------------------------

__device__ void meet(int barrier, int threads) {
    asm volatile("bar.sync %0, %1;" ::"r"(barrier), "r"(threads) : "memory");
}
__device__ void pass_by(int barrier, int threads) {
    asm volatile("bar.arrive %0, %1;" ::"r"(barrier), "r"(threads) : "memory");
}

__global__ void two_halves(const int* x, int* out, int n) {
    __shared__ int tile[128];
    const int t = threadIdx.x, half = t / 64;
    int sum = 0;
    for (int i = 0; i < n / 128; ++i) {
        tile[t] = x[i * 128 + t];
        meet(1 + half, 64);
        sum += (i + 1) * tile[half * 64 + 63 - t % 64];
        meet(1 + half, 64);
    }
    out[t] = sum;
}
ENTRY(two_halves, 1, 128)

// Two warps store, two warps read, through two stages, each with a barrier "full" and one "empty".
__global__ void stores_and_reads(const int* x, int* out, int n) {
    __shared__ int stage[2][64];
    const int t = threadIdx.x % 64, rounds = n / 64;
    if (threadIdx.x < 64) {
        for (int i = 0; i < rounds; ++i) {
            if (i >= 2) meet(3 + i % 2, 128);
            stage[i % 2][t] = x[i * 64 + t];
            pass_by(1 + i % 2, 128);
        }
    } else {
        int sum = 0;
        for (int i = 0; i < rounds; ++i) {
            meet(1 + i % 2, 128);
            sum += (i + 1) * stage[i % 2][63 - t];
            if (i + 2 < rounds) pass_by(3 + i % 2, 128);
        }
        out[t] = sum;
    }
}
ENTRY(stores_and_reads, 1, 128)

// What a part has learned, all learn at the barrier of the block; and what one thread of it gives to other blocks.
__global__ void parts_and_the_whole(const int* x, int* out, int n) {
    __shared__ int tile[96];
    const int t = threadIdx.x;
    tile[t] = x[t];
    if (t < 64) {
        meet(5, 64);
        if (t == 0) {
            int sum = 0;
            for (int i = 0; i < 64; ++i) sum += tile[i];
            tile[0] = sum;
        }
    }
    __syncthreads();
    out[t] = tile[0] + tile[95 - t];
}
ENTRY(parts_and_the_whole, 1, 96)

__device__ int ready;
__global__ void handed_to_another_block(const int* x, int* out, int* handed, int n) {
    const int t = threadIdx.x;
    if (blockIdx.x == 0) {
        if (t < 64) {
            handed[t] = 2 * x[t];
            meet(1, 64);
            if (t == 0) {
                __threadfence();
                atomicExch(&ready, 1);
            }
        }
    } else {
        if (t == 0)
            while (atomicAdd(&ready, 0) == 0) __nanosleep(100);
        __syncthreads();
        if (t < 64) out[t] = handed[63 - t];
        __syncthreads();
        if (t == 0) atomicExch(&ready, 0);
    }
}
ENTRY_TOGETHER(handed_to_another_block, 2, 96)

// ---- groups --------------------------------------------------------------------------------------------------------

// A tile of two warps has a barrier of its own.
__global__ void tiles_of_two_warps(const int* x, int* out, int n) {
    __shared__ cg::block_tile_memory<128> memory;
    __shared__ int tile[128];
    const auto block = cg::this_thread_block(memory);
    const auto pair = cg::tiled_partition<64>(block);
    const int t = threadIdx.x;
    tile[t] = x[t];
    pair.sync();
    const int sum = cg::reduce(pair, x[t], cg::plus<int>());
    out[t] = sum + tile[t / 64 * 64 + 63 - t % 64];
}
ENTRY(tiles_of_two_warps, 1, 128)

__global__ void those_who_came(const int* x, int* out, int n) {
    const int t = threadIdx.x;
    out[t] = 0;
    if (x[t] % 3 != 0) {
        const auto together = cg::coalesced_threads();
        const int sum = cg::reduce(together, x[t], cg::plus<int>());
        const auto signs = cg::labeled_partition(together, x[t] < 0);
        out[t] = sum + 1000 * static_cast<int>(signs.size());
    }
}
ENTRY(those_who_came, 1, 64)
