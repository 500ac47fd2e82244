// CUB's running sums: BlockScan in its three algorithms, WarpScan.
//
// Every entry gets x[n] and writes out; what it makes stands in scan.py under the kernel's name.
#include <cuda_runtime.h>

#include <cub/block/block_scan.cuh>
#include <cub/warp/warp_scan.cuh>

#define ENTRY(name, T, threads, ...)                                                      \
    extern "C" cudaError_t name##_entry(const T* x, T* out, int n, cudaStream_t stream) { \
        __VA_ARGS__<<<1, threads, 0, stream>>>(x, out, n);                                \
        return cudaGetLastError();                                                        \
    }

struct Larger {
    template <typename T>
    __device__ T operator()(T a, T b) const {
        return a > b ? a : b;
    }
};

// What one tile adds up to is where the next begins.
template <typename T>
struct Carry {
    T sum;
    __device__ T operator()(T of_tile) {
        const T before = sum;
        sum += of_tile;
        return before;
    }
};

// Running sums in two tiles of two numbers a thread, then running maxima of one number a thread.
template <typename T, int kThreads, cub::BlockScanAlgorithm kAlgorithm>
__global__ void block_scan(const T* x, T* out, int n) {
    using Scan = cub::BlockScan<T, kThreads, kAlgorithm>;
    __shared__ typename Scan::TempStorage storage;
    const int t = threadIdx.x;
    Carry<T> carry{T(0)};
    for (int tile = 0; tile < 2; ++tile) {
        const int start = 2 * (tile * kThreads + t);
        T items[2] = {x[start], x[start + 1]};
        Scan(storage).InclusiveSum(items, items, carry);
        out[start] = items[0];
        out[start + 1] = items[1];
        __syncthreads();
    }
    T largest;
    Scan(storage).ExclusiveScan(x[t], largest, T(-60), Larger{});
    out[4 * kThreads + t] = largest;
}
ENTRY(raking_int_128, int, 128, block_scan<int, 128, cub::BLOCK_SCAN_RAKING>)
ENTRY(raking_float_64, float, 64, block_scan<float, 64, cub::BLOCK_SCAN_RAKING>)
ENTRY(memoize_int_96, int, 96, block_scan<int, 96, cub::BLOCK_SCAN_RAKING_MEMOIZE>)
ENTRY(memoize_float_256, float, 256, block_scan<float, 256, cub::BLOCK_SCAN_RAKING_MEMOIZE>)
ENTRY(warps_int_256, int, 256, block_scan<int, 256, cub::BLOCK_SCAN_WARP_SCANS>)
ENTRY(warps_float_32, float, 32, block_scan<float, 32, cub::BLOCK_SCAN_WARP_SCANS>)

// Logical warps of kLanes: running sums, and those of what comes before.
template <typename T, int kLanes>
__global__ void warp_scan(const T* x, T* out, int n) {
    using Scan = cub::WarpScan<T, kLanes>;
    __shared__ typename Scan::TempStorage storage[64 / kLanes];
    const int t = threadIdx.x;
    T sum, before, all;
    Scan(storage[t / kLanes]).InclusiveSum(x[t], sum, all);
    __syncwarp();
    Scan(storage[t / kLanes]).ExclusiveScan(x[t], before, T(0), cuda::std::plus<>{});
    out[t] = sum;
    out[64 + t] = before;
    out[128 + t] = all;
}
ENTRY(warp_int_32, int, 64, warp_scan<int, 32>)
ENTRY(warp_float_32, float, 64, warp_scan<float, 32>)
ENTRY(warp_float_16, float, 64, warp_scan<float, 16>)
