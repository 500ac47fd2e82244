// CUB's sums: BlockReduce in its three algorithms, WarpReduce.
//
// Every entry gets x[n] and writes out; what it makes stands in reduce.py under the kernel's name.
#include <cuda_runtime.h>

#include <cub/block/block_reduce.cuh>
#include <cub/warp/warp_reduce.cuh>

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

// The sum of all threads, the largest of the first three quarters, the sum of three numbers of each thread.
template <typename T, int kThreads, cub::BlockReduceAlgorithm kAlgorithm>
__global__ void block_reduce(const T* x, T* out, int n) {
    using Reduce = cub::BlockReduce<T, kThreads, kAlgorithm>;
    __shared__ typename Reduce::TempStorage storage;
    const int t = threadIdx.x;
    const T sum = Reduce(storage).Sum(x[t]);
    __syncthreads();
    const T largest = Reduce(storage).Reduce(x[t], Larger{}, kThreads * 3 / 4);
    __syncthreads();
    T items[3];
    for (int k = 0; k < 3; ++k) items[k] = x[3 * t + k];
    const T sum_of_items = Reduce(storage).Sum(items);
    if (t == 0) {
        out[0] = sum;
        out[1] = largest;
        out[2] = sum_of_items;
    }
}
ENTRY(raking_int_128, int, 128, block_reduce<int, 128, cub::BLOCK_REDUCE_RAKING>)
ENTRY(raking_float_256, float, 256, block_reduce<float, 256, cub::BLOCK_REDUCE_RAKING>)
ENTRY(commutative_int_96, int, 96, block_reduce<int, 96, cub::BLOCK_REDUCE_RAKING_COMMUTATIVE_ONLY>)
ENTRY(commutative_float_32, float, 32, block_reduce<float, 32, cub::BLOCK_REDUCE_RAKING_COMMUTATIVE_ONLY>)
ENTRY(warps_int_256, int, 256, block_reduce<int, 256, cub::BLOCK_REDUCE_WARP_REDUCTIONS>)
ENTRY(warps_float_64, float, 64, block_reduce<float, 64, cub::BLOCK_REDUCE_WARP_REDUCTIONS>)
ENTRY(warps_int_100, int, 100, block_reduce<int, 100, cub::BLOCK_REDUCE_WARP_REDUCTIONS>)
ENTRY(raking_int_40, int, 40, block_reduce<int, 40, cub::BLOCK_REDUCE_RAKING>)

// Logical warps of kLanes: the sum, the largest of the first kLanes - 3, sums from each head to the next.
template <typename T, int kLanes>
__global__ void warp_reduce(const T* x, T* out, int n) {
    using Reduce = cub::WarpReduce<T, kLanes>;
    __shared__ typename Reduce::TempStorage storage[64 / kLanes];
    const int t = threadIdx.x, warp = t / kLanes, lane = t % kLanes;
    const T sum = Reduce(storage[warp]).Sum(x[t]);
    __syncwarp();
    const T largest = Reduce(storage[warp]).Reduce(x[t], Larger{}, kLanes - 3);
    __syncwarp();
    const bool head = lane % 3 == 0;
    const T of_segment = Reduce(storage[warp]).HeadSegmentedSum(x[t], head);
    if (lane == 0) {
        out[2 * warp] = sum;
        out[2 * warp + 1] = largest;
    }
    out[2 * (64 / kLanes) + t] = head ? of_segment : T(0);
}
ENTRY(warp_int_32, int, 64, warp_reduce<int, 32>)
ENTRY(warp_float_32, float, 64, warp_reduce<float, 32>)
ENTRY(warp_int_16, int, 64, warp_reduce<int, 16>)
ENTRY(warp_float_8, float, 64, warp_reduce<float, 8>)
