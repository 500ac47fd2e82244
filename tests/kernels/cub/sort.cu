// CUB's sorts, and what follows a sort: BlockRadixSort, BlockMergeSort, WarpMergeSort, BlockDiscontinuity,
// BlockHistogram.
//
// Every entry gets x[n] and writes out; what it makes stands in sort.py under the kernel's name.
#include <cuda_runtime.h>

#include <cub/block/block_discontinuity.cuh>
#include <cub/block/block_histogram.cuh>
#include <cub/block/block_merge_sort.cuh>
#include <cub/block/block_radix_sort.cuh>
#include <cub/warp/warp_merge_sort.cuh>

#define ENTRY(name, T, threads, ...)                                                      \
    extern "C" cudaError_t name##_entry(const T* x, T* out, int n, cudaStream_t stream) { \
        __VA_ARGS__<<<1, threads, 0, stream>>>(x, out, n);                                \
        return cudaGetLastError();                                                        \
    }

struct Less {
    template <typename T>
    __device__ bool operator()(T a, T b) const {
        return a < b;
    }
};

// Two numbers a thread in falling order, each with the place it came from.
template <typename T, int kThreads>
__global__ void radix_sort(const T* x, T* out, int n) {
    using Sort = cub::BlockRadixSort<T, kThreads, 2, int>;
    __shared__ typename Sort::TempStorage storage;
    const int t = threadIdx.x;
    T keys[2] = {x[2 * t], x[2 * t + 1]};
    int places[2] = {2 * t, 2 * t + 1};
    Sort(storage).SortDescending(keys, places);
    for (int k = 0; k < 2; ++k) {
        out[2 * t + k] = keys[k];
        out[n + 2 * t + k] = T(places[k]);
    }
}
ENTRY(radix_int_64, int, 64, radix_sort<int, 64>)
ENTRY(radix_float_128, float, 128, radix_sort<float, 128>)

template <typename T, int kThreads>
__global__ void merge_sort(const T* x, T* out, int n) {
    using Sort = cub::BlockMergeSort<T, kThreads, 2>;
    __shared__ typename Sort::TempStorage storage;
    const int t = threadIdx.x;
    T keys[2] = {x[2 * t], x[2 * t + 1]};
    Sort(storage).Sort(keys, Less{});
    for (int k = 0; k < 2; ++k) out[2 * t + k] = keys[k];
}
ENTRY(merge_int_128, int, 128, merge_sort<int, 128>)
ENTRY(merge_float_32, float, 32, merge_sort<float, 32>)

// Each of 64 / kLanes logical warps sorts its own.
template <typename T, int kLanes>
__global__ void warp_merge_sort(const T* x, T* out, int n) {
    using Sort = cub::WarpMergeSort<T, 2, kLanes>;
    __shared__ typename Sort::TempStorage storage[64 / kLanes];
    const int t = threadIdx.x;
    T keys[2] = {x[2 * t], x[2 * t + 1]};
    Sort(storage[t / kLanes]).Sort(keys, Less{});
    for (int k = 0; k < 2; ++k) out[2 * t + k] = keys[k];
}
ENTRY(warps_int_32, int, 64, warp_merge_sort<int, 32>)
ENTRY(warps_float_16, float, 64, warp_merge_sort<float, 16>)

// Where a number differs from the one before, and from the one after.
template <typename T, int kThreads>
__global__ void discontinuity(const T* x, T* out, int n) {
    using Heads = cub::BlockDiscontinuity<T, kThreads>;
    __shared__ typename Heads::TempStorage storage;
    const int t = threadIdx.x;
    T items[2] = {x[2 * t], x[2 * t + 1]};
    int heads[2], tails[2];
    const auto differs = [](T a, T b) { return a != b; };
    Heads(storage).FlagHeads(heads, items, differs);
    __syncthreads();
    Heads(storage).FlagTails(tails, items, differs);
    for (int k = 0; k < 2; ++k) out[2 * t + k] = T(heads[k] + 2 * tails[k]);
}
ENTRY(heads_int_96, int, 96, discontinuity<int, 96>)
ENTRY(heads_float_64, float, 64, discontinuity<float, 64>)

template <int kThreads, cub::BlockHistogramAlgorithm kAlgorithm>
__global__ void histogram(const int* x, int* out, int n) {
    using Histogram = cub::BlockHistogram<unsigned char, kThreads, 2, 16, kAlgorithm>;
    __shared__ typename Histogram::TempStorage storage;
    __shared__ int bins[16];
    const int t = threadIdx.x;
    unsigned char items[2] = {static_cast<unsigned char>(x[2 * t]), static_cast<unsigned char>(x[2 * t + 1])};
    Histogram(storage).Histogram(items, bins);
    __syncthreads();
    if (t < 16) out[t] = bins[t];
}
ENTRY(bins_atomic_128, int, 128, histogram<128, cub::BLOCK_HISTO_ATOMIC>)
ENTRY(bins_sort_64, int, 64, histogram<64, cub::BLOCK_HISTO_SORT>)
