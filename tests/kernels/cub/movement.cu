// CUB's ways to move numbers about: BlockLoad and BlockStore in each of their arrangements, BlockExchange,
// BlockShuffle.
//
// Every entry gets x[n] and writes out; what it makes stands in movement.py under the kernel's name.
#include <cuda_runtime.h>

#include <cub/block/block_exchange.cuh>
#include <cub/block/block_load.cuh>
#include <cub/block/block_shuffle.cuh>
#include <cub/block/block_store.cuh>

#define ENTRY(name, T, threads, ...)                                                      \
    extern "C" cudaError_t name##_entry(const T* x, T* out, int n, cudaStream_t stream) { \
        __VA_ARGS__<<<1, threads, 0, stream>>>(x, out, n);                                \
        return cudaGetLastError();                                                        \
    }

// Four numbers a thread, each given the number of its thread; then once more as far as n - 5 goes.
template <typename T, int kThreads, cub::BlockLoadAlgorithm kLoad, cub::BlockStoreAlgorithm kStore>
__global__ void load_and_store(const T* x, T* out, int n) {
    using Load = cub::BlockLoad<T, kThreads, 4, kLoad>;
    using Store = cub::BlockStore<T, kThreads, 4, kStore>;
    __shared__ union {
        typename Load::TempStorage load;
        typename Store::TempStorage store;
    } storage;
    T items[4];
    const int t = threadIdx.x;
    Load(storage.load).Load(x, items);
    __syncthreads();
    for (int k = 0; k < 4; ++k) items[k] += T(100 * t);
    Store(storage.store).Store(out, items);
    __syncthreads();
    Load(storage.load).Load(x, items, n - 5, T(7));
    __syncthreads();
    Store(storage.store).Store(out + n, items);
}
ENTRY(direct_int_64, int, 64, load_and_store<int, 64, cub::BLOCK_LOAD_DIRECT, cub::BLOCK_STORE_DIRECT>)
ENTRY(striped_float_96, float, 96, load_and_store<float, 96, cub::BLOCK_LOAD_STRIPED, cub::BLOCK_STORE_STRIPED>)
ENTRY(vectorize_float_64, float, 64, load_and_store<float, 64, cub::BLOCK_LOAD_VECTORIZE, cub::BLOCK_STORE_VECTORIZE>)
ENTRY(transpose_int_128, int, 128, load_and_store<int, 128, cub::BLOCK_LOAD_TRANSPOSE, cub::BLOCK_STORE_TRANSPOSE>)
ENTRY(warps_float_256, float, 256,
      load_and_store<float, 256, cub::BLOCK_LOAD_WARP_TRANSPOSE, cub::BLOCK_STORE_WARP_TRANSPOSE>)
ENTRY(slices_int_128, int, 128,
      load_and_store<int, 128, cub::BLOCK_LOAD_WARP_TRANSPOSE_TIMESLICED, cub::BLOCK_STORE_WARP_TRANSPOSE_TIMESLICED>)

// From a thread's own three in a row to every kThreads-th and back by way of warps, then each to the place it names.
template <typename T, int kThreads>
__global__ void exchange(const T* x, T* out, int n) {
    using Exchange = cub::BlockExchange<T, kThreads, 3>;
    __shared__ typename Exchange::TempStorage storage;
    const int t = threadIdx.x;
    T items[3];
    int places[3];
    for (int k = 0; k < 3; ++k) items[k] = x[3 * t + k];
    Exchange(storage).BlockedToStriped(items, items);
    __syncthreads();
    for (int k = 0; k < 3; ++k) out[k * kThreads + t] = items[k] + T(k);
    Exchange(storage).StripedToBlocked(items, items);
    __syncthreads();
    Exchange(storage).BlockedToWarpStriped(items, items);
    __syncthreads();
    Exchange(storage).WarpStripedToBlocked(items, items);
    __syncthreads();
    for (int k = 0; k < 3; ++k) places[k] = (3 * t + k) * 7 % (3 * kThreads);
    Exchange(storage).ScatterToStriped(items, items, places);
    for (int k = 0; k < 3; ++k) out[n + k * kThreads + t] = items[k];
}
ENTRY(exchange_int_64, int, 64, exchange<int, 64>)
ENTRY(exchange_float_128, float, 128, exchange<float, 128>)

template <typename T, int kThreads>
__global__ void shuffle(const T* x, T* out, int n) {
    using Shuffle = cub::BlockShuffle<T, kThreads>;
    __shared__ typename Shuffle::TempStorage storage;
    const int t = threadIdx.x;
    T moved = T(99);
    Shuffle(storage).Offset(x[t], moved, 2);
    out[t] = moved;
    __syncthreads();
    Shuffle(storage).Rotate(x[t], moved, 5);
    out[kThreads + t] = moved;
    __syncthreads();
    T items[2] = {x[t], T(t)}, before[2] = {T(0), T(0)};
    Shuffle(storage).Up(items, before);
    out[2 * kThreads + t] = t > 0 ? before[0] : T(0);
    out[3 * kThreads + t] = before[1];
}
ENTRY(shuffle_int_96, int, 96, shuffle<int, 96>)
ENTRY(shuffle_float_256, float, 256, shuffle<float, 256>)
