// Asynchronous copies from global to shared memory, in the words of PTX, of the primitives, of cooperative groups and
// of C++ (cuda::pipeline, cuda::barrier).
//
// Every entry gets x[n] and writes out; what it makes stands in copies.py under the kernel's name.
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cuda_pipeline.h>
#include <cuda_runtime.h>

#include <cuda/barrier>
#include <cuda/pipeline>

namespace cg = cooperative_groups;
#pragma nv_diag_suppress static_var_with_dynamic_init

#define ENTRY(kernel, blocks, threads)                                                          \
    extern "C" cudaError_t kernel##_entry(const int* x, int* out, int n, cudaStream_t stream) { \
        kernel<<<blocks, threads, 0, stream>>>(x, out, n);                                      \
        return cudaGetLastError();                                                              \
    }

// ---- a thread's own copies -----------------------------------------------------------------------------------------

__global__ void copied_by_each_thread(const int* x, int* out, int n) {
    __shared__ int tile[128];
    const int t = threadIdx.x, first = blockIdx.x * 128;
    __pipeline_memcpy_async(&tile[t], &x[first + t], sizeof(int));
    __pipeline_commit();
    __pipeline_wait_prior(0);
    tile[t] += 1;  // its own element: no barrier needed
    __syncthreads();
    out[first + t] = tile[127 - t];
}
ENTRY(copied_by_each_thread, 2, 128)

__global__ void sixteen_bytes_a_thread(const int* x, int* out, int n) {
    __shared__ int4 tile[64];
    const int t = threadIdx.x;
    __pipeline_memcpy_async(&tile[t], reinterpret_cast<const int4*>(x) + t, sizeof(int4));
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncthreads();
    const int4 v = tile[63 - t];
    out[t] = v.x + v.y + v.z + v.w;
}
ENTRY(sixteen_bytes_a_thread, 1, 64)

// What lies behind the end of x is not read: zeros come instead.
__global__ void zeros_behind_the_end(const int* x, int* out, int n) {
    __shared__ int4 tile[32];
    const int t = threadIdx.x, left = n - 4 * t;
    const int missing = left >= 4 ? 0 : left <= 0 ? 4 : 4 - left;
    __pipeline_memcpy_async(&tile[t], reinterpret_cast<const int4*>(x) + (missing == 4 ? 0 : t), 16, 4 * missing);
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncwarp();
    const int4 v = tile[31 - t];
    out[t] = v.x + 10 * v.y + 100 * v.z + 1000 * v.w;
}
ENTRY(zeros_behind_the_end, 1, 32)

// Two stages: the next tile is under way while this one is summed.
__global__ void two_stages(const int* x, int* out, int n) {
    __shared__ int stage[2][64];
    const int t = threadIdx.x, tiles = n / 64;
    __pipeline_memcpy_async(&stage[0][t], &x[t], sizeof(int));
    __pipeline_commit();
    int sum = 0;
    for (int i = 0; i < tiles; ++i) {
        if (i + 1 < tiles) __pipeline_memcpy_async(&stage[(i + 1) % 2][t], &x[(i + 1) * 64 + t], sizeof(int));
        __pipeline_commit();
        __pipeline_wait_prior(1);
        __syncthreads();
        sum += (i + 1) * stage[i % 2][63 - t];
        __syncthreads();
    }
    out[t] = sum;
}
ENTRY(two_stages, 1, 64)

// Four stages and one barrier a round: the copy of a round goes where the round before has read.
__global__ void four_stages(const int* x, int* out, int n) {
    __shared__ int stage[4][64];
    const int t = threadIdx.x, tiles = n / 64;
    for (int i = 0; i < 3; ++i) {
        if (i < tiles) __pipeline_memcpy_async(&stage[i][t], &x[i * 64 + t], sizeof(int));
        __pipeline_commit();
    }
    int sum = 0;
    for (int i = 0; i < tiles; ++i) {
        __pipeline_wait_prior(2);
        __syncthreads();
        sum += (i + 1) * stage[i % 4][63 - t];
        const int next = i + 3;
        if (next < tiles) __pipeline_memcpy_async(&stage[next % 4][t], &x[next * 64 + t], sizeof(int));
        __pipeline_commit();
    }
    out[t] = sum;
}
ENTRY(four_stages, 1, 64)

// ---- groups --------------------------------------------------------------------------------------------------------

__global__ void copied_by_the_block(const int* x, int* out, int n) {
    __shared__ alignas(16) int tile[96];
    const auto block = cg::this_thread_block();
    cg::memcpy_async(block, tile, x + blockIdx.x * 96, sizeof(tile));
    cg::wait(block);
    out[blockIdx.x * 96 + threadIdx.x] = tile[95 - threadIdx.x];
}
ENTRY(copied_by_the_block, 2, 96)

__global__ void copied_by_tiles(const int* x, int* out, int n) {
    __shared__ alignas(16) int rows[4][64];
    const auto tile = cg::tiled_partition<32>(cg::this_thread_block());
    const unsigned r = tile.meta_group_rank();
    cg::memcpy_async(tile, rows[r], x + 64 * r, cuda::aligned_size_t<16>(sizeof(rows[r])));
    cg::wait(tile);
    const unsigned t = tile.thread_rank();
    out[threadIdx.x] = rows[r][63 - t] - rows[r][t];
}
ENTRY(copied_by_tiles, 1, 128)

__global__ void two_tiles_under_way(const int* x, int* out, int n) {
    __shared__ alignas(16) int stage[2][128];
    const auto block = cg::this_thread_block();
    const int tiles = n / 128, t = threadIdx.x;
    cg::memcpy_async(block, stage[0], x, sizeof(stage[0]));
    int sum = 0;
    for (int i = 0; i < tiles; ++i) {
        if (i + 1 < tiles) {
            cg::memcpy_async(block, stage[(i + 1) % 2], x + (i + 1) * 128, sizeof(stage[0]));
            cg::wait_prior<1>(block);
        } else {
            cg::wait(block);
        }
        sum += (i + 1) * stage[i % 2][127 - t];
        block.sync();
    }
    out[t] = sum;
}
ENTRY(two_tiles_under_way, 1, 128)

// ---- pipelines -----------------------------------------------------------------------------------------------------

__global__ void pipeline_of_each_thread(const int* x, int* out, int n) {
    __shared__ int stage[2][64];
    auto pipeline = cuda::make_pipeline();
    const int t = threadIdx.x, tiles = n / 64;
    int sum = 0;
    for (int i = 0, next = 0; i < tiles; ++i) {
        for (; next < tiles && next < i + 2; ++next) {
            pipeline.producer_acquire();
            cuda::memcpy_async(&stage[next % 2][t], &x[next * 64 + t], sizeof(int), pipeline);
            pipeline.producer_commit();
        }
        pipeline.consumer_wait();
        sum += (i + 1) * stage[i % 2][t];
        pipeline.consumer_release();
    }
    out[t] = sum;
}
ENTRY(pipeline_of_each_thread, 1, 64)

template <int kStages>
__device__ int sum_of_tiles(const int* x, int n, int (*stage)[128]) {
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, kStages> state;
    const auto block = cg::this_thread_block();
    auto pipeline = cuda::make_pipeline(block, &state);
    const int t = threadIdx.x, tiles = n / 128;
    int sum = 0;
    for (int i = 0, next = 0; i < tiles; ++i) {
        for (; next < tiles && next < i + kStages; ++next) {
            pipeline.producer_acquire();
            cuda::memcpy_async(block, stage[next % kStages], x + next * 128, cuda::aligned_size_t<16>(512), pipeline);
            pipeline.producer_commit();
        }
        pipeline.consumer_wait();
        sum += (i + 1) * stage[i % kStages][127 - t];
        pipeline.consumer_release();
    }
    return sum;
}
__global__ void pipeline_of_two_stages(const int* x, int* out, int n) {
    __shared__ alignas(16) int stage[2][128];
    out[threadIdx.x] = sum_of_tiles<2>(x, n, stage);
}
ENTRY(pipeline_of_two_stages, 1, 128)

__global__ void pipeline_of_three_stages(const int* x, int* out, int n) {
    __shared__ alignas(16) int stage[3][128];
    out[threadIdx.x] = sum_of_tiles<3>(x, n, stage);
}
ENTRY(pipeline_of_three_stages, 1, 128)

// One warp brings the tiles, the other three work on them.
__global__ void producers_and_consumers(const int* x, int* out, int n) {
    __shared__ alignas(16) int stage[2][96];
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
    const auto block = cg::this_thread_block();
    const bool produces = threadIdx.x < 32;
    auto pipeline =
        cuda::make_pipeline(block, &state, produces ? cuda::pipeline_role::producer : cuda::pipeline_role::consumer);
    const int tiles = n / 96, t = threadIdx.x - 32;
    if (produces) {
        for (int i = 0; i < tiles; ++i) {
            pipeline.producer_acquire();
            for (int k = threadIdx.x; k < 96; k += 32)
                cuda::memcpy_async(&stage[i % 2][k], &x[i * 96 + k], sizeof(int), pipeline);
            pipeline.producer_commit();
        }
    } else {
        int sum = 0;
        for (int i = 0; i < tiles; ++i) {
            pipeline.consumer_wait();
            sum += (i + 1) * stage[i % 2][95 - t];
            pipeline.consumer_release();
        }
        out[t] = sum;
    }
}
ENTRY(producers_and_consumers, 1, 128)

// ---- barriers ------------------------------------------------------------------------------------------------------

__global__ void barrier_of_the_block(const int* x, int* out, int n) {
    __shared__ int tile[128];
    __shared__ cuda::barrier<cuda::thread_scope_block> barrier;
    const int t = threadIdx.x;
    if (t == 0) init(&barrier, blockDim.x);
    __syncthreads();
    int value = x[t];
    for (int i = 0; i < 4; ++i) {
        tile[t] = value;
        auto token = barrier.arrive();
        value *= 2;  // work that needs nobody
        barrier.wait(std::move(token));
        value += tile[(t + 31) % 128];
        barrier.arrive_and_wait();
    }
    out[t] = value;
}
ENTRY(barrier_of_the_block, 1, 128)

__global__ void copies_told_to_a_barrier(const int* x, int* out, int n) {
    __shared__ alignas(16) int tile[128];
    __shared__ cuda::barrier<cuda::thread_scope_block> barrier;
    const auto block = cg::this_thread_block();
    if (block.thread_rank() == 0) init(&barrier, block.size());
    block.sync();
    int sum = 0;
    for (int i = 0; i < n / 128; ++i) {
        cuda::memcpy_async(block, tile, x + i * 128, sizeof(tile), barrier);
        barrier.arrive_and_wait();
        sum += (i + 1) * tile[127 - threadIdx.x];
        block.sync();
    }
    out[threadIdx.x] = sum;
}
ENTRY(copies_told_to_a_barrier, 1, 128)

// The usual two barriers: "full" for those who read, "empty" for those who write.
__global__ void full_and_empty(const int* x, int* out, int n) {
    using Barrier = cuda::barrier<cuda::thread_scope_block>;
    __shared__ int tile[64];
    __shared__ Barrier full, empty;
    if (threadIdx.x == 0) {
        init(&full, blockDim.x);
        init(&empty, blockDim.x);
    }
    __syncthreads();
    const int rounds = n / 64;
    if (threadIdx.x < 64) {
        for (int i = 0; i < rounds; ++i) {
            empty.arrive_and_wait();
            tile[threadIdx.x] = x[i * 64 + threadIdx.x];
            (void)full.arrive();
        }
    } else {
        const int t = threadIdx.x - 64;
        int sum = 0;
        (void)empty.arrive();
        for (int i = 0; i < rounds; ++i) {
            full.arrive_and_wait();
            sum += (i + 1) * tile[63 - t];
            (void)empty.arrive();
        }
        out[t] = sum;
    }
}
ENTRY(full_and_empty, 1, 128)

__global__ void leaving_a_barrier(const int* x, int* out, int n) {
    __shared__ int tile[64];
    __shared__ cuda::barrier<cuda::thread_scope_block> barrier;
    const int t = threadIdx.x;
    if (t == 0) init(&barrier, 64);
    __syncthreads();
    tile[t] = x[t];
    if (t >= 32) {
        (void)barrier.arrive_and_drop();
        return;
    }
    barrier.arrive_and_wait();
    out[t] = tile[t] + tile[t + 32];
    barrier.arrive_and_wait();  // of those who are left
    tile[t + 32] = 0;
}
ENTRY(leaving_a_barrier, 1, 64)
