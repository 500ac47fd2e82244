// cooperative_groups.h with its parts for reductions, scans and asynchronous copies.
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>

#include <cuda/atomic>
#include <cuda/barrier>

namespace cg = cooperative_groups;

struct Twelve {  // more than a register, no power of two
    int x, y, z;
};

template <class Group>
__device__ void ask(const Group& group, int* out) {
    group.sync();
    cg::sync(group);
    out[group.thread_rank()] = group.size() + group.num_threads() + cg::thread_rank(group) + cg::group_size(group);
}

template <class Group>
__device__ void vote(const Group& group, int value, int* out) {
    out[0] = group.any(value) + group.all(value) + group.ballot(value);
    int all = 0;
    out[1] = group.match_any(value) + group.match_any(static_cast<long long>(value));
    out[2] = group.match_all(value, all) + all;
    out[3] = group.match_all(static_cast<unsigned long long>(value), all) + all;
    out[4] = group.meta_group_rank() + group.meta_group_size();
}

template <class T, class Group>
__device__ void shuffle(const Group& group, T* data) {
    T value = data[group.thread_rank()];
    value = group.shfl(value, 1);
    value = group.shfl_down(value, 1);
    value = group.shfl_up(value, 1);
    data[group.thread_rank()] = value;
}

template <class T, class Group>
__device__ void exchange(const Group& group, T* data) {
    shuffle<T>(group, data);
    data[group.thread_rank()] = group.shfl_xor(data[group.thread_rank()], 1);
}

template <class T, class Group>
__device__ void reduce(const Group& group, T* data) {
    const T value = data[group.thread_rank()];
    data[0] = cg::reduce(group, value, cg::plus<T>());
    data[1] = cg::reduce(group, value, cg::less<T>());
    data[2] = cg::reduce(group, value, cg::greater<T>());
    data[3] = cg::reduce(group, value, [](T a, T b) { return a * b; });
    data[4] = cg::inclusive_scan(group, value);
    data[5] = cg::exclusive_scan(group, value);
    data[6] = cg::inclusive_scan(group, value, cg::less<T>());
    data[7] = cg::exclusive_scan(group, value, cg::greater<T>());
}

template <class T, class Group>
__device__ void reduce_bits(const Group& group, T* data) {
    const T value = data[group.thread_rank()];
    data[0] = cg::reduce(group, value, cg::bit_and<T>());
    data[1] = cg::reduce(group, value, cg::bit_or<T>());
    data[2] = cg::reduce(group, value, cg::bit_xor<T>());
}

template <class Group>
__device__ void all_of(const Group& group, int* ints, unsigned* words, long long* longs, float* floats,
                       double* doubles) {
    ask(group, ints);
    shuffle<int>(group, ints), shuffle<unsigned>(group, words), shuffle<long long>(group, longs);
    shuffle<float>(group, floats), shuffle<double>(group, doubles);
    shuffle<Twelve>(group, reinterpret_cast<Twelve*>(ints));
    reduce<int>(group, ints), reduce<unsigned>(group, words), reduce<long long>(group, longs);
    reduce<float>(group, floats), reduce<double>(group, doubles);
    reduce<unsigned long long>(group, reinterpret_cast<unsigned long long*>(longs));
    reduce_bits<int>(group, ints), reduce_bits<unsigned>(group, words);
    reduce_bits<unsigned long long>(group, reinterpret_cast<unsigned long long*>(longs));
}

template <int Size>
__device__ void tile(int* ints, unsigned* words, long long* longs, float* floats, double* doubles) {
    const auto group = cg::tiled_partition<Size>(cg::this_thread_block());
    all_of(group, ints, words, longs, floats, doubles);
    vote(group, ints[0], ints);
    exchange<int>(group, ints), exchange<long long>(group, longs), exchange<float>(group, floats);
    exchange<Twelve>(group, reinterpret_cast<Twelve*>(ints));
}

#define ARGUMENTS int *ints, unsigned *words, long long *longs, float *floats, double *doubles
#define GIVEN ints, words, longs, floats, doubles

__global__ void tile_of_1(ARGUMENTS) {
    tile<1>(GIVEN);
}
__global__ void tile_of_2(ARGUMENTS) {
    tile<2>(GIVEN);
}
__global__ void tile_of_4(ARGUMENTS) {
    tile<4>(GIVEN);
}
__global__ void tile_of_8(ARGUMENTS) {
    tile<8>(GIVEN);
}
__global__ void tile_of_16(ARGUMENTS) {
    tile<16>(GIVEN);
}
__global__ void tile_of_32(ARGUMENTS) {
    tile<32>(GIVEN);
}

__global__ void tile_of_tile(ARGUMENTS) {
    const auto warp = cg::tiled_partition<32>(cg::this_thread_block());
    all_of(cg::tiled_partition<4>(warp), GIVEN);
}

__global__ void wide_tiles(ARGUMENTS) {
    __shared__ cg::block_tile_memory<512> memory;
    const auto block = cg::this_thread_block(memory);
    const auto tile = cg::tiled_partition<128>(block);
    ask(tile, ints);
    ints[1] = tile.any(ints[0]) + tile.all(ints[0]) + tile.shfl(ints[0], 3) + tile.meta_group_rank();
    ints[2] = cg::reduce(tile, ints[2], cg::plus<int>());
    floats[2] = cg::reduce(tile, floats[2], cg::less<float>());
    ints[3] = cg::exclusive_scan(tile, ints[3]);
}

__global__ void coalesced(ARGUMENTS) {
    if (threadIdx.x % 3) return;
    const auto group = cg::coalesced_threads();
    all_of(group, GIVEN);
    vote(group, ints[0], ints);
    ask(cg::tiled_partition(group, 4), ints);
    const auto parts = cg::labeled_partition(group, ints[threadIdx.x]);
    ints[parts.thread_rank()] = cg::reduce(parts, 1, cg::plus<int>());
}

__global__ void partitions(int* ints) {
    const auto warp = cg::tiled_partition<32>(cg::this_thread_block());
    const auto label = cg::labeled_partition(warp, ints[threadIdx.x]);
    const auto sides = cg::binary_partition(warp, ints[threadIdx.x] > 0);
    ints[0] = label.size() + sides.size() + sides.thread_rank();
    ask(cg::tiled_partition(cg::this_thread_block(), 8), ints);
    cg::invoke_one(warp, [=] { ints[1] = 1; });
    ints[2] = cg::invoke_one_broadcast(warp, [=] { return ints[3]; });
    cg::invoke_one(sides, [=] { ints[4] = 1; });
}

__global__ void blocks(int* out) {
    const auto block = cg::this_thread_block();
    ask(block, out);
    auto token = block.barrier_arrive();
    block.barrier_wait(std::move(token));
    out[0] = block.group_index().x + block.thread_index().y + block.group_dim().z + block.dim_threads().x;
    ask(cg::this_thread(), out);
}

__global__ void grids(int* out) {
    const auto grid = cg::this_grid();
    if (!grid.is_valid()) return;
    grid.sync();
    auto token = grid.barrier_arrive();
    grid.barrier_wait(std::move(token));
    out[0] = grid.size() + grid.thread_rank() + grid.num_blocks() + grid.block_rank() + grid.block_index().y;
    out[1] = grid.dim_blocks().x + grid.num_threads();
}

__global__ void atomics(int* ints, float* floats, unsigned long long* longs) {
    const auto warp = cg::tiled_partition<32>(cg::this_thread_block());
    const auto some = cg::coalesced_threads();
    cuda::atomic_ref<int, cuda::thread_scope_device> number(ints[0]);
    cuda::atomic_ref<float, cuda::thread_scope_block> real(floats[0]);
    cg::reduce_update_async(warp, number, 1, cg::plus<int>());
    cg::reduce_update_async(some, number, 1, cg::less<int>());
    cg::reduce_update_async(warp, real, 1.0f, cg::plus<float>());
    cg::reduce_store_async(warp, ints + 1, 1, cg::plus<int>());
    ints[2] = cg::inclusive_scan_update(warp, number, 1, cg::plus<int>());
    ints[3] = cg::exclusive_scan_update(some, number, 1, cg::plus<int>());
}

__global__ void copies(const int* in, int* out, int count) {
    __shared__ alignas(16) int room[256];
    const auto block = cg::this_thread_block();
    const auto warp = cg::tiled_partition<32>(block);
    cg::memcpy_async(block, room, in, sizeof room);
    cg::wait(block);
    cg::memcpy_async(block, room, in, cuda::aligned_size_t<16>(1024));
    cg::memcpy_async(warp, room, in, cuda::aligned_size_t<8>(256));
    cg::memcpy_async(warp, room, 64, in, count);
    cg::memcpy_async(block, room, 2, in, 3);
    cg::wait_prior<1>(block);
    cg::wait(warp);
    out[threadIdx.x] = room[threadIdx.x];
}

#if __CUDA_ARCH__ >= 900
__global__ void clusters(int* out) {
    __shared__ int word;
    const auto cluster = cg::this_cluster();
    cluster.sync();
    cluster.barrier_wait(cluster.barrier_arrive());
    out[0] = *cluster.map_shared_rank(&word, 1) + cluster.query_shared_rank(&word) + cluster.block_rank();
    out[1] = cluster.thread_rank() + cluster.num_blocks() + cluster.num_threads() + cluster.block_index().x;
    out[2] = cluster.dim_blocks().x + cluster.dim_threads().x + cluster.thread_index().x;
    const auto grid = cg::this_grid();
    out[3] = grid.num_clusters() + grid.cluster_rank() + grid.dim_clusters().x + grid.cluster_index().y;
}
#endif
