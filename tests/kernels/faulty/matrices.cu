// Matrix operations with one thing wrong; beside each a near twin that is right (`…_ok`).
//
// `// -> kind` marks a line that a finding of that kind names (of several kinds, one is enough); every line that a
// finding names is marked. Every entry gets x[n] and out[n], n = 128, which are 256 `half` each here: a matrix of 16 x
// 16; tests/test_faulty_kernels.py runs them all.
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <mma.h>

using namespace nvcuda;

using A = wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major>;
using B = wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major>;
using C = wmma::fragment<wmma::accumulator, 16, 16, 16, half>;
using F = wmma::fragment<wmma::accumulator, 16, 16, 16, float>;

#define ENTRY(kernel, blocks, threads)                                                                                 \
    extern "C" cudaError_t kernel##_entry(const int* x, int* out, int n, cudaStream_t stream) {                        \
        kernel<<<blocks, threads, 0, stream>>>(reinterpret_cast<const half*>(x), reinterpret_cast<half*>(out), 2 * n); \
        return cudaGetLastError();                                                                                     \
    }

// ---- lanes that do not come ----------------------------------------------------------------------------------------

__global__ void half_a_warp(const half* x, half* out, int n) {
    C c;
    wmma::fill_fragment(c, __float2half(1.f));
    if (threadIdx.x % 32 < 16) wmma::store_matrix_sync(out, c, 16, wmma::mem_row_major);  // -> bad_sync_mask
}
ENTRY(half_a_warp, 1, 32)

__global__ void a_whole_warp_of_two_ok(const half* x, half* out, int n) {
    C c;
    wmma::fill_fragment(c, __float2half(1.f));
    if (threadIdx.x < 32) wmma::store_matrix_sync(out, c, 16, wmma::mem_row_major);
}
ENTRY(a_whole_warp_of_two_ok, 1, 64)

__global__ void some_have_returned(const half* x, half* out, int n) {
    if (__half2float(x[threadIdx.x]) < -1e9f || threadIdx.x >= 20) return;
    A a;
    wmma::load_matrix_sync(a, x, 16);  // -> bad_sync_mask
    out[threadIdx.x] = a.x[0];
}
ENTRY(some_have_returned, 1, 32)

__global__ void all_have_returned_ok(const half* x, half* out, int n) {
    if (threadIdx.x >= 32) return;
    A a;
    wmma::load_matrix_sync(a, x, 16);
    out[threadIdx.x] = a.x[0];
}
ENTRY(all_have_returned_ok, 1, 64)

__global__ void a_partial_warp(const half* x, half* out, int n) {
    A a;
    wmma::load_matrix_sync(a, x, 16);  // -> bad_sync_mask
    out[threadIdx.x] = a.x[0];
}
ENTRY(a_partial_warp, 1, 48)

__global__ void whole_warps_ok(const half* x, half* out, int n) {
    A a;
    wmma::load_matrix_sync(a, x, 16);
    out[threadIdx.x] = a.x[0];
}
ENTRY(whole_warps_ok, 1, 64)

__global__ void product_in_a_branch(const half* x, half* out, int n) {
    A a;
    B b;
    F c;
    wmma::load_matrix_sync(a, x, 16);
    wmma::load_matrix_sync(b, x, 16);
    wmma::fill_fragment(c, 0.f);
    if (threadIdx.x != 5) wmma::mma_sync(c, a, b, c);  // -> bad_sync_mask
    out[threadIdx.x] = __float2half(c.x[0]);
}
ENTRY(product_in_a_branch, 1, 32)

__global__ void product_behind_a_branch_ok(const half* x, half* out, int n) {
    A a;
    B b;
    F c;
    wmma::load_matrix_sync(a, x, 16);
    wmma::load_matrix_sync(b, x, 16);
    wmma::fill_fragment(c, 0.f);
    if (threadIdx.x != 5) c.x[0] = 1.f;
    wmma::mma_sync(c, a, b, c);
    out[threadIdx.x] = __float2half(c.x[0]);
}
ENTRY(product_behind_a_branch_ok, 1, 32)

// ---- alignment -----------------------------------------------------------------------------------------------------

__global__ void one_element_further(const half* x, half* out, int n) {
    A a;
    wmma::load_matrix_sync(a, x + 1, 8);  // -> misaligned_access
    out[threadIdx.x] = a.x[0];
}
ENTRY(one_element_further, 1, 32)

__global__ void sixteen_elements_further_ok(const half* x, half* out, int n) {
    A a;
    wmma::load_matrix_sync(a, x + 16, 8);
    out[threadIdx.x] = a.x[0];
}
ENTRY(sixteen_elements_further_ok, 1, 32)

__global__ void padded_by_one(const half* x, half* out, int n) {
    __shared__ __align__(32) half tile[16][17];
    for (int i = threadIdx.x; i < 256; i += 32) tile[i / 16][i % 16] = x[i];
    __syncthreads();
    A a;
    wmma::load_matrix_sync(a, tile[0], 17);  // -> misaligned_access
    out[threadIdx.x] = a.x[0];
}
ENTRY(padded_by_one, 1, 32)

__global__ void padded_by_eight_ok(const half* x, half* out, int n) {
    __shared__ __align__(32) half tile[16][24];
    for (int i = threadIdx.x; i < 256; i += 32) tile[i / 16][i % 16] = x[i];
    __syncthreads();
    A a;
    wmma::load_matrix_sync(a, tile[0], 24);
    out[threadIdx.x] = a.x[0];
}
ENTRY(padded_by_eight_ok, 1, 32)

__global__ void stored_at_an_odd_place(const half* x, half* out, int n) {
    __shared__ __align__(32) half tile[256 + 8];
    C c;
    wmma::fill_fragment(c, __float2half(1.f));
    wmma::store_matrix_sync(tile + 8, c, 16, wmma::mem_row_major);  // -> misaligned_access
}
ENTRY(stored_at_an_odd_place, 1, 32)

__global__ void stored_at_an_even_place_ok(const half* x, half* out, int n) {
    __shared__ __align__(32) half tile[256 + 16];
    C c;
    wmma::fill_fragment(c, __float2half(1.f));
    wmma::store_matrix_sync(tile + 16, c, 16, wmma::mem_row_major);
    __syncwarp();
    out[threadIdx.x] = tile[16 + threadIdx.x];
}
ENTRY(stored_at_an_even_place_ok, 1, 32)

// ---- outside -------------------------------------------------------------------------------------------------------

__global__ void a_row_too_far(const half* x, half* out, int n) {
    A a;
    wmma::load_matrix_sync(a, x + 16, 16);  // -> out_of_bounds_read
    out[threadIdx.x] = a.x[0];
}
ENTRY(a_row_too_far, 1, 32)

__global__ void to_the_last_row_ok(const half* x, half* out, int n) {
    A a;
    wmma::load_matrix_sync(a, x, 16);
    out[threadIdx.x] = a.x[0];
}
ENTRY(to_the_last_row_ok, 1, 32)

__global__ void rows_too_far_apart(const half* x, half* out, int n) {
    C c;
    wmma::fill_fragment(c, __float2half(1.f));
    wmma::store_matrix_sync(out, c, 24, wmma::mem_row_major);  // -> out_of_bounds_write
}
ENTRY(rows_too_far_apart, 1, 32)

__global__ void rows_close_enough_ok(const half* x, half* out, int n) {
    C c;
    wmma::fill_fragment(c, __float2half(1.f));
    wmma::store_matrix_sync(out, c, 16, wmma::mem_row_major);
}
ENTRY(rows_close_enough_ok, 1, 32)

__global__ void beyond_the_tile(const half* x, half* out, int n) {
    __shared__ __align__(32) half tile[15 * 16];
    for (int i = threadIdx.x; i < 240; i += 32) tile[i] = x[i];
    __syncthreads();
    A a;
    wmma::load_matrix_sync(a, tile, 16);  // -> out_of_bounds_read
    out[threadIdx.x] = a.x[0];
}
ENTRY(beyond_the_tile, 1, 32)

__global__ void within_the_tile_ok(const half* x, half* out, int n) {
    __shared__ __align__(32) half tile[16 * 16];
    for (int i = threadIdx.x; i < 256; i += 32) tile[i] = x[i];
    __syncthreads();
    A a;
    wmma::load_matrix_sync(a, tile, 16);
    out[threadIdx.x] = a.x[0];
}
ENTRY(within_the_tile_ok, 1, 32)

// ---- without a value -----------------------------------------------------------------------------------------------

__global__ void never_filled(const half* x, half* out, int n) {
    A a;
    B b;
    C c;
    wmma::load_matrix_sync(a, x, 16);
    wmma::load_matrix_sync(b, x, 16);
    wmma::mma_sync(c, a, b, c);  // -> uninitialised_read
    wmma::store_matrix_sync(out, c, 16, wmma::mem_row_major);
}
ENTRY(never_filled, 1, 32)

__global__ void filled_ok(const half* x, half* out, int n) {
    A a;
    B b;
    C c;
    wmma::load_matrix_sync(a, x, 16);
    wmma::load_matrix_sync(b, x, 16);
    wmma::fill_fragment(c, __float2half(0.f));
    wmma::mma_sync(c, a, b, c);
    wmma::store_matrix_sync(out, c, 16, wmma::mem_row_major);
}
ENTRY(filled_ok, 1, 32)

__global__ void never_filled_in_a_loop(const half* x, half* out, int n) {
    A a;
    B b;
    F c;
    for (int k = 0; k < n / 256; ++k) {
        wmma::load_matrix_sync(a, x + 256 * k, 16);
        wmma::load_matrix_sync(b, x + 256 * k, 16);
        wmma::mma_sync(c, a, b, c);  // -> uninitialised_read
    }
    out[threadIdx.x] = __float2half(c.x[0]);
}
ENTRY(never_filled_in_a_loop, 1, 32)

__global__ void filled_before_the_loop_ok(const half* x, half* out, int n) {
    A a;
    B b;
    F c;
    wmma::fill_fragment(c, 0.f);
    for (int k = 0; k < n / 256; ++k) {
        wmma::load_matrix_sync(a, x + 256 * k, 16);
        wmma::load_matrix_sync(b, x + 256 * k, 16);
        wmma::mma_sync(c, a, b, c);
    }
    out[threadIdx.x] = __float2half(c.x[0]);
}
ENTRY(filled_before_the_loop_ok, 1, 32)

__global__ void half_a_tile_written(const half* x, half* out, int n) {
    __shared__ __align__(32) half tile[256];
    for (int i = threadIdx.x; i < 128; i += 32) tile[i] = x[i];
    __syncthreads();
    A a;
    wmma::load_matrix_sync(a, tile, 16);  // -> uninitialised_read
    out[threadIdx.x] = a.x[0];
}
ENTRY(half_a_tile_written, 1, 32)

__global__ void a_tile_written_ok(const half* x, half* out, int n) {
    __shared__ __align__(32) half tile[256];
    for (int i = threadIdx.x; i < 256; i += 32) tile[i] = i < 128 ? x[i] : __float2half(0.f);
    __syncthreads();
    A a;
    wmma::load_matrix_sync(a, tile, 16);
    out[threadIdx.x] = a.x[0];
}
ENTRY(a_tile_written_ok, 1, 32)

// ---- not in order --------------------------------------------------------------------------------------------------

__global__ void staged_without_a_barrier(const half* x, half* out, int n) {
    __shared__ __align__(32) half tile[256];
    for (int i = threadIdx.x; i < 256; i += 64) tile[i] = x[i];  // -> data_race
    A a;
    wmma::load_matrix_sync(a, tile, 16);  // -> data_race, uninitialised_read
    out[threadIdx.x] = a.x[0];
}
ENTRY(staged_without_a_barrier, 1, 64)

__global__ void staged_with_a_barrier_ok(const half* x, half* out, int n) {
    __shared__ __align__(32) half tile[256];
    for (int i = threadIdx.x; i < 256; i += 64) tile[i] = x[i];
    __syncthreads();
    A a;
    wmma::load_matrix_sync(a, tile, 16);
    out[threadIdx.x] = a.x[0];
}
ENTRY(staged_with_a_barrier_ok, 1, 64)

__global__ void stored_and_read_at_once(const half* x, half* out, int n) {
    __shared__ __align__(32) half tile[256];
    C c;
    wmma::load_matrix_sync(c, x, 16, wmma::mem_row_major);
    wmma::store_matrix_sync(tile, c, 16, wmma::mem_row_major);           // -> data_race
    for (int i = threadIdx.x; i < 256; i += 32) out[i] = tile[255 - i];  // -> data_race
}
ENTRY(stored_and_read_at_once, 1, 32)

__global__ void stored_and_read_in_order_ok(const half* x, half* out, int n) {
    __shared__ __align__(32) half tile[256];
    C c;
    wmma::load_matrix_sync(c, x, 16, wmma::mem_row_major);
    wmma::store_matrix_sync(tile, c, 16, wmma::mem_row_major);
    __syncwarp();
    for (int i = threadIdx.x; i < 256; i += 32) out[i] = tile[255 - i];
}
ENTRY(stored_and_read_in_order_ok, 1, 32)

__global__ void the_next_tile_too_early(const half* x, half* out, int n) {
    __shared__ __align__(32) half tile[256];
    A a;
    for (int k = 0; k < 2; ++k) {
        for (int i = threadIdx.x; i < 256; i += 64) tile[i] = __hadd(x[i], __int2half_rn(k));  // -> data_race
        __syncthreads();
        wmma::load_matrix_sync(a, tile, 16);  // -> data_race
    }
    out[threadIdx.x] = a.x[0];
}
ENTRY(the_next_tile_too_early, 1, 64)

__global__ void the_next_tile_in_time_ok(const half* x, half* out, int n) {
    __shared__ __align__(32) half tile[256];
    A a;
    for (int k = 0; k < 2; ++k) {
        __syncthreads();
        for (int i = threadIdx.x; i < 256; i += 64) tile[i] = __hadd(x[i], __int2half_rn(k));
        __syncthreads();
        wmma::load_matrix_sync(a, tile, 16);
    }
    out[threadIdx.x] = a.x[0];
}
ENTRY(the_next_tile_in_time_ok, 1, 64)

__global__ void two_warps_one_result(const half* x, half* out, int n) {
    C c;
    wmma::fill_fragment(c, __int2half_rn(threadIdx.x / 32));
    wmma::store_matrix_sync(out, c, 16, wmma::mem_row_major);  // -> data_race
}
ENTRY(two_warps_one_result, 1, 64)

__global__ void two_warps_two_results_ok(const half* x, half* out, int n) {
    wmma::fragment<wmma::accumulator, 8, 32, 16, half> c;
    wmma::fill_fragment(c, __int2half_rn(threadIdx.x / 32));
    if (threadIdx.x < 32) wmma::store_matrix_sync(out, c, 32, wmma::mem_row_major);
}
ENTRY(two_warps_two_results_ok, 1, 64)

// ---- ldmatrix ------------------------------------------------------------------------------------------------------

#define LOAD_ROWS(word, row)                                            \
    asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];" \
                 : "=r"(word)                                           \
                 : "r"(static_cast<unsigned>(__cvta_generic_to_shared(row))))

__global__ void rows_between_rows(const half* x, half* out, int n) {
    __shared__ __align__(32) half tile[256];
    for (int i = threadIdx.x; i < 256; i += 32) tile[i] = x[i];
    __syncthreads();
    unsigned word;
    LOAD_ROWS(word, tile + 4 * (threadIdx.x % 8));  // -> misaligned_access
    out[threadIdx.x] = __ushort_as_half(static_cast<unsigned short>(word));
}
ENTRY(rows_between_rows, 1, 32)

__global__ void rows_at_rows_ok(const half* x, half* out, int n) {
    __shared__ __align__(32) half tile[256];
    for (int i = threadIdx.x; i < 256; i += 32) tile[i] = x[i];
    __syncthreads();
    unsigned word;
    LOAD_ROWS(word, tile + 16 * (threadIdx.x % 8));
    out[threadIdx.x] = __ushort_as_half(static_cast<unsigned short>(word));
}
ENTRY(rows_at_rows_ok, 1, 32)

__global__ void rows_of_others(const half* x, half* out, int n) {
    __shared__ __align__(32) half tile[256];
    for (int i = 0; i < 8; ++i) tile[8 * threadIdx.x + i] = x[i];  // -> data_race
    unsigned word;
    LOAD_ROWS(word, tile + 16 * (threadIdx.x % 8));  // -> data_race
    out[threadIdx.x] = __ushort_as_half(static_cast<unsigned short>(word));
}
ENTRY(rows_of_others, 1, 32)

__global__ void rows_of_others_in_order_ok(const half* x, half* out, int n) {
    __shared__ __align__(32) half tile[256];
    for (int i = 0; i < 8; ++i) tile[8 * threadIdx.x + i] = x[i];
    __syncwarp();
    unsigned word;
    LOAD_ROWS(word, tile + 16 * (threadIdx.x % 8));
    out[threadIdx.x] = __ushort_as_half(static_cast<unsigned short>(word));
}
ENTRY(rows_of_others_in_order_ok, 1, 32)
