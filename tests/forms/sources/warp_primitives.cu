// CUB's warp primitives: every member, over the types that learners meet, in warps and parts of them.
#include <cub/warp/warp_exchange.cuh>
#include <cub/warp/warp_load.cuh>
#include <cub/warp/warp_merge_sort.cuh>
#include <cub/warp/warp_reduce.cuh>
#include <cub/warp/warp_scan.cuh>
#include <cub/warp/warp_store.cuh>
#include <cuda/std/functional>

constexpr int kItems = 4;

template <class T>
struct Less {
    __device__ bool operator()(const T& a, const T& b) const { return a < b; }
};

template <class T, int Lanes>
__device__ void reduce_in(T* data, int valid) {
    using Reduce = cub::WarpReduce<T, Lanes>;
    __shared__ typename Reduce::TempStorage room;
    data[0] = Reduce(room).Sum(data[0]);
    data[1] = Reduce(room).Sum(data[1], valid);
    data[4] = Reduce(room).Reduce(data[4], cuda::maximum<>{});
    data[5] = Reduce(room).Reduce(data[5], cuda::minimum<>{}, valid);
    data[6] = Reduce(room).HeadSegmentedSum(data[6], valid & 1);
    data[7] = Reduce(room).TailSegmentedSum(data[7], valid & 1);
    data[8] = Reduce(room).HeadSegmentedReduce(data[8], valid & 1, cuda::maximum<>{});
    data[9] = Reduce(room).TailSegmentedReduce(data[9], valid & 1, cuda::minimum<>{});
}

template <class T, int Lanes>
__device__ void scan_in(T* data) {
    using Scan = cub::WarpScan<T, Lanes>;
    __shared__ typename Scan::TempStorage room;
    T all, inclusive, exclusive;
    Scan(room).InclusiveSum(data[0], data[0], all);
    Scan(room).ExclusiveSum(data[1], data[1], all);
    Scan(room).InclusiveScan(data[2], data[2], cuda::maximum<>{}, all);
    Scan(room).ExclusiveScan(data[3], data[3], T(1), cuda::minimum<>{}, all);
    Scan(room).Scan(data[4], inclusive, exclusive, cuda::maximum<>{});
    data[5] = Scan(room).Broadcast(data[5], 1) + all + inclusive + exclusive;
}

template <class T, cub::WarpLoadAlgorithm Load, cub::WarpStoreAlgorithm Store>
__device__ void move_by(T* data, int valid) {
    using Loading = cub::WarpLoad<T, kItems, Load>;
    using Storing = cub::WarpStore<T, kItems, Store>;
    __shared__ typename Loading::TempStorage in;
    __shared__ typename Storing::TempStorage out;
    T items[kItems];
    Loading(in).Load(data, items);
    Storing(out).Store(data + 1024, items);
    Loading(in).Load(data, items, valid, T(0));
    Storing(out).Store(data + 1024, items, valid);
}

template <class T>
__global__ void all(T* data, int* ranks, int valid) {
    reduce_in<T, 32>(data, valid), reduce_in<T, 16>(data, valid), reduce_in<T, 7>(data, valid);
    scan_in<T, 32>(data), scan_in<T, 8>(data), scan_in<T, 7>(data);
    move_by<T, cub::WARP_LOAD_DIRECT, cub::WARP_STORE_DIRECT>(data, valid);
    move_by<T, cub::WARP_LOAD_STRIPED, cub::WARP_STORE_STRIPED>(data, valid);
    move_by<T, cub::WARP_LOAD_VECTORIZE, cub::WARP_STORE_VECTORIZE>(data, valid);
    move_by<T, cub::WARP_LOAD_TRANSPOSE, cub::WARP_STORE_TRANSPOSE>(data, valid);
    using Exchange = cub::WarpExchange<T, kItems>;
    using Shuffled = cub::WarpExchange<T, 32, 32, cub::WARP_EXCHANGE_SHUFFLE>;
    using Merge = cub::WarpMergeSort<T, kItems, 32, int>;
    __shared__ typename Exchange::TempStorage room;
    __shared__ typename Shuffled::TempStorage none;
    __shared__ typename Merge::TempStorage merging;
    T items[kItems] = {data[0], data[1], data[2], data[3]}, many[32];
    int places[kItems] = {ranks[0], ranks[1], ranks[2], ranks[3]};
    Exchange(room).BlockedToStriped(items, items);
    Exchange(room).StripedToBlocked(items, items);
    Exchange(room).ScatterToStriped(items, items, places);
    Merge(merging).Sort(items, places, Less<T>{});
    Merge(merging).StableSort(items, places, Less<T>{}, valid, T(0));
    for (int i = 0; i < 32; ++i) many[i] = data[i];
    Shuffled(none).BlockedToStriped(many, many);
    Shuffled(none).StripedToBlocked(many, many);
    for (int i = 0; i < 32; ++i) data[i] = many[i];
    for (int i = 0; i < kItems; ++i) data[32 + i] = items[i], ranks[i] = places[i];
}

#define OVER(T) template __global__ void all<T>(T*, int*, int);

OVER(short)
OVER(int)
OVER(unsigned)
OVER(long long)
OVER(unsigned long long)
OVER(float)
OVER(double)
