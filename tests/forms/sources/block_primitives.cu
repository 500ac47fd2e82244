// CUB's block primitives: every algorithm and member, over the types that learners meet.
#include <cub/block/block_adjacent_difference.cuh>
#include <cub/block/block_discontinuity.cuh>
#include <cub/block/block_exchange.cuh>
#include <cub/block/block_histogram.cuh>
#include <cub/block/block_load.cuh>
#include <cub/block/block_merge_sort.cuh>
#include <cub/block/block_radix_rank.cuh>
#include <cub/block/block_radix_sort.cuh>
#include <cub/block/block_reduce.cuh>
#include <cub/block/block_run_length_decode.cuh>
#include <cub/block/block_scan.cuh>
#include <cub/block/block_shuffle.cuh>
#include <cub/block/block_store.cuh>
#include <cuda/std/functional>

constexpr int kThreads = 128, kItems = 4;

template <class T>
struct Product {
    __device__ T operator()(T a, T b) const { return a * b; }
};
template <class T>
struct Less {
    __device__ bool operator()(const T& a, const T& b) const { return a < b; }
};
template <class T>
struct Minus {
    __device__ T operator()(const T& a, const T& b) const { return a - b; }
};
template <class T>
struct Prefix {
    T running;
    __device__ T operator()(T sum) {
        const T before = running;
        running += sum;
        return before;
    }
};

template <class T, cub::BlockReduceAlgorithm Algorithm>
__device__ void reduce_by(T* data, int valid) {
    using Reduce = cub::BlockReduce<T, kThreads, Algorithm>;
    __shared__ typename Reduce::TempStorage room;
    T items[kItems] = {data[0], data[1], data[2], data[3]};
    data[0] = Reduce(room).Sum(items[0]);
    __syncthreads();
    data[1] = Reduce(room).Sum(items);
    __syncthreads();
    data[2] = Reduce(room).Sum(items[0], valid);
    __syncthreads();
    data[3] = Reduce(room).Reduce(items[0], cuda::maximum<>{});
    __syncthreads();
    data[4] = Reduce(room).Reduce(items, cuda::minimum<>{});
    __syncthreads();
    data[5] = Reduce(room).Reduce(items[0], cuda::minimum<>{}, valid);
}

template <class T>
__global__ void reduce(T* data, int valid) {
    reduce_by<T, cub::BLOCK_REDUCE_RAKING>(data, valid);
    reduce_by<T, cub::BLOCK_REDUCE_RAKING_COMMUTATIVE_ONLY>(data, valid);
    reduce_by<T, cub::BLOCK_REDUCE_WARP_REDUCTIONS>(data, valid);
}

template <class T, cub::BlockScanAlgorithm Algorithm>
__device__ void scan_by(T* data) {
    using Scan = cub::BlockScan<T, kThreads, Algorithm>;
    __shared__ typename Scan::TempStorage room;
    T items[kItems] = {data[0], data[1], data[2], data[3]}, all;
    Prefix<T> prefix{data[9]};
    Scan(room).InclusiveSum(items[0], items[0], all);
    __syncthreads();
    Scan(room).ExclusiveSum(items[1], items[1]);
    __syncthreads();
    Scan(room).ExclusiveSum(items[2], items[2], prefix);
    __syncthreads();
    Scan(room).InclusiveSum(items, items);
    __syncthreads();
    Scan(room).ExclusiveSum(items, items, all);
    __syncthreads();
    Scan(room).InclusiveScan(items[0], items[0], cuda::maximum<>{});
    __syncthreads();
    Scan(room).ExclusiveScan(items[1], items[1], T(1), Product<T>{}, all);
    __syncthreads();
    Scan(room).InclusiveScan(items, items, Product<T>{});
    __syncthreads();
    Scan(room).ExclusiveScan(items, items, T(0), cuda::minimum<>{});
    for (int i = 0; i < kItems; ++i) data[i] = items[i] + all + prefix.running;
}

template <class T>
__global__ void scan(T* data) {
    scan_by<T, cub::BLOCK_SCAN_RAKING>(data);
    scan_by<T, cub::BLOCK_SCAN_RAKING_MEMOIZE>(data);
    scan_by<T, cub::BLOCK_SCAN_WARP_SCANS>(data);
}

template <class T, cub::BlockLoadAlgorithm Load, cub::BlockStoreAlgorithm Store>
__device__ void move_by(T* data, int valid) {
    using Loading = cub::BlockLoad<T, kThreads, kItems, Load>;
    using Storing = cub::BlockStore<T, kThreads, kItems, Store>;
    __shared__ typename Loading::TempStorage in;
    __shared__ typename Storing::TempStorage out;
    T items[kItems];
    Loading(in).Load(data, items);
    Storing(out).Store(data + 1024, items);
    __syncthreads();
    Loading(in).Load(data, items, valid, T(0));
    Storing(out).Store(data + 1024, items, valid);
}

template <class T>
__global__ void move(T* data, int valid) {
    move_by<T, cub::BLOCK_LOAD_DIRECT, cub::BLOCK_STORE_DIRECT>(data, valid);
    move_by<T, cub::BLOCK_LOAD_STRIPED, cub::BLOCK_STORE_STRIPED>(data, valid);
    move_by<T, cub::BLOCK_LOAD_VECTORIZE, cub::BLOCK_STORE_VECTORIZE>(data, valid);
    move_by<T, cub::BLOCK_LOAD_TRANSPOSE, cub::BLOCK_STORE_TRANSPOSE>(data, valid);
    move_by<T, cub::BLOCK_LOAD_WARP_TRANSPOSE, cub::BLOCK_STORE_WARP_TRANSPOSE>(data, valid);
    move_by<T, cub::BLOCK_LOAD_WARP_TRANSPOSE_TIMESLICED, cub::BLOCK_STORE_WARP_TRANSPOSE_TIMESLICED>(data, valid);
}

template <class T>
__global__ void exchange(T* data, int* ranks) {
    using Exchange = cub::BlockExchange<T, kThreads, kItems>;
    using Shuffle = cub::BlockShuffle<T, kThreads>;
    __shared__ typename Exchange::TempStorage room;
    __shared__ typename Shuffle::TempStorage shuffled;
    T items[kItems] = {data[0], data[1], data[2], data[3]};
    int places[kItems] = {ranks[0], ranks[1], ranks[2], ranks[3]};
    Exchange(room).BlockedToStriped(items, items);
    __syncthreads();
    Exchange(room).StripedToBlocked(items, items);
    __syncthreads();
    Exchange(room).BlockedToWarpStriped(items, items);
    __syncthreads();
    Exchange(room).WarpStripedToBlocked(items, items);
    __syncthreads();
    Exchange(room).ScatterToBlocked(items, items, places);
    __syncthreads();
    Exchange(room).ScatterToStriped(items, items, places);
    __syncthreads();
    Exchange(room).ScatterToStripedGuarded(items, items, places);
    __syncthreads();
    Shuffle(shuffled).Offset(items[0], items[1], 3);
    __syncthreads();
    Shuffle(shuffled).Rotate(items[1], items[2], 5);
    __syncthreads();
    Shuffle(shuffled).Up(items, items);
    __syncthreads();
    Shuffle(shuffled).Down(items, items);
    for (int i = 0; i < kItems; ++i) data[i] = items[i];
}

template <class T>
__global__ void compare(T* data, int* flags, int valid) {
    using Discontinuity = cub::BlockDiscontinuity<T, kThreads>;
    using Difference = cub::BlockAdjacentDifference<T, kThreads>;
    __shared__ typename Discontinuity::TempStorage room;
    __shared__ typename Difference::TempStorage other;
    T items[kItems] = {data[0], data[1], data[2], data[3]};
    int heads[kItems], tails[kItems];
    Discontinuity(room).FlagHeads(heads, items, cuda::std::not_equal_to<>{});
    __syncthreads();
    Discontinuity(room).FlagTails(tails, items, cuda::std::not_equal_to<>{}, data[9]);
    __syncthreads();
    Discontinuity(room).FlagHeadsAndTails(heads, tails, items, cuda::std::not_equal_to<>{});
    __syncthreads();
    Difference(other).SubtractLeft(items, items, Minus<T>{});
    __syncthreads();
    Difference(other).SubtractRight(items, items, Minus<T>{});
    __syncthreads();
    Difference(other).SubtractLeftPartialTile(items, items, Minus<T>{}, valid);
    __syncthreads();
    Difference(other).SubtractRightPartialTile(items, items, Minus<T>{}, valid);
    for (int i = 0; i < kItems; ++i) data[i] = items[i], flags[i] = heads[i] + tails[i];
}

template <class T>
__global__ void sort(T* data, int* values, int valid) {
    using Radix = cub::BlockRadixSort<T, kThreads, kItems, int>;
    using Keys = cub::BlockRadixSort<T, kThreads, kItems>;
    using Merge = cub::BlockMergeSort<T, kThreads, kItems, int>;
    __shared__ union {
        typename Radix::TempStorage radix;
        typename Keys::TempStorage keys;
        typename Merge::TempStorage merge;
    } room;
    T items[kItems] = {data[0], data[1], data[2], data[3]};
    int beside[kItems] = {values[0], values[1], values[2], values[3]};
    Radix(room.radix).Sort(items, beside);
    __syncthreads();
    Radix(room.radix).SortDescending(items, beside);
    __syncthreads();
    Keys(room.keys).SortBlockedToStriped(items);
    __syncthreads();
    Keys(room.keys).SortDescendingBlockedToStriped(items);
    __syncthreads();
    Merge(room.merge).Sort(items, beside, Less<T>{});
    __syncthreads();
    Merge(room.merge).StableSort(items, beside, Less<T>{}, valid, T(0));
    for (int i = 0; i < kItems; ++i) data[i] = items[i], values[i] = beside[i];
}

template <cub::BlockHistogramAlgorithm Algorithm>
__global__ void histogram(unsigned char* data, unsigned* out) {
    using Histogram = cub::BlockHistogram<unsigned char, kThreads, kItems, 256, Algorithm>;
    __shared__ typename Histogram::TempStorage room;
    __shared__ unsigned counts[256];
    unsigned char items[kItems] = {data[0], data[1], data[2], data[3]};
    Histogram(room).Histogram(items, counts);
    __syncthreads();
    Histogram(room).Composite(items, counts);
    __syncthreads();
    out[threadIdx.x] = counts[threadIdx.x];
}

__global__ void run_lengths(int* data, unsigned* lengths, int* out) {
    using Decode = cub::BlockRunLengthDecode<int, kThreads, kItems, kItems>;
    __shared__ typename Decode::TempStorage room;
    int items[kItems] = {data[0], data[1], data[2], data[3]}, decoded[kItems];
    unsigned runs[kItems] = {lengths[0], lengths[1], lengths[2], lengths[3]}, offsets[kItems], total = 0;
    Decode decode(room, items, runs, total);
    decode.RunLengthDecode(decoded, offsets, 0);
    for (int i = 0; i < kItems; ++i) out[i] = decoded[i] + static_cast<int>(offsets[i] + total);
}

__global__ void ranks(unsigned* data, int* out) {
    using Extract = cub::BFEDigitExtractor<unsigned>;
    using Rank = cub::BlockRadixRank<kThreads, 4, false>;
    using Match = cub::BlockRadixRankMatch<kThreads, 4, false>;
    __shared__ typename Rank::TempStorage room;
    __shared__ typename Match::TempStorage matched;
    unsigned keys[kItems] = {data[0], data[1], data[2], data[3]};
    int places[kItems];
    Rank(room).RankKeys(keys, places, Extract(0, 4));
    for (int i = 0; i < kItems; ++i) out[i] = places[i];
    __syncthreads();
    Match(matched).RankKeys(keys, places, Extract(4, 4));
    for (int i = 0; i < kItems; ++i) out[kItems + i] = places[i];
}

#define OVER(T)                                         \
    template __global__ void reduce<T>(T*, int);        \
    template __global__ void scan<T>(T*);               \
    template __global__ void move<T>(T*, int);          \
    template __global__ void exchange<T>(T*, int*);     \
    template __global__ void compare<T>(T*, int*, int); \
    template __global__ void sort<T>(T*, int*, int);

OVER(short)
OVER(int)
OVER(unsigned)
OVER(long long)
OVER(unsigned long long)
OVER(float)
OVER(double)
template __global__ void histogram<cub::BLOCK_HISTO_ATOMIC>(unsigned char*, unsigned*);
template __global__ void histogram<cub::BLOCK_HISTO_SORT>(unsigned char*, unsigned*);
