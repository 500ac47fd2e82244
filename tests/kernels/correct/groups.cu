// Cooperative groups, and atomics in the words of C++ (cuda::atomic).
//
// Every entry gets x[n] and writes out; what it makes stands in groups.py under the kernel's name.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
#include <cuda_runtime.h>

#include <cuda/atomic>

namespace cg = cooperative_groups;

#define ENTRY(kernel, blocks, threads)                                                          \
    extern "C" cudaError_t kernel##_entry(const int* x, int* out, int n, cudaStream_t stream) { \
        kernel<<<blocks, threads, 0, stream>>>(x, out, n);                                      \
        return cudaGetLastError();                                                              \
    }
#define ENTRY_FROM_ZERO(kernel, elements, blocks, threads)                                      \
    extern "C" cudaError_t kernel##_entry(const int* x, int* out, int n, cudaStream_t stream) { \
        const cudaError_t error = cudaMemsetAsync(out, 0, (elements) * sizeof(int), stream);    \
        if (error != cudaSuccess) return error;                                                 \
        kernel<<<blocks, threads, 0, stream>>>(x, out, n);                                      \
        return cudaGetLastError();                                                              \
    }

// ---- the block as a group ------------------------------------------------------------------------------------------

__global__ void block_as_a_group(const int* x, int* out, int n) {
    __shared__ int tile[96];
    const cg::thread_block block = cg::this_thread_block();
    const unsigned rank = block.thread_rank();
    tile[rank] = x[block.group_index().x * block.size() + rank];
    block.sync();
    out[block.group_index().x * 96 + rank] = tile[95 - rank];
}
ENTRY(block_as_a_group, 2, dim3(12, 8))

__global__ void grid_as_a_group(const int* x, int* out, int n) {
    const cg::grid_group grid = cg::this_grid();
    for (auto i = grid.thread_rank(); i < n; i += grid.size()) out[i] = 5 * x[i];
}
ENTRY(grid_as_a_group, 3, 64)

// The sum function that any group may call: a tree in shared memory, with the group's own barrier.
template <typename Group>
__device__ int sum_in_shared(Group group, int* slots, int value) {
    const int rank = group.thread_rank();
    for (int s = group.size() / 2; s > 0; s /= 2) {
        slots[rank] = value;
        group.sync();
        if (rank < s) value += slots[rank + s];
        group.sync();
    }
    return value;
}
__global__ void one_function_for_every_group(const int* x, int* out, int n) {
    __shared__ int slots[128];
    const auto block = cg::this_thread_block();
    const auto tile = cg::tiled_partition<16>(block);
    const int of_tile = sum_in_shared(tile, slots + tile.meta_group_rank() * 16, x[threadIdx.x]);
    block.sync();
    const int of_block = sum_in_shared(block, slots, x[threadIdx.x]);
    if (tile.thread_rank() == 0) out[1 + tile.meta_group_rank()] = of_tile;
    if (block.thread_rank() == 0) out[0] = of_block;
}
ENTRY(one_function_for_every_group, 1, 128)

// ---- tiles ---------------------------------------------------------------------------------------------------------

__global__ void shuffles_of_a_tile(const int* x, int* out, int n) {
    const auto tile = cg::tiled_partition<8>(cg::this_thread_block());
    const int i = threadIdx.x;
    int sum = x[i];
    for (int d = tile.size() / 2; d > 0; d /= 2) sum += tile.shfl_down(sum, d);
    sum = tile.shfl(sum, 0);
    out[i] = sum + tile.shfl_xor(x[i], 7) - tile.shfl_up(x[i], 0);
}
ENTRY(shuffles_of_a_tile, 1, 64)

__global__ void reductions_of_a_tile(const int* x, int* out, int n) {
    const auto warp = cg::tiled_partition<32>(cg::this_thread_block());
    const auto tile = cg::tiled_partition<4>(warp);
    const int i = threadIdx.x;
    out[i] = cg::reduce(warp, x[i], cg::plus<int>());
    out[i + 64] = cg::reduce(tile, x[i], cg::greater<int>());
    out[i + 128] = static_cast<int>(cg::reduce(warp, x[i] * 0.5f, cg::plus<float>()) * 2.f);
    out[i + 192] = cg::reduce(tile, x[i], [](int a, int b) { return a ^ b; });
}
ENTRY(reductions_of_a_tile, 1, 64)

__global__ void scans_of_a_tile(const int* x, int* out, int n) {
    const auto tile = cg::tiled_partition<16>(cg::this_thread_block());
    const int i = threadIdx.x;
    out[i] = cg::inclusive_scan(tile, x[i]);
    out[i + 64] = cg::exclusive_scan(tile, x[i], cg::plus<int>());
}
ENTRY(scans_of_a_tile, 1, 64)

__global__ void votes_of_a_tile(const int* x, int* out, int n) {
    const auto tile = cg::tiled_partition<16>(cg::this_thread_block());
    const int i = threadIdx.x;
    const unsigned same = tile.match_any(x[i] & 3);
    out[i] =
        __popc(tile.ballot(x[i] > 0)) + 100 * tile.any(x[i] > 45) + 200 * tile.all(x[i] < 45) + 1000 * __popc(same);
}
ENTRY(votes_of_a_tile, 1, 64)

// Tiles of one warp on ways of their own, waiting for nobody else.
__global__ void tiles_part_ways(const int* x, int* out, int n) {
    const auto tile = cg::tiled_partition<8>(cg::this_thread_block());
    const int i = threadIdx.x;
    int value = x[i];
    if (tile.meta_group_rank() % 2 == 0) {
        for (unsigned round = 0; round <= tile.meta_group_rank(); ++round)
            value = tile.shfl(value, 7 - tile.thread_rank());
    } else {
        value = cg::reduce(tile, value, cg::less<int>());
        tile.sync();
    }
    out[i] = value;
}
ENTRY(tiles_part_ways, 1, 64)

// ---- whoever is here -----------------------------------------------------------------------------------------------

__global__ void coalesced_lanes(const int* x, int* out, int n) {
    const int i = threadIdx.x;
    int value = 0;
    if (x[i] > 0) {
        const auto here = cg::coalesced_threads();
        const int base = here.shfl(x[i], 0);
        value = base - here.shfl(base, here.size() - 1) + cg::reduce(here, 1, cg::plus<int>()) - here.size() + 1;
    }
    out[i] = value;
}
ENTRY(coalesced_lanes, 1, 64)

__global__ void parted_by_label(const int* x, int* out, int n) {
    const auto warp = cg::tiled_partition<32>(cg::this_thread_block());
    const int i = threadIdx.x;
    const auto group = cg::labeled_partition(warp, x[i] & 3);
    const int largest = cg::reduce(group, x[i], cg::greater<int>());
    out[i] = 100 * largest + group.size();
}
ENTRY(parted_by_label, 1, 64)

// One atomic for all lanes that are here, as the guide shows it.
__device__ int next_place(int* counter) {
    const auto here = cg::coalesced_threads();
    int first = 0;
    if (here.thread_rank() == 0) first = atomicAdd(counter, here.size());
    return here.shfl(first, 0) + here.thread_rank();
}
__global__ void gathered_by_groups(const int* x, int* out, int n) {
    __shared__ int count;
    const int t = threadIdx.x;
    if (t == 0) count = 0;
    cg::this_thread_block().sync();
    if (x[t] % 3 == 0) out[next_place(&count)] = x[t];
    cg::this_thread_block().sync();
    for (int i = count + t; i < n; i += blockDim.x) out[i] = 1;
}
ENTRY(gathered_by_groups, 1, 128)

// ---- cuda::atomic --------------------------------------------------------------------------------------------------

__global__ void atomic_references(const int* x, int* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    cuda::atomic_ref<int, cuda::thread_scope_device> sum(out[0]), most(out[1]), bits(out[2]);
    sum.fetch_add(x[i], cuda::std::memory_order_relaxed);
    most.fetch_max(x[i], cuda::std::memory_order_relaxed);
    bits.fetch_or(1 << (x[i] & 31));
    cuda::atomic_ref<int, cuda::thread_scope_device> steps(out[3]);
    int seen = steps.load(cuda::std::memory_order_relaxed);
    while (!steps.compare_exchange_weak(seen, (seen * 3 + 1) % 1009)) {
    }
}
ENTRY_FROM_ZERO(atomic_references, 4, 2, 64)

// The last warp of a block to arrive reads what the others left, without a barrier for the block.
__global__ void last_warp_of_a_block(const int* x, int* out, int n) {
    __shared__ int sums[4];
    __shared__ cuda::atomic<int, cuda::thread_scope_block> arrived;
    const int t = threadIdx.x, lane = t % 32;
    if (t == 0) arrived.store(0, cuda::std::memory_order_relaxed);
    __syncthreads();
    const int sum = __reduce_add_sync(0xffffffffu, x[t]);
    if (lane == 0) {
        sums[t / 32] = sum;
        if (arrived.fetch_add(1, cuda::std::memory_order_acq_rel) == 3) out[0] = sums[0] + sums[1] + sums[2] + sums[3];
    }
}
ENTRY(last_warp_of_a_block, 1, 128)

// Fences in the words of C++ around relaxed flags.
__global__ void fences_around_flags(const int* x, int* out, int n) {
    const int t = threadIdx.x;
    cuda::atomic_ref<int, cuda::thread_scope_device> flag(out[64]);
    if (blockIdx.x == 0) {
        out[t] = x[t] + 9;
        cuda::atomic_thread_fence(cuda::std::memory_order_release, cuda::thread_scope_device);
        flag.fetch_add(1, cuda::std::memory_order_relaxed);
    } else {
        while (flag.load(cuda::std::memory_order_relaxed) != 32) {
        }
        cuda::atomic_thread_fence(cuda::std::memory_order_acquire, cuda::thread_scope_device);
        out[32 + t] = out[31 - t];
    }
}
ENTRY_FROM_ZERO(fences_around_flags, 65, 2, 32)
