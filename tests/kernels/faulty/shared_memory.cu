// Shared memory, local memory and variables of the module, read or written where nothing is, or before anything is;
// beside each a near twin that is right (`…_ok`).
//
// `// -> kind` marks a line that a finding of that kind names (of several kinds, one is enough); every line that a
// finding names is marked. Every entry gets x[n] and out[n], n = 128; tests/test_faulty_kernels.py runs them all.
#include <cuda_runtime.h>

#define ENTRY(kernel, blocks, threads, dynamic_bytes)                                           \
    extern "C" cudaError_t kernel##_entry(const int* x, int* out, int n, cudaStream_t stream) { \
        kernel<<<blocks, threads, dynamic_bytes, stream>>>(x, out, n);                          \
        return cudaGetLastError();                                                              \
    }

// ---- bounds --------------------------------------------------------------------------------------------------------

__global__ void one_past_the_tile(const int* x, int* out, int n) {
    __shared__ int tile[64];
    const int t = threadIdx.x;
    tile[t] = x[t];
    __syncthreads();
    int sum = 0;
    for (int k = 0; k <= 64; ++k) sum += tile[k];  // -> out_of_bounds_read
    out[t] = sum;
}
ENTRY(one_past_the_tile, 1, 64, 0)

__global__ void up_to_the_end_of_the_tile_ok(const int* x, int* out, int n) {
    __shared__ int tile[64];
    const int t = threadIdx.x;
    tile[t] = x[t];
    __syncthreads();
    int sum = 0;
    for (int k = 0; k < 64; ++k) sum += tile[k];
    out[t] = sum;
}
ENTRY(up_to_the_end_of_the_tile_ok, 1, 64, 0)

__global__ void one_before_the_tile(const int* x, int* out, int n) {
    __shared__ int tile[64];
    const int t = threadIdx.x;
    tile[t] = x[t];
    __syncthreads();
    out[t] = tile[t] - tile[t - 1];  // -> out_of_bounds_read
}
ENTRY(one_before_the_tile, 1, 64, 0)

__global__ void from_the_start_of_the_tile_ok(const int* x, int* out, int n) {
    __shared__ int tile[64];
    const int t = threadIdx.x;
    tile[t] = x[t];
    __syncthreads();
    out[t] = tile[t] - (t > 0 ? tile[t - 1] : 0);
}
ENTRY(from_the_start_of_the_tile_ok, 1, 64, 0)

// Twice as many threads as elements: the upper half writes where the next variable might be.
__global__ void into_the_neighbour(const int* x, int* out, int n) {
    __shared__ int low[32], high[32];
    const int t = threadIdx.x;
    if (t < 32) high[t] = 0;
    __syncthreads();
    low[t] = x[t];  // -> out_of_bounds_write
    __syncthreads();
    out[t] = low[t % 32] + high[t % 32];
}
ENTRY(into_the_neighbour, 1, 64, 0)

__global__ void each_in_its_own_ok(const int* x, int* out, int n) {
    __shared__ int low[32], high[32];
    const int t = threadIdx.x;
    if (t < 32)
        low[t] = x[t];
    else
        high[t - 32] = x[t];
    __syncthreads();
    out[t] = low[t % 32] + high[t % 32];
}
ENTRY(each_in_its_own_ok, 1, 64, 0)

// The rim of a tile of 16 x 16 does not fit into 16 x 16.
__global__ void no_room_for_the_rim(const int* x, int* out, int n) {
    __shared__ int tile[8][16];
    const int tx = threadIdx.x, ty = threadIdx.y;
    tile[ty][tx] = x[16 * ty + tx];
    if (ty == 0) tile[8][tx] = 0;  // -> out_of_bounds_write
    __syncthreads();
    out[16 * ty + tx] = tile[ty][tx] - tile[ty + 1][tx];  // -> out_of_bounds_read
}
ENTRY(no_room_for_the_rim, 1, dim3(16, 8), 0)

__global__ void room_for_the_rim_ok(const int* x, int* out, int n) {
    __shared__ int tile[9][16];
    const int tx = threadIdx.x, ty = threadIdx.y;
    tile[ty][tx] = x[16 * ty + tx];
    if (ty == 0) tile[8][tx] = 0;
    __syncthreads();
    out[16 * ty + tx] = tile[ty][tx] - tile[ty + 1][tx];
}
ENTRY(room_for_the_rim_ok, 1, dim3(16, 8), 0)

// The launch counts elements where bytes are asked for.
__global__ void elements_for_bytes(const int* x, int* out, int n) {
    extern __shared__ int dynamic[];
    const int t = threadIdx.x;
    dynamic[t] = x[t];  // -> out_of_bounds_write
    __syncthreads();
    out[t] = dynamic[t ^ 1];  // -> out_of_bounds_read
}
ENTRY(elements_for_bytes, 1, 64, 64)

__global__ void bytes_for_bytes_ok(const int* x, int* out, int n) {
    extern __shared__ int dynamic[];
    const int t = threadIdx.x;
    dynamic[t] = x[t];
    __syncthreads();
    out[t] = dynamic[t ^ 1];
}
ENTRY(bytes_for_bytes_ok, 1, 64, 64 * sizeof(int))

// The second array begins where the first would end if it were of ints.
__global__ void carved_too_far(const int* x, int* out, int n) {
    extern __shared__ __align__(8) unsigned char bytes[];
    auto* doubles = reinterpret_cast<double*>(bytes);
    auto* ints = reinterpret_cast<int*>(doubles + 48);
    const int t = threadIdx.x;
    doubles[t] = x[t];
    ints[t] = x[t];  // -> out_of_bounds_write
    out[t] = static_cast<int>(doubles[t]);
}
ENTRY(carved_too_far, 1, 32, 32 * (8 + 4))

__global__ void carved_well_ok(const int* x, int* out, int n) {
    extern __shared__ __align__(8) unsigned char bytes[];
    auto* doubles = reinterpret_cast<double*>(bytes);
    auto* ints = reinterpret_cast<int*>(doubles + 32);
    const int t = threadIdx.x;
    doubles[t] = x[t];
    ints[t] = x[t];
    out[t] = static_cast<int>(doubles[t]) + ints[t];
}
ENTRY(carved_well_ok, 1, 32, 32 * (8 + 4))

// A bin for each number below 100, and numbers up to 100.
__global__ void one_bin_too_few(const int* x, int* out, int n) {
    __shared__ int bins[100];
    const int t = threadIdx.x;
    if (t < 100) bins[t] = 0;
    __syncthreads();
    atomicAdd(&bins[t % 3 == 0 ? 100 : x[t] - 1], 1);  // -> out_of_bounds_write, out_of_bounds_read
    __syncthreads();
    if (t < 100) out[t] = bins[t];
}
ENTRY(one_bin_too_few, 1, 128, 0)

__global__ void as_many_bins_as_needed_ok(const int* x, int* out, int n) {
    __shared__ int bins[101];
    const int t = threadIdx.x;
    if (t < 101) bins[t] = 0;
    __syncthreads();
    atomicAdd(&bins[t % 3 == 0 ? 100 : x[t] - 1], 1);
    __syncthreads();
    if (t < 100) out[t] = bins[t];
}
ENTRY(as_many_bins_as_needed_ok, 1, 128, 0)

__device__ int table_of_the_module[16] = {1, 2, 3};
__constant__ int constants_of_the_module[16] = {4, 5, 6};

__global__ void past_a_table(const int* x, int* out, int n) {
    const int t = threadIdx.x;
    out[t] = table_of_the_module[t % 20];  // -> out_of_bounds_read
}
ENTRY(past_a_table, 1, 32, 0)

__global__ void past_a_constant_table(const int* x, int* out, int n) {
    const int t = threadIdx.x;
    out[t] = constants_of_the_module[t % 20];  // -> out_of_bounds_read
}
ENTRY(past_a_constant_table, 1, 32, 0)

__global__ void within_both_tables_ok(const int* x, int* out, int n) {
    const int t = threadIdx.x;
    out[t] = table_of_the_module[t % 16] + constants_of_the_module[t % 16];
}
ENTRY(within_both_tables_ok, 1, 32, 0)

__global__ void past_an_array_of_its_own(const int* x, int* out, int n) {
    int last[4] = {0, 0, 0, 0};
    const int t = threadIdx.x;
#pragma unroll 1
    for (int k = 0; k < 16; ++k) last[x[k] % 4 + (t == 9)] += k;  // -> out_of_bounds_write, out_of_bounds_read
    out[t] = last[0] + 2 * last[1] + 3 * last[2] + 4 * last[t % 4];
}
ENTRY(past_an_array_of_its_own, 1, 32, 0)

__global__ void within_an_array_of_its_own_ok(const int* x, int* out, int n) {
    int last[5] = {0, 0, 0, 0, 0};
    const int t = threadIdx.x;
#pragma unroll 1
    for (int k = 0; k < 16; ++k) last[x[k] % 4 + (t == 9)] += k;
    out[t] = last[0] + 2 * last[1] + 3 * last[2] + 4 * last[t % 4];
}
ENTRY(within_an_array_of_its_own_ok, 1, 32, 0)

// ---- alignment -----------------------------------------------------------------------------------------------------

__global__ void four_from_an_odd_place(const int* x, int* out, int n) {
    __shared__ __align__(16) int tile[72];
    const int t = threadIdx.x;
    tile[t] = x[t];
    if (t < 8) tile[64 + t] = 0;
    __syncthreads();
    if (t < 16) {
        const int4 four = *reinterpret_cast<const int4*>(&tile[4 * t + 1]);  // -> misaligned_access
        out[t] = four.x + four.y + four.z + four.w;
    }
}
ENTRY(four_from_an_odd_place, 1, 64, 0)

__global__ void four_from_an_even_place_ok(const int* x, int* out, int n) {
    __shared__ __align__(16) int tile[72];
    const int t = threadIdx.x;
    tile[t] = x[t];
    if (t < 8) tile[64 + t] = 0;
    __syncthreads();
    if (t < 16) {
        const int4 four = *reinterpret_cast<const int4*>(&tile[4 * t + 4]);
        out[t] = four.x + four.y + four.z + four.w;
    }
}
ENTRY(four_from_an_even_place_ok, 1, 64, 0)

// Rows of 33 ints: every other row begins between two pairs.
__global__ void pairs_in_padded_rows(const int* x, int* out, int n) {
    __shared__ __align__(8) int tile[4][33];
    const int t = threadIdx.x;
    for (int row = 0; row < 4; ++row) tile[row][t] = x[32 * row + t];
    __syncwarp();
    const int2 pair = *reinterpret_cast<const int2*>(&tile[t % 4][t / 4 * 2]);  // -> misaligned_access
    out[t] = pair.x + pair.y;
}
ENTRY(pairs_in_padded_rows, 1, 32, 0)

__global__ void pairs_in_even_rows_ok(const int* x, int* out, int n) {
    __shared__ __align__(8) int tile[4][34];
    const int t = threadIdx.x;
    for (int row = 0; row < 4; ++row) tile[row][t] = x[32 * row + t];
    __syncwarp();
    const int2 pair = *reinterpret_cast<const int2*>(&tile[t % 4][t / 4 * 2]);
    out[t] = pair.x + pair.y;
}
ENTRY(pairs_in_even_rows_ok, 1, 32, 0)

// ---- before anything is there --------------------------------------------------------------------------------------

__global__ void rim_never_loaded(const int* x, int* out, int n) {
    __shared__ int tile[66];
    const int t = threadIdx.x;
    tile[t + 1] = x[t];
    __syncthreads();
    out[t] = tile[t] + tile[t + 2];  // -> uninitialised_read
}
ENTRY(rim_never_loaded, 1, 64, 0)

__global__ void rim_loaded_ok(const int* x, int* out, int n) {
    __shared__ int tile[66];
    const int t = threadIdx.x;
    tile[t + 1] = x[t];
    if (t == 0) tile[0] = 0;
    if (t == 63) tile[65] = x[64];
    __syncthreads();
    out[t] = tile[t] + tile[t + 2];
}
ENTRY(rim_loaded_ok, 1, 64, 0)

__global__ void ragged_end_left_as_it_was(const int* x, int* out, int n) {
    __shared__ int tile[128];
    const int t = threadIdx.x;
    if (t < 100) tile[t] = x[t];
    __syncthreads();
    for (int s = 64; s > 0; s >>= 1) {
        if (t < s) tile[t] += tile[t + s];  // -> uninitialised_read
        __syncthreads();
    }
    if (t == 0) out[0] = tile[0];
}
ENTRY(ragged_end_left_as_it_was, 1, 128, 0)

__global__ void ragged_end_set_to_zero_ok(const int* x, int* out, int n) {
    __shared__ int tile[128];
    const int t = threadIdx.x;
    tile[t] = t < 100 ? x[t] : 0;
    __syncthreads();
    for (int s = 64; s > 0; s >>= 1) {
        if (t < s) tile[t] += tile[t + s];
        __syncthreads();
    }
    if (t == 0) out[0] = tile[0];
}
ENTRY(ragged_end_set_to_zero_ok, 1, 128, 0)

__global__ void counts_from_nothing(const int* x, int* out, int n) {
    __shared__ int count;
    const int t = threadIdx.x;
    if (x[t] > 50) atomicAdd(&count, 1);  // -> uninitialised_read
    __syncthreads();
    if (t == 0) out[0] = count;
}
ENTRY(counts_from_nothing, 1, 64, 0)

__global__ void counts_from_zero_ok(const int* x, int* out, int n) {
    __shared__ int count;
    const int t = threadIdx.x;
    if (t == 0) count = 0;
    __syncthreads();
    if (x[t] > 50) atomicAdd(&count, 1);
    __syncthreads();
    if (t == 0) out[0] = count;
}
ENTRY(counts_from_zero_ok, 1, 64, 0)

// Each block has shared memory of its own: the second one finds nothing in it.
__global__ void only_block_zero_loads(const int* x, int* out, int n) {
    __shared__ int tile[64];
    const int t = threadIdx.x;
    if (blockIdx.x == 0) tile[t] = x[t];
    __syncthreads();
    out[blockIdx.x * 64 + t] = tile[63 - t];  // -> uninitialised_read
}
ENTRY(only_block_zero_loads, 2, 64, 0)

__global__ void each_block_loads_ok(const int* x, int* out, int n) {
    __shared__ int tile[64];
    const int t = threadIdx.x;
    tile[t] = x[t];
    __syncthreads();
    out[blockIdx.x * 64 + t] = tile[63 - t];
}
ENTRY(each_block_loads_ok, 2, 64, 0)

// Bytes are told apart: three of four are written.
__global__ void a_byte_is_missing(const int* x, int* out, int n) {
    __shared__ __align__(4) unsigned char bytes[128];
    const int t = threadIdx.x;
    for (int k = 0; k < 3; ++k) bytes[4 * t + k] = static_cast<unsigned char>(x[t] + k);
    __syncwarp();
    out[t] = *reinterpret_cast<const int*>(bytes + 4 * (31 - t));  // -> uninitialised_read
}
ENTRY(a_byte_is_missing, 1, 32, 0)

__global__ void all_bytes_are_there_ok(const int* x, int* out, int n) {
    __shared__ __align__(4) unsigned char bytes[128];
    const int t = threadIdx.x;
    for (int k = 0; k < 4; ++k) bytes[4 * t + k] = static_cast<unsigned char>(x[t] + k);
    __syncwarp();
    out[t] = *reinterpret_cast<const int*>(bytes + 4 * (31 - t));
}
ENTRY(all_bytes_are_there_ok, 1, 32, 0)

// What one launch leaves in shared memory is gone when the next begins.
__global__ void kept_for_the_next_launch(const int* x, int* out, int n) {
    __shared__ int tile[32];
    const int t = threadIdx.x;
    if (n == 128) tile[t] = x[t];
    out[t] = tile[t];  // -> uninitialised_read
}
extern "C" cudaError_t kept_for_the_next_launch_entry(const int* x, int* out, int n, cudaStream_t stream) {
    kept_for_the_next_launch<<<1, 32, 0, stream>>>(x, out, n);
    kept_for_the_next_launch<<<1, 32, 0, stream>>>(x, out + 32, n - 32);
    return cudaGetLastError();
}

__global__ void loaded_by_each_launch_ok(const int* x, int* out, int n) {
    __shared__ int tile[32];
    const int t = threadIdx.x;
    if (n >= 32) tile[t] = x[t];
    out[t] = tile[t];
}
extern "C" cudaError_t loaded_by_each_launch_ok_entry(const int* x, int* out, int n, cudaStream_t stream) {
    loaded_by_each_launch_ok<<<1, 32, 0, stream>>>(x, out, n);
    loaded_by_each_launch_ok<<<1, 32, 0, stream>>>(x, out + 32, n - 32);
    return cudaGetLastError();
}

// Accumulators that nobody has set to zero: one, and a small array of them.
__global__ void sum_of_nothing(const int* x, int* out, int n) {
    __shared__ int tile[64];
    const int t = threadIdx.x;
    tile[t] = x[t];
    __syncthreads();
    int sum;
#pragma unroll 1
    for (int k = 0; k < 64; ++k) sum += tile[k];  // -> uninitialised_read
    out[t] = sum;
}
ENTRY(sum_of_nothing, 1, 64, 0)

__global__ void sum_of_zero_ok(const int* x, int* out, int n) {
    __shared__ int tile[64];
    const int t = threadIdx.x;
    tile[t] = x[t];
    __syncthreads();
    int sum = 0;
#pragma unroll 1
    for (int k = 0; k < 64; ++k) sum += tile[k];
    out[t] = sum;
}
ENTRY(sum_of_zero_ok, 1, 64, 0)

__global__ void one_accumulator_forgotten(const int* x, int* out, int n) {
    const int t = threadIdx.x;
    int sums[4];
    for (int k = 0; k < 3; ++k) sums[k] = 0;
#pragma unroll 1
    for (int i = 0; i < 8; ++i)
        for (int k = 0; k < 4; ++k) sums[k] += x[8 * k + i] * (i + 1);  // -> uninitialised_read
    for (int k = 0; k < 4; ++k) out[4 * t + k] = sums[k];
}
ENTRY(one_accumulator_forgotten, 1, 32, 0)

__global__ void no_accumulator_forgotten_ok(const int* x, int* out, int n) {
    const int t = threadIdx.x;
    int sums[4];
    for (int k = 0; k < 4; ++k) sums[k] = 0;
#pragma unroll 1
    for (int i = 0; i < 8; ++i)
        for (int k = 0; k < 4; ++k) sums[k] += x[8 * k + i] * (i + 1);
    for (int k = 0; k < 4; ++k) out[4 * t + k] = sums[k];
}
ENTRY(no_accumulator_forgotten_ok, 1, 32, 0)

// ---- read-only loads -----------------------------------------------------------------------------------------------

__global__ void promised_not_to_change(const int* x, int* out, int n) {
    const int t = threadIdx.x;
    out[t] = x[t];  // -> read_only_violation
    __syncthreads();
    out[64 + t] = __ldg(out + 63 - t);  // -> read_only_violation
}
ENTRY(promised_not_to_change, 1, 64, 0)

__global__ void promise_kept_ok(const int* x, int* out, int n) {
    const int t = threadIdx.x;
    out[t] = __ldg(x + t);
    __syncthreads();
    out[64 + t] = out[63 - t];
}
ENTRY(promise_kept_ok, 1, 64, 0)

// A value that nvcc loads before it is known whether it is wanted.
__global__ void chosen_before_it_is_written(const int* x, int* out, int n) {
    __shared__ int total[2];
    const int t = threadIdx.x;
    if (n > 1000 && t == 0) total[1] = x[0];
    __syncthreads();
    const int value = n < 1000 ? total[1] : t;  // -> uninitialised_read
    out[t] = value + 1;
}
ENTRY(chosen_before_it_is_written, 1, 128, 0)

__global__ void dropped_where_it_is_not_written_ok(const int* x, int* out, int n) {
    __shared__ int total[2];
    const int t = threadIdx.x;
    if (n > 1000 && t == 0) total[1] = x[0];
    __syncthreads();
    const int value = n > 1000 ? total[1] : t;
    out[t] = value + 1;
}
ENTRY(dropped_where_it_is_not_written_ok, 1, 128, 0)
