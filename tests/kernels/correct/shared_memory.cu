// Tiles in shared memory: halos, double buffers, transposes, products, sorts, histograms, one block carved into many
// arrays.
//
// Every entry gets x[n] and writes out; what it makes stands in shared_memory.py under the kernel's name.
#include <cuda_runtime.h>

#define ENTRY(kernel, blocks, threads, dynamic_bytes)                                           \
    extern "C" cudaError_t kernel##_entry(const int* x, int* out, int n, cudaStream_t stream) { \
        kernel<<<blocks, threads, dynamic_bytes, stream>>>(x, out, n);                          \
        return cudaGetLastError();                                                              \
    }
#define ENTRY_FROM_ZERO(kernel, elements, blocks, threads)                                      \
    extern "C" cudaError_t kernel##_entry(const int* x, int* out, int n, cudaStream_t stream) { \
        const cudaError_t error = cudaMemsetAsync(out, 0, (elements) * sizeof(int), stream);    \
        if (error != cudaSuccess) return error;                                                 \
        kernel<<<blocks, threads, 0, stream>>>(x, out, n);                                      \
        return cudaGetLastError();                                                              \
    }

// ---- tiles with a rim ----------------------------------------------------------------------------------------------

__global__ void window_of_seven(const int* x, int* out, int n) {
    __shared__ int tile[64 + 6];
    const int t = threadIdx.x, start = blockIdx.x * 64;
    const auto at = [&](int i) { return i >= 0 && i < n ? x[i] : 0; };
    tile[t + 3] = at(start + t);
    if (t < 3) {
        tile[t] = at(start + t - 3);
        tile[t + 67] = at(start + t + 64);
    }
    __syncthreads();
    int sum = 0;
    for (int k = 0; k < 7; ++k) sum += tile[t + k];
    if (start + t < n) out[start + t] = sum;
}
ENTRY(window_of_seven, 4, 64, 0)

// More elements than threads: the tile with its rim is loaded in a loop over its flat index.
__global__ void four_neighbours(const int* x, int* out, int n) {
    __shared__ int tile[10][18];
    const int side = 30, tx = threadIdx.x, ty = threadIdx.y;
    const int left = blockIdx.x * 16, top = blockIdx.y * 8;
    for (int k = ty * 16 + tx; k < 10 * 18; k += 128) {
        const int row = top + k / 18 - 1, column = left + k % 18 - 1;
        const bool inside = row >= 0 && row < side && column >= 0 && column < side;
        tile[k / 18][k % 18] = inside ? x[row * side + column] : 0;
    }
    __syncthreads();
    const int row = top + ty, column = left + tx;
    if (row < side && column < side)
        out[row * side + column] = tile[ty][tx + 1] + tile[ty + 2][tx + 1] + tile[ty + 1][tx] + tile[ty + 1][tx + 2];
}
ENTRY(four_neighbours, dim3(2, 4), dim3(16, 8), 0)

// ---- double buffers ------------------------------------------------------------------------------------------------

// Diffusion: each round reads one buffer and writes the other; the barrier between rounds serves both.
__global__ void rounds_in_two_buffers(const int* x, int* out, int n) {
    __shared__ int tile[2][96];
    const int t = threadIdx.x;
    tile[0][t] = x[t];
    __syncthreads();
    for (int round = 0; round < 5; ++round) {
        const int* from = tile[round & 1];
        int* to = tile[1 - (round & 1)];
        to[t] = from[t] + from[(t + 1) % 96] + from[(t + 95) % 96];
        __syncthreads();
    }
    out[t] = tile[1][t];
}
ENTRY(rounds_in_two_buffers, 1, 96, 0)

// The next tile is written while this one is read: one barrier a tile.
__global__ void next_tile_ahead(const int* x, int* out, int n) {
    __shared__ int tile[2][64];
    const int t = threadIdx.x, tiles = n / 64;
    int sum = 0;
    tile[0][t] = x[t];
    for (int k = 0; k < tiles; ++k) {
        __syncthreads();
        if (k + 1 < tiles) tile[(k + 1) % 2][t] = x[(k + 1) * 64 + t];
        sum += tile[k % 2][63 - t] * (k + 1);
    }
    out[t] = sum;
}
ENTRY(next_tile_ahead, 1, 64, 0)

// Three buffers in a ring, loaded two tiles ahead through a register.
__global__ void ring_of_three(const int* x, int* out, int n) {
    extern __shared__ int ring[];
    const int t = threadIdx.x, tiles = n / 32;
    int* stage[3] = {ring, ring + 32, ring + 64};
    stage[0][t] = x[t];
    stage[1][t] = x[32 + t];
    int sum = 0;
    for (int k = 0; k < tiles; ++k) {
        const int ahead = k + 2 < tiles ? x[(k + 2) * 32 + t] : 0;
        __syncthreads();
        for (int j = 0; j < 3; ++j) sum += stage[k % 3][(t + j) % 32];
        if (k + 2 < tiles) stage[(k + 2) % 3][t] = ahead;
    }
    out[t] = sum;
}
ENTRY(ring_of_three, 1, 32, 96 * sizeof(int))

// ---- transposes and products ---------------------------------------------------------------------------------------

__global__ void transposed_with_padding(const int* x, int* out, int n) {
    __shared__ int tile[32][33];
    const int rows = 40, columns = 50;
    int column = blockIdx.x * 32 + threadIdx.x, row = blockIdx.y * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 8)
        if (row + j < rows && column < columns) tile[threadIdx.y + j][threadIdx.x] = x[(row + j) * columns + column];
    __syncthreads();
    column = blockIdx.y * 32 + threadIdx.x;
    row = blockIdx.x * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 8)
        if (row + j < columns && column < rows) out[(row + j) * rows + column] = tile[threadIdx.x][threadIdx.y + j];
}
ENTRY(transposed_with_padding, dim3(2, 2), dim3(32, 8), 0)

__global__ void transposed_with_swizzle(const int* x, int* out, int n) {
    __shared__ int tile[32][32];
    const int tx = threadIdx.x, side = 64;
    for (int ty = threadIdx.y; ty < 32; ty += 4)
        tile[ty][tx ^ ty] = x[(blockIdx.y * 32 + ty) * side + blockIdx.x * 32 + tx];
    __syncthreads();
    for (int ty = threadIdx.y; ty < 32; ty += 4)
        out[(blockIdx.x * 32 + ty) * side + blockIdx.y * 32 + tx] = tile[tx][ty ^ tx];
}
ENTRY(transposed_with_swizzle, dim3(2, 2), dim3(32, 4), 0)

// One tile of shared memory for many tiles of work: a barrier after writing, and one before writing again.
__global__ void tiles_one_after_another(const int* x, int* out, int n) {
    __shared__ int tile[16][17];
    const int tx = threadIdx.x, ty = threadIdx.y;
    for (int k = blockIdx.x; k < n / 256; k += gridDim.x) {
        tile[ty][tx] = x[k * 256 + ty * 16 + tx];
        __syncthreads();
        out[k * 256 + ty * 16 + tx] = tile[tx][ty];
        __syncthreads();
    }
}
ENTRY(tiles_one_after_another, 2, dim3(16, 16), 0)

// x is A [37, 23], then B [23, 29].
__global__ void product_in_tiles(const int* x, int* out, int n) {
    constexpr int kTile = 16, kM = 37, kN = 29, kK = 23;
    __shared__ int a_tile[kTile][kTile], b_tile[kTile][kTile];
    const int tx = threadIdx.x, ty = threadIdx.y;
    const int row = blockIdx.y * kTile + ty, column = blockIdx.x * kTile + tx;
    const int *a = x, *b = x + kM * kK;
    int sum = 0;
    for (int start = 0; start < kK; start += kTile) {
        a_tile[ty][tx] = row < kM && start + tx < kK ? a[row * kK + start + tx] : 0;
        b_tile[ty][tx] = column < kN && start + ty < kK ? b[(start + ty) * kN + column] : 0;
        __syncthreads();
#pragma unroll
        for (int k = 0; k < kTile; ++k) sum += a_tile[ty][k] * b_tile[k][tx];
        __syncthreads();
    }
    if (row < kM && column < kN) out[row * kN + column] = sum;
}
ENTRY(product_in_tiles, dim3(2, 3), dim3(16, 16), 0)

// ---- sorts ---------------------------------------------------------------------------------------------------------

__global__ void bitonic_sort(const int* x, int* out, int n) {
    __shared__ int keys[256];
    const unsigned t = threadIdx.x;
    keys[t] = x[t];
    __syncthreads();
    for (unsigned size = 2; size <= 256; size *= 2)
        for (unsigned stride = size / 2; stride > 0; stride /= 2) {
            const unsigned other = t ^ stride;
            if (other > t) {
                const bool up = (t & size) == 0;
                if ((keys[t] > keys[other]) == up) {
                    const int held = keys[t];
                    keys[t] = keys[other];
                    keys[other] = held;
                }
            }
            __syncthreads();
        }
    out[t] = keys[t];
}
ENTRY(bitonic_sort, 1, 256, 0)

__global__ void odd_even_sort(const int* x, int* out, int n) {
    extern __shared__ int keys[];
    const int t = threadIdx.x;
    for (int i = t; i < n; i += blockDim.x) keys[i] = x[i];
    for (int round = 0; round < n; ++round) {
        __syncthreads();
        const int i = 2 * t + round % 2;
        if (i + 1 < n && keys[i] > keys[i + 1]) {
            const int held = keys[i];
            keys[i] = keys[i + 1];
            keys[i + 1] = held;
        }
    }
    __syncthreads();
    for (int i = t; i < n; i += blockDim.x) out[i] = keys[i];
}
ENTRY(odd_even_sort, 1, 64, 100 * sizeof(int))

// How many are smaller, or equal and before: that is where it goes.
__global__ void sort_by_rank(const int* x, int* out, int n) {
    __shared__ int keys[100], sorted[100];
    const int t = threadIdx.x;
    if (t < n) keys[t] = x[t];
    __syncthreads();
    if (t < n) {
        int rank = 0;
        for (int k = 0; k < n; ++k) rank += keys[k] < keys[t] || (keys[k] == keys[t] && k < t);
        sorted[rank] = keys[t];
    }
    __syncthreads();
    if (t < n) out[t] = sorted[t];
}
ENTRY(sort_by_rank, 1, 128, 0)

// Longest common subsequence of x and x backwards, a diagonal at a time.
__global__ void diagonals(const int* x, int* out, int n) {
    __shared__ int table[33][33];
    const int t = threadIdx.x;
    table[0][t] = table[t][0] = 0;
    if (t == 0) table[0][32] = table[32][0] = 0;
    for (int diagonal = 0; diagonal < 63; ++diagonal) {
        __syncthreads();
        const int row = t, column = diagonal - t;
        if (column >= 0 && column < 32) {
            const int best = max(table[row][column + 1], table[row + 1][column]);
            table[row + 1][column + 1] = x[row] % 4 == x[31 - column] % 4 ? table[row][column] + 1 : best;
        }
    }
    __syncthreads();
    out[t] = table[32][t + 1];
}
ENTRY(diagonals, 1, 32, 0)

// ---- histograms ----------------------------------------------------------------------------------------------------

__global__ void histogram_merged(const int* x, int* out, int n) {
    __shared__ int bins[32];
    const int t = threadIdx.x;
    if (t < 32) bins[t] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + t; i < n; i += gridDim.x * blockDim.x) atomicAdd(&bins[x[i] & 31], 1);
    __syncthreads();
    if (t < 32 && bins[t] > 0) atomicAdd(&out[t], bins[t]);
}
ENTRY_FROM_ZERO(histogram_merged, 32, 4, 64)

// A histogram for each thread, in bytes side by side; a byte holds as many as one thread sees.
__global__ void histogram_of_each_thread(const int* x, int* out, int n) {
    __shared__ unsigned char bins[8][64];
    const int t = threadIdx.x;
    for (int bin = 0; bin < 8; ++bin) bins[bin][t] = 0;
    for (int i = t; i < n; i += 64) bins[x[i] & 7][t] += 1;
    __syncthreads();
    if (t < 8) {
        int sum = 0;
        for (int k = 0; k < 64; ++k) sum += bins[t][k];
        out[t] = sum;
    }
}
ENTRY(histogram_of_each_thread, 1, 64, 0)

// ---- layouts -------------------------------------------------------------------------------------------------------

// One block of dynamic shared memory, carved into arrays of doubles, ints, shorts and bytes.
__global__ void carved_into_four(const int* x, int* out, int n) {
    extern __shared__ __align__(16) unsigned char block[];
    auto* doubles = reinterpret_cast<double*>(block);
    auto* ints = reinterpret_cast<int*>(doubles + 48);
    auto* shorts = reinterpret_cast<short*>(ints + 48);
    auto* bytes = reinterpret_cast<signed char*>(shorts + 48);
    const int t = threadIdx.x;
    doubles[t] = x[t] * 0.5;
    ints[t] = x[t] + 1;
    shorts[t] = static_cast<short>(x[t] + 2);
    bytes[t] = static_cast<signed char>(x[t] + 3);
    __syncthreads();
    const int other = 47 - t;
    out[t] = static_cast<int>(2.0 * doubles[other]) + ints[other] + shorts[other] + bytes[other];
}
ENTRY(carved_into_four, 1, 48, 48 * (8 + 4 + 2 + 1))

// The same bytes as floats first and as a struct later, with a barrier between.
__global__ void used_twice(const int* x, int* out, int n) {
    struct Pair {
        int low;
        short high;
    };
    __shared__ union {
        float floats[64];
        Pair pairs[32];
    } memory;
    const int t = threadIdx.x;
    memory.floats[t] = static_cast<float>(x[t]);
    __syncthreads();
    const int mirrored = static_cast<int>(memory.floats[63 - t]);
    __syncthreads();
    if (t % 2 == 0)
        memory.pairs[t / 2].low = mirrored;
    else
        memory.pairs[t / 2].high = static_cast<short>(mirrored);
    __syncthreads();
    const Pair pair = memory.pairs[(t + 1) % 32];
    out[t] = pair.low - pair.high;
}
ENTRY(used_twice, 1, 64, 0)

// Written four at a time, read one at a time.
__global__ void vectors_in_scalars_out(const int* x, int* out, int n) {
    __shared__ __align__(16) int tile[128];
    const int t = threadIdx.x;
    if (t < 32) reinterpret_cast<int4*>(tile)[t] = reinterpret_cast<const int4*>(x)[t];
    __syncthreads();
    for (int k = 0; k < 2; ++k) out[t + 64 * k] = tile[127 - t - 64 * k];
    __syncthreads();
    tile[t] = t;
    __syncthreads();
    const int2 pair = reinterpret_cast<int2*>(tile)[31 - t / 2];
    out[128 + t] = pair.x * 100 + pair.y;
}
ENTRY(vectors_in_scalars_out, 1, 64, 0)

__global__ void slots_of_each_thread(const int* x, int* out, int n) {
    __shared__ int stack[4 * 64];
    const int t = threadIdx.x;
    int depth = 0;
    for (int number = abs(x[t]); number > 0; number /= 4) stack[64 * depth++ + t] = number % 4;
    int reversed = 0;
    for (int k = 0; k < depth; ++k) reversed = reversed * 4 + stack[64 * k + t];
    out[t] = reversed;
}
ENTRY(slots_of_each_thread, 1, 64, 0)

// ---- flags ---------------------------------------------------------------------------------------------------------

// Whoever finds something stores the same value: it does not matter who comes last.
__global__ void flag_set_by_many(const int* x, int* out, int n) {
    __shared__ bool found[2];
    const int t = threadIdx.x;
    if (t == 0) found[0] = found[1] = false;
    __syncthreads();
    if (x[t] > 20) found[0] = true;
    if (x[t] > 60) found[1] = true;
    __syncthreads();
    out[t] = 2 * found[0] + found[1];
}
ENTRY(flag_set_by_many, 1, 128, 0)

__global__ void flag_set_by_many_blocks(const int* x, int* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (x[i] % 10 == 3) out[0] = 1;
    if (x[i] > 60) out[1] = 1;
}
ENTRY_FROM_ZERO(flag_set_by_many_blocks, 2, 4, 64)

// Bubble sort until a round changes nothing: the flag is cleared, set and read between barriers.
__global__ void until_nothing_changes(const int* x, int* out, int n) {
    __shared__ int keys[64];
    __shared__ bool changed;
    const int t = threadIdx.x;
    keys[t] = x[t];
    keys[t + 32] = x[t + 32];
    do {
        __syncthreads();
        if (t == 0) changed = false;
        for (int odd = 0; odd < 2; ++odd) {
            __syncthreads();
            const int i = 2 * t + odd;
            if (i + 1 < 64 && keys[i] > keys[i + 1]) {
                const int held = keys[i];
                keys[i] = keys[i + 1];
                keys[i + 1] = held;
                changed = true;
            }
        }
        __syncthreads();
    } while (changed);
    out[t] = keys[t];
    out[t + 32] = keys[t + 32];
}
ENTRY(until_nothing_changes, 1, 32, 0)

// What other threads of the block stored in global memory is there after the barrier.
__global__ void own_output_read_back(const int* x, int* out, int n) {
    const int t = threadIdx.x, start = blockIdx.x * 64;
    out[start + t] = 2 * x[start + t];
    __syncthreads();
    const int mirrored = out[start + 63 - t];
    __syncthreads();
    out[start + t] = mirrored + 1;
}
ENTRY(own_output_read_back, 2, 64, 0)

// Threads past the end stay for the barriers and do nothing else.
__global__ void guards_around_work(const int* x, int* out, int n) {
    __shared__ int tile[64];
    const int t = threadIdx.x;
    for (int start = 0; start < n; start += 64) {
        const bool inside = start + t < n;
        if (inside) tile[t] = x[start + t];
        __syncthreads();
        const int count = min(64, n - start);
        if (inside) out[start + t] = tile[count - 1 - t];
        __syncthreads();
    }
}
ENTRY(guards_around_work, 1, 64, 0)
