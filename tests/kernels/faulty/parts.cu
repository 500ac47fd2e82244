// Barriers for a part of a block, waits for a whole grid, and atomics of different scopes: with too little order;
// beside each a near twin that is right (`…_ok`).
//
// `// -> kind` marks a line that a finding of that kind names (of several kinds, one is enough); every line that a
// finding names is marked. Every entry gets x[n] and out[n], n = 128; tests/test_faulty_kernels.py runs them all.
#include <cooperative_groups.h>
#include <cuda_runtime.h>

namespace cg = cooperative_groups;

#define ENTRY(kernel, blocks, threads)                                                          \
    extern "C" cudaError_t kernel##_entry(const int* x, int* out, int n, cudaStream_t stream) { \
        kernel<<<blocks, threads, 0, stream>>>(x, out, n);                                      \
        return cudaGetLastError();                                                              \
    }
#define ENTRY_TOGETHER(kernel, blocks, threads)                                                                     \
    extern "C" cudaError_t kernel##_entry(const int* x, int* out, int n, cudaStream_t stream) {                     \
        void* arguments[] = {&x, &out, &n};                                                                         \
        return cudaLaunchCooperativeKernel(reinterpret_cast<void*>(kernel), blocks, threads, arguments, 0, stream); \
    }
#define MEET(barrier, threads) asm volatile("bar.sync %0, %1;" ::"r"(barrier), "r"(threads) : "memory")
#define PASS_BY(barrier, threads) asm volatile("bar.arrive %0, %1;" ::"r"(barrier), "r"(threads) : "memory")

// ---- parts of a block ----------------------------------------------------------------------------------------------

// Each half meets, and reads what the other half wrote.
__global__ void halves_that_never_meet(const int* x, int* out, int n) {
    __shared__ int tile[128];
    const int t = threadIdx.x;
    tile[t] = x[t];  // -> data_race
    MEET(1 + t / 64, 64);
    out[t] = tile[127 - t];  // -> data_race
}
ENTRY(halves_that_never_meet, 1, 128)

__global__ void halves_that_meet_ok(const int* x, int* out, int n) {
    __shared__ int tile[128];
    const int t = threadIdx.x;
    tile[t] = x[t];
    MEET(1, 128);
    out[t] = tile[127 - t];
}
ENTRY(halves_that_meet_ok, 1, 128)

__global__ void halves_for_themselves_ok(const int* x, int* out, int n) {
    __shared__ int tile[128];
    const int t = threadIdx.x;
    tile[t] = x[t];
    MEET(1 + t / 64, 64);
    out[t] = tile[t ^ 63];
}
ENTRY(halves_for_themselves_ok, 1, 128)

// Who only arrives is waited for, and waits for nobody: the stage may not have been read.
__global__ void stage_that_is_not_empty(const int* x, int* out, int n) {
    __shared__ int stage[64];
    const int t = threadIdx.x % 64;
    if (threadIdx.x < 64) {
        for (int i = 0; i < 2; ++i) {
            stage[t] = x[i * 64 + t];  // -> data_race
            PASS_BY(1 + i, 128);
        }
    } else {
        for (int i = 0; i < 2; ++i) {
            MEET(1 + i, 128);
            out[i * 64 + t] = stage[63 - t];  // -> data_race
        }
    }
}
ENTRY(stage_that_is_not_empty, 1, 128)

__global__ void stage_that_is_empty_ok(const int* x, int* out, int n) {
    __shared__ int stage[64];
    const int t = threadIdx.x % 64;
    if (threadIdx.x < 64) {
        for (int i = 0; i < 2; ++i) {
            stage[t] = x[i * 64 + t];
            PASS_BY(1, 128);
            MEET(2, 128);
        }
    } else {
        for (int i = 0; i < 2; ++i) {
            MEET(1, 128);
            out[i * 64 + t] = stage[63 - t];
            PASS_BY(2, 128);
        }
    }
}
ENTRY(stage_that_is_empty_ok, 1, 128)

// ---- the grid ------------------------------------------------------------------------------------------------------

__global__ void grid_without_a_wait(const int* x, int* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = x[i];  // -> data_race
    __syncthreads();
    const int other = out[n - 1 - i];  // -> data_race
    if (other < 0) out[i] = 0;
}
ENTRY_TOGETHER(grid_without_a_wait, 2, 64)

__global__ void grid_with_a_wait_ok(const int* x, int* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = x[i];
    cg::this_grid().sync();
    const int other = out[n - 1 - i];
    if (other < 0) out[i] = 0;
}
ENTRY_TOGETHER(grid_with_a_wait_ok, 2, 64)

__global__ void grid_of_an_ordinary_launch(const int* x, int* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = x[i];
    cg::this_grid().sync();  // -> device_trap
    if (out[n - 1 - i] < 0) out[i] = 0;
}
ENTRY(grid_of_an_ordinary_launch, 2, 64)

__global__ void grid_of_a_cooperative_launch_ok(const int* x, int* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = x[i];
    cg::this_grid().sync();
    if (out[n - 1 - i] < 0) out[i] = 0;
}
ENTRY_TOGETHER(grid_of_a_cooperative_launch_ok, 2, 64)

// ---- scopes --------------------------------------------------------------------------------------------------------

__device__ int counter;

// An atomic for the block alone is none for other blocks.
__global__ void scopes_that_do_not_reach(const int* x, int* out, int n) {
    if (blockIdx.x == 0)
        atomicAdd_block(&counter, x[threadIdx.x]);  // -> data_race
    else
        atomicAdd(&counter, x[threadIdx.x]);  // -> data_race
    out[blockIdx.x * 64 + threadIdx.x] = 0;
}
ENTRY(scopes_that_do_not_reach, 2, 64)

__global__ void scopes_that_reach_ok(const int* x, int* out, int n) {
    if (threadIdx.x < 32)
        atomicAdd_system(&counter, x[threadIdx.x]);
    else
        atomicAdd(&counter, x[threadIdx.x]);
    out[blockIdx.x * 64 + threadIdx.x] = 0;
}
ENTRY(scopes_that_reach_ok, 2, 64)

__global__ void scopes_of_one_block_ok(const int* x, int* out, int n) {
    if (threadIdx.x < 32)
        atomicAdd_block(&counter, x[threadIdx.x]);
    else
        atomicAdd(&counter, x[threadIdx.x]);
    out[threadIdx.x] = 0;
}
ENTRY(scopes_of_one_block_ok, 1, 128)

// A swap that finds something else stores nothing, so nobody can learn from it.
__device__ int flag, value;
__global__ void swap_that_fails(const int* x, int* out, int n) {
    if (threadIdx.x != 0) return;
    if (blockIdx.x == 0) {
        value = x[0];  // -> data_race
        __threadfence();
        atomicCAS(&flag, 5, 1);
    } else {
        atomicAdd(&flag, 0);
        __threadfence();
        out[0] = value;  // -> data_race
    }
}
ENTRY(swap_that_fails, 2, 32)

__device__ int turn, given;
__global__ void swap_that_succeeds_ok(const int* x, int* out, int n) {
    if (threadIdx.x != 0) return;
    if (blockIdx.x == 0) {
        given = x[0];
        __threadfence();
        atomicCAS(&turn, 0, 1);
    } else {
        while (atomicAdd(&turn, 0) == 0) {
        }
        __threadfence();
        out[0] = given;
    }
}
ENTRY(swap_that_succeeds_ok, 2, 32)

// ---- read-only loads -----------------------------------------------------------------------------------------------

__global__ void read_only_in_the_same_launch(const int* x, int* out, int n) {
    const int t = threadIdx.x;
    out[t] = x[t];                 // -> read_only_violation
    out[t + 64] = __ldg(&out[t]);  // -> read_only_violation
}
ENTRY(read_only_in_the_same_launch, 1, 64)

__global__ void pairs_read_only_in_the_same_launch(const int* x, int* out, int n) {
    const int t = threadIdx.x;
    out[t] = x[t];  // -> read_only_violation
    __syncwarp();
    const int2 two = __ldg(reinterpret_cast<const int2*>(out) + t / 2);  // -> read_only_violation
    out[t + 32] = two.x + two.y;
}
ENTRY(pairs_read_only_in_the_same_launch, 1, 32)

__global__ void read_only_of_an_input_ok(const int* x, int* out, int n) {
    const int t = threadIdx.x;
    const int4 four = __ldg(reinterpret_cast<const int4*>(x) + t % 32);
    const short one = __ldg(reinterpret_cast<const short*>(x) + t);
    out[t] = four.x + four.w + one + __ldg(&x[t]);
}
ENTRY(read_only_of_an_input_ok, 1, 64)

__global__ void fours_read_only_in_the_same_launch(const int* x, int* out, int n) {
    const int t = threadIdx.x;
    out[t] = x[t];  // -> read_only_violation
    __syncwarp();
    const int4 four = __ldg(reinterpret_cast<const int4*>(out) + t / 4);                    // -> read_only_violation
    const unsigned char byte = __ldg(reinterpret_cast<const unsigned char*>(out) + 4 * t);  // -> read_only_violation
    out[t + 32] = four.x + four.w + byte;
}
ENTRY(fours_read_only_in_the_same_launch, 1, 32)

__global__ void read_only_elsewhere_ok(const int* x, int* out, int n) {
    const int t = threadIdx.x;
    out[t] = __ldg(&x[t]);
}
ENTRY(read_only_elsewhere_ok, 1, 64)
