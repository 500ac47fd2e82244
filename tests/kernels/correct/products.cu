// Matrix products in the styles of the second puzzle, and rows in those of the fifth.
//
// x is A [kM, kK], then B [kK, kN], unless said otherwise; out is A times B. What each kernel makes stands in
// products.py.
#include <cuda_runtime.h>

#define ENTRY(kernel, blocks, threads, ...)                                                     \
    extern "C" cudaError_t kernel##_entry(const int* x, int* out, int n, cudaStream_t stream) { \
        kernel<__VA_ARGS__><<<blocks, threads, 0, stream>>>(x, out, n);                         \
        return cudaGetLastError();                                                              \
    }

constexpr int kM = 70, kN = 52, kK = 36;

__device__ int a_at(const int* x, int row, int k) {
    return row < kM && k < kK ? x[row * kK + k] : 0;
}
__device__ int b_at(const int* x, int k, int column) {
    return k < kK && column < kN ? x[kM * kK + k * kN + column] : 0;
}

// Each thread makes TM results of one column.
template <int BM, int BN, int BK, int TM>
__global__ void columns_of_results(const int* x, int* out, int n) {
    __shared__ int a_tile[BM][BK], b_tile[BK][BN];
    const int t = threadIdx.x, column = t % BN, strip = t / BN * TM;
    const int top = blockIdx.y * BM, left = blockIdx.x * BN;
    int sums[TM] = {};
    for (int start = 0; start < kK; start += BK) {
        for (int i = t; i < BM * BK; i += blockDim.x) a_tile[i / BK][i % BK] = a_at(x, top + i / BK, start + i % BK);
        for (int i = t; i < BK * BN; i += blockDim.x) b_tile[i / BN][i % BN] = b_at(x, start + i / BN, left + i % BN);
        __syncthreads();
        for (int k = 0; k < BK; ++k) {
            const int b = b_tile[k][column];
#pragma unroll
            for (int i = 0; i < TM; ++i) sums[i] += a_tile[strip + i][k] * b;
        }
        __syncthreads();
    }
    for (int i = 0; i < TM; ++i)
        if (top + strip + i < kM && left + column < kN) out[(top + strip + i) * kN + left + column] = sums[i];
}
ENTRY(columns_of_results, dim3(2, 3), 128, 32, 32, 8, 8)

// TM x TN results a thread from registers; A stands transposed in shared memory and is read four at a time.
template <int BM, int BN, int BK, int TM, int TN>
__global__ void tiles_in_registers(const int* x, int* out, int n) {
    static_assert(TM == 4 && TN == 4);
    __shared__ __align__(16) int a_tile[BK][BM], b_tile[BK][BN];
    const int t = threadIdx.x, tx = t % (BN / TN) * TN, ty = t / (BN / TN) * TM;
    const int top = blockIdx.y * BM, left = blockIdx.x * BN;
    int sums[TM][TN] = {};
    for (int start = 0; start < kK; start += BK) {
        for (int i = t; i < BM * BK; i += blockDim.x) a_tile[i % BK][i / BK] = a_at(x, top + i / BK, start + i % BK);
        for (int i = t; i < BK * BN; i += blockDim.x) b_tile[i / BN][i % BN] = b_at(x, start + i / BN, left + i % BN);
        __syncthreads();
#pragma unroll
        for (int k = 0; k < BK; ++k) {
            const int4 a = *reinterpret_cast<const int4*>(&a_tile[k][ty]);
            const int4 b = *reinterpret_cast<const int4*>(&b_tile[k][tx]);
            const int as[4] = {a.x, a.y, a.z, a.w}, bs[4] = {b.x, b.y, b.z, b.w};
            for (int i = 0; i < TM; ++i)
                for (int j = 0; j < TN; ++j) sums[i][j] += as[i] * bs[j];
        }
        __syncthreads();
    }
    for (int i = 0; i < TM; ++i)
        for (int j = 0; j < TN; ++j)
            if (top + ty + i < kM && left + tx + j < kN) out[(top + ty + i) * kN + left + tx + j] = sums[i][j];
}
ENTRY(tiles_in_registers, dim3(2, 3), 64, 32, 32, 8, 4, 4)

// The next tiles are on their way in registers while these are multiplied: two buffers, one barrier a tile.
template <int T>
__global__ void two_tiles_in_turn(const int* x, int* out, int n) {
    __shared__ int a_tile[2][T][T + 1], b_tile[2][T][T + 1];
    const int tx = threadIdx.x, ty = threadIdx.y, row = blockIdx.y * T + ty, column = blockIdx.x * T + tx;
    a_tile[0][ty][tx] = a_at(x, row, tx);
    b_tile[0][ty][tx] = b_at(x, ty, column);
    __syncthreads();
    int sum = 0, now = 0;
    for (int start = 0; start < kK; start += T) {
        const int next_a = a_at(x, row, start + T + tx), next_b = b_at(x, start + T + ty, column);
        for (int k = 0; k < T; ++k) sum += a_tile[now][ty][k] * b_tile[now][k][tx];
        now ^= 1;
        a_tile[now][ty][tx] = next_a;
        b_tile[now][ty][tx] = next_b;
        __syncthreads();
    }
    if (row < kM && column < kN) out[row * kN + column] = sum;
}
ENTRY(two_tiles_in_turn, dim3(4, 5), dim3(16, 16), 16)

// The long side is split over blocks, which add up with atomics.
template <int T>
__global__ void split_along_k(const int* x, int* out, int n) {
    __shared__ int a_tile[T][T], b_tile[T][T];
    const int tx = threadIdx.x, ty = threadIdx.y, row = blockIdx.y * T + ty, column = blockIdx.x * T + tx;
    const int start = blockIdx.z * T;
    a_tile[ty][tx] = a_at(x, row, start + tx);
    b_tile[ty][tx] = b_at(x, start + ty, column);
    __syncthreads();
    int sum = 0;
    for (int k = 0; k < T; ++k) sum += a_tile[ty][k] * b_tile[k][tx];
    if (row < kM && column < kN) atomicAdd(&out[row * kN + column], sum);
}
extern "C" cudaError_t split_along_k_entry(const int* x, int* out, int n, cudaStream_t stream) {
    const cudaError_t error = cudaMemsetAsync(out, 0, kM * kN * sizeof(int), stream);
    if (error != cudaSuccess) return error;
    split_along_k<8><<<dim3(7, 9, 5), dim3(8, 8), 0, stream>>>(x, out, n);
    return cudaGetLastError();
}

// One warp makes a 32 x 2 piece; B comes to the lanes by shuffles and never sees shared memory.
template <int kColumns>
__global__ void columns_by_shuffles(const int* x, int* out, int n) {
    const int lane = threadIdx.x, row = blockIdx.y * 32 + lane, left = blockIdx.x * kColumns;
    int sums[kColumns] = {};
    for (int start = 0; start < kK; start += 32) {
        int mine[kColumns];
        for (int j = 0; j < kColumns; ++j) mine[j] = b_at(x, start + lane, left + j);
        for (int k = 0; k < min(32, kK - start); ++k) {
            const int a = a_at(x, row, start + k);
            for (int j = 0; j < kColumns; ++j) sums[j] += a * __shfl_sync(0xffffffffu, mine[j], k);
        }
    }
    for (int j = 0; j < kColumns; ++j)
        if (row < kM) out[row * kN + left + j] = sums[j];
}
ENTRY(columns_by_shuffles, dim3(26, 3), 32, 2)

// ---- rows ----------------------------------------------------------------------------------------------------------

// Largest and how often, merged in pairs by shuffles and then through shared memory. x is [12, 75].
struct Most {
    int value, count;
};
__device__ Most merged(Most a, Most b) {
    const int value = max(a.value, b.value);
    return {value, (a.value == value ? a.count : 0) + (b.value == value ? b.count : 0)};
}
template <int kThreads>
__global__ void largest_of_rows(const int* x, int* out, int n) {
    __shared__ Most partial[kThreads / 32];
    const int t = threadIdx.x, lane = t % 32, warp = t / 32;
    for (int row = blockIdx.x; row < 12; row += gridDim.x) {
        Most most = {-1000, 0};
        for (int k = t; k < 75; k += kThreads) most = merged(most, {x[row * 75 + k], 1});
        for (int d = 16; d > 0; d >>= 1) {
            const Most other = {__shfl_xor_sync(0xffffffffu, most.value, d),
                                __shfl_xor_sync(0xffffffffu, most.count, d)};
            most = merged(most, other);
        }
        if (lane == 0) partial[warp] = most;
        __syncthreads();
        if (t == 0) {
            for (int w = 1; w < kThreads / 32; ++w) most = merged(most, partial[w]);
            out[2 * row] = most.value;
            out[2 * row + 1] = most.count;
        }
        __syncthreads();
    }
}
ENTRY(largest_of_rows, 5, 64, 64)

// Sums of columns: a block walks down 32 of them with 4 rows at a time. x is [60, 70].
template <int kRows>
__global__ void sums_of_columns(const int* x, int* out, int n) {
    __shared__ int partial[kRows][32];
    const int tx = threadIdx.x, ty = threadIdx.y, column = blockIdx.x * 32 + tx;
    int sum = 0;
    if (column < 70)
        for (int row = ty; row < 60; row += kRows) sum += x[row * 70 + column];
    partial[ty][tx] = sum;
    __syncthreads();
    if (ty > 0 || column >= 70) return;
    for (int k = 1; k < kRows; ++k) sum += partial[k][tx];
    out[column] = sum;
}
ENTRY(sums_of_columns, 3, dim3(32, 4), 4)
