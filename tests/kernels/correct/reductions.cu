// Sums of a block and of a grid: trees, two levels, the last block done, votes of a block, several launches.
//
// Every entry gets x[n] and writes out; what it makes stands in reductions.py under the kernel's name.
#include <cuda_runtime.h>

#define ENTRY(kernel, blocks, threads)                                                              \
    extern "C" cudaError_t kernel##_entry(const float* x, float* out, int n, cudaStream_t stream) { \
        kernel<<<blocks, threads, 0, stream>>>(x, out, n);                                          \
        return cudaGetLastError();                                                                  \
    }
// For sums that blocks add to `out`.
#define ENTRY_FROM_ZERO(kernel, blocks, threads)                                                    \
    extern "C" cudaError_t kernel##_entry(const float* x, float* out, int n, cudaStream_t stream) { \
        const cudaError_t error = cudaMemsetAsync(out, 0, sizeof(float), stream);                   \
        if (error != cudaSuccess) return error;                                                     \
        kernel<<<blocks, threads, 0, stream>>>(x, out, n);                                          \
        return cudaGetLastError();                                                                  \
    }

constexpr unsigned kAll = 0xffffffffu;

// ---- one block -----------------------------------------------------------------------------------------------------

__global__ void tree_with_barriers(const float* x, float* out, int n) {
    __shared__ float tile[256];
    const int t = threadIdx.x;
    tile[t] = t < n ? x[t] : 0.f;
    __syncthreads();
    for (int s = 128; s > 0; s >>= 1) {
        if (t < s) tile[t] += tile[t + s];
        __syncthreads();
    }
    if (t == 0) out[0] = tile[0];
}
ENTRY(tree_with_barriers, 1, 256)

// Neighbours first, by modulo, as the first lecture shows it.
__global__ void tree_from_neighbours(const float* x, float* out, int n) {
    __shared__ float tile[128];
    const unsigned t = threadIdx.x;
    tile[t] = x[t];
    for (unsigned s = 1; s < blockDim.x; s *= 2) {
        __syncthreads();
        if (t % (2 * s) == 0) tile[t] += tile[t + s];
    }
    if (t == 0) out[0] = tile[0];
}
ENTRY(tree_from_neighbours, 1, 128)

// 100 is no power of two: the upper part goes onto the lower, and the middle one waits.
__global__ void tree_of_any_size(const float* x, float* out, int n) {
    __shared__ float tile[128];
    const int t = threadIdx.x;
    tile[t] = x[t];
    __syncthreads();
    for (int count = blockDim.x; count > 1;) {
        const int half = (count + 1) / 2;
        if (t < count / 2) tile[t] += tile[t + half];
        __syncthreads();
        count = half;
    }
    if (t == 0) out[0] = tile[0];
}
ENTRY(tree_of_any_size, 1, 100)

__global__ void tree_then_one_warp(const float* x, float* out, int n) {
    __shared__ float tile[256];
    const int t = threadIdx.x;
    tile[t] = t < n ? x[t] : 0.f;
    __syncthreads();
    for (int s = 128; s > 32; s >>= 1) {
        if (t < s) tile[t] += tile[t + s];
        __syncthreads();
    }
    if (t < 32) {
        float sum = tile[t] + tile[t + 32];
        for (int d = 16; d > 0; d >>= 1) sum += __shfl_down_sync(kAll, sum, d);
        if (t == 0) out[0] = sum;
    }
}
ENTRY(tree_then_one_warp, 1, 256)

__global__ void tree_then_syncwarp(const float* x, float* out, int n) {
    __shared__ float tile[128];
    const int t = threadIdx.x;
    tile[t] = x[t];
    __syncthreads();
    if (t < 64) tile[t] += tile[t + 64];
    __syncthreads();
    if (t < 32) tile[t] += tile[t + 32];
    __syncwarp();
    for (int s = 16; s > 0; s >>= 1) {
        if (t < s) tile[t] += tile[t + s];
        __syncwarp();
    }
    if (t == 0) out[0] = tile[0];
}
ENTRY(tree_then_syncwarp, 1, 128)

// Whole warps leave before the barrier: it waits for those that are still there.
__global__ void upper_warps_leave(const float* x, float* out, int n) {
    __shared__ float tile[256];
    const int t = threadIdx.x;
    tile[t] = x[t];
    __syncthreads();
    if (t >= 64) return;
    tile[t] += tile[t + 64] + tile[t + 128] + tile[t + 192];
    __syncthreads();
    if (t >= 32) return;
    float sum = tile[t] + tile[t + 32];
    for (int d = 16; d > 0; d >>= 1) sum += __shfl_xor_sync(kAll, sum, d);
    if (t == 0) out[0] = sum;
}
ENTRY(upper_warps_leave, 1, 256)

__device__ float sum_of_warp(float value) {
    for (int d = 16; d > 0; d >>= 1) value += __shfl_down_sync(kAll, value, d);
    return value;
}

// Warps first, then one warp over their sums; the second barrier lets the caller use `partial` again.
__device__ float sum_of_block(float value) {
    __shared__ float partial[32];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    value = sum_of_warp(value);
    __syncthreads();
    if (lane == 0) partial[warp] = value;
    __syncthreads();
    value = threadIdx.x < blockDim.x / 32 ? partial[lane] : 0.f;
    return warp == 0 ? sum_of_warp(value) : 0.f;
}

__global__ void two_levels_thrice(const float* x, float* out, int n) {
    const int t = threadIdx.x;
    const float sum = sum_of_block(x[t]), squares = sum_of_block(x[t] * x[t]), ones = sum_of_block(1.f);
    if (t == 0) {
        out[0] = sum;
        out[1] = squares;
        out[2] = ones;
    }
}
ENTRY(two_levels_thrice, 1, 160)

__global__ void everybody_gets_the_sum(const float* x, float* out, int n) {
    __shared__ float total;
    const float sum = sum_of_block(x[threadIdx.x]);
    if (threadIdx.x == 0) total = sum;
    __syncthreads();
    out[threadIdx.x] = x[threadIdx.x] * n - total;
}
ENTRY(everybody_gets_the_sum, 1, 128)

// A thread adds up its own share of shared memory before anybody else reads it: no barrier is needed up to there.
__global__ void own_slots_first(const float* x, float* out, int n) {
    __shared__ float slots[64 * 5];
    const int t = threadIdx.x;
    for (int k = 0; k < 5; ++k) slots[k * 64 + t] = x[k * 64 + t];
    float sum = 0.f;
    for (int k = 0; k < 5; ++k) sum += slots[k * 64 + t];
    slots[t] = sum;
    __syncthreads();
    if (t < 32) {
        sum = sum_of_warp(slots[t] + slots[t + 32]);
        if (t == 0) out[0] = sum;
    }
}
ENTRY(own_slots_first, 1, 64)

__global__ void votes_of_a_block(const float* x, float* out, int n) {
    const int t = threadIdx.x;
    const int positive = __syncthreads_count(x[t] > 0.f);
    const int any = __syncthreads_or(x[t] > 49.f), all = __syncthreads_and(x[t] > -51.f);
    out[t] = static_cast<float>(positive + 1000 * (any != 0) + 10000 * (all != 0));
}
ENTRY(votes_of_a_block, 1, 96)

// A loop that all leave together, because all get the same answer.
__global__ void until_all_are_done(const float* x, float* out, int n) {
    const int t = threadIdx.x;
    float left = fabsf(x[t]);
    int rounds = 0;
    while (__syncthreads_or(left >= 1.f)) {
        left -= 10.f;
        ++rounds;
    }
    out[t] = static_cast<float>(rounds);
}
ENTRY(until_all_are_done, 1, 128)

__global__ void where_the_largest_is(const float* x, float* out, int n) {
    __shared__ float values[128];
    __shared__ int places[128];
    const int t = threadIdx.x;
    values[t] = t < n ? x[t] : -1e30f;
    places[t] = t;
    for (int s = 64; s > 0; s >>= 1) {
        __syncthreads();
        if (t < s) {
            const bool other = values[t + s] > values[t] || (values[t + s] == values[t] && places[t + s] < places[t]);
            if (other) {
                values[t] = values[t + s];
                places[t] = places[t + s];
            }
        }
    }
    if (t == 0) {
        out[0] = values[0];
        out[1] = static_cast<float>(places[0]);
    }
}
ENTRY(where_the_largest_is, 1, 128)

__global__ void rows_by_warps(const float* x, float* out, int n) {
    const int lane = threadIdx.x, row = blockIdx.x * blockDim.y + threadIdx.y;
    float sum = 0.f;
    if (row < 7)
        for (int k = lane; k < 70; k += 32) sum += x[row * 70 + k];
    sum = sum_of_warp(sum);
    if (row < 7 && lane == 0) out[row] = sum;
}
ENTRY(rows_by_warps, 2, dim3(32, 4))

// ---- the grid ------------------------------------------------------------------------------------------------------

__global__ void one_atomic_a_block(const float* x, float* out, int n) {
    float sum = 0.f;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) sum += x[i];
    sum = sum_of_block(sum);
    if (threadIdx.x == 0) atomicAdd(out, sum);
}
ENTRY_FROM_ZERO(one_atomic_a_block, 3, 64)

__global__ void one_atomic_a_warp(const float* x, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const float sum = sum_of_warp(i < n ? x[i] : 0.f);
    if (threadIdx.x % 32 == 0) atomicAdd(out, sum);
}
ENTRY_FROM_ZERO(one_atomic_a_warp, 8, 128)

__global__ void one_atomic_a_thread(const float* x, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(out, x[i]);
}
ENTRY_FROM_ZERO(one_atomic_a_thread, 8, 128)

__device__ float block_sums[16];
__device__ unsigned int blocks_done = 0;

// Whoever comes last adds up what the others left, and leaves the counter as it was.
__global__ void last_block_adds_up(const float* x, float* out, int n) {
    __shared__ bool last;
    float sum = 0.f;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) sum += x[i];
    sum = sum_of_block(sum);
    if (threadIdx.x == 0) {
        block_sums[blockIdx.x] = sum;
        __threadfence();
        last = atomicInc(&blocks_done, gridDim.x) == gridDim.x - 1;
    }
    __syncthreads();
    if (last) {
        __threadfence();
        sum = sum_of_block(threadIdx.x < gridDim.x ? block_sums[threadIdx.x] : 0.f);
        if (threadIdx.x == 0) {
            out[0] = sum;
            blocks_done = 0;
        }
    }
}
ENTRY(last_block_adds_up, 12, 64)

__device__ volatile float volatile_sums[16];
__device__ unsigned int volatile_done = 0;

// As the programming guide has it: what the others left is volatile, the counter wraps by itself.
__global__ void last_block_reads_volatile(const float* x, float* out, int n) {
    __shared__ bool last;
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const float sum = sum_of_block(i < n ? x[i] : 0.f);
    if (threadIdx.x == 0) {
        volatile_sums[blockIdx.x] = sum;
        __threadfence();
        const unsigned ticket = atomicInc(&volatile_done, gridDim.x - 1);
        last = ticket == gridDim.x - 1;
    }
    __syncthreads();
    if (last && threadIdx.x == 0) {
        float total = 0.f;
        for (unsigned b = 0; b < gridDim.x; ++b) total += volatile_sums[b];
        out[0] = total;
    }
}
ENTRY(last_block_reads_volatile, 10, 96)

__device__ float all_sums[8 * 32];
__device__ int all_done;

// All threads of a block leave something, all threads of the last one read it.
__global__ void last_block_reads_all(const float* x, float* out, int n) {
    __shared__ bool last;
    const int t = threadIdx.x, i = blockIdx.x * 32 + t;
    all_sums[i] = 2.f * x[i];
    __threadfence();
    __syncthreads();
    if (t == 0) last = atomicAdd(&all_done, 1) == static_cast<int>(gridDim.x) - 1;
    __syncthreads();
    if (!last) return;
    __threadfence();
    float sum = 0.f;
    for (unsigned b = 0; b < gridDim.x; ++b) sum += all_sums[b * 32 + t];
    out[t] = sum;
    if (t == 0) all_done = 0;
}
ENTRY(last_block_reads_all, 8, 32)

__global__ void sums_of_blocks(const float* x, float* sums, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const float sum = sum_of_block(i < n ? x[i] : 0.f);
    if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}
// The end of a launch orders what one kernel writes and the next reads.
extern "C" cudaError_t two_launches_entry(const float* x, float* out, void* scratch, int n, cudaStream_t stream) {
    auto* sums = static_cast<float*>(scratch);
    sums_of_blocks<<<9, 128, 0, stream>>>(x, sums, n);
    sums_of_blocks<<<1, 32, 0, stream>>>(sums, out, 9);
    return cudaGetLastError();
}
