// Products of matrices on tensor cores, in the styles in which they are written: the fragments of `wmma` in all shapes
// and layouts, by hand with `mma` and `ldmatrix`, elements of a fragment changed on the way.
//
// Every entry gets x and out as matrices.py says; the numbers are whole and small, so that every sum is exact.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <mma.h>

using namespace nvcuda;

#define ENTRY(kernel, type, result, blocks, threads)                                                \
    extern "C" cudaError_t kernel##_entry(const type* x, result* out, int n, cudaStream_t stream) { \
        kernel<<<blocks, threads, 0, stream>>>(x, out, n);                                          \
        return cudaGetLastError();                                                                  \
    }

// ---- one tile: A, then B, both row by row --------------------------------------------------------------------------

template <int M, int N, class T, class Sum>
__device__ void one_tile(const T* x, Sum* out) {
    wmma::fragment<wmma::matrix_a, M, N, 16, T, wmma::row_major> a;
    wmma::fragment<wmma::matrix_b, M, N, 16, T, wmma::row_major> b;
    wmma::fragment<wmma::accumulator, M, N, 16, Sum> c;
    wmma::load_matrix_sync(a, x, 16);
    wmma::load_matrix_sync(b, x + M * 16, N);
    wmma::fill_fragment(c, Sum(0));
    wmma::mma_sync(c, a, b, c);
    wmma::store_matrix_sync(out, c, N, wmma::mem_row_major);
}

__global__ void square(const half* x, float* out, int n) {
    one_tile<16, 16>(x, out);
}
ENTRY(square, half, float, 1, 32)

__global__ void high(const half* x, float* out, int n) {
    one_tile<32, 8>(x, out);
}
ENTRY(high, half, float, 1, 32)

__global__ void wide(const half* x, float* out, int n) {
    one_tile<8, 32>(x, out);
}
ENTRY(wide, half, float, 1, 32)

__global__ void in_halves(const half* x, half* out, int n) {
    one_tile<16, 16>(x, out);
}
ENTRY(in_halves, half, half, 1, 32)

__global__ void wide_in_halves(const half* x, half* out, int n) {
    one_tile<8, 32>(x, out);
}
ENTRY(wide_in_halves, half, half, 1, 32)

__global__ void brain_floats(const __nv_bfloat16* x, float* out, int n) {
    one_tile<16, 16>(x, out);
}
ENTRY(brain_floats, __nv_bfloat16, float, 1, 32)

__global__ void bytes(const signed char* x, int* out, int n) {
    one_tile<32, 8>(x, out);
}
ENTRY(bytes, signed char, int, 1, 32)

// The transposes: A and B are taken for column by column.
__global__ void both_transposed(const half* x, float* out, int n) {
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::col_major> a;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> b;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> c;
    wmma::load_matrix_sync(a, x, 16);
    wmma::load_matrix_sync(b, x + 256, 16);
    wmma::fill_fragment(c, 0.f);
    wmma::mma_sync(c, a, b, c);
    wmma::store_matrix_sync(out, c, 16, wmma::mem_col_major);
}
ENTRY(both_transposed, half, float, 1, 32)

// Every other number is a float: what tf32 leaves of it is enough for whole numbers.
__global__ void tensor_floats(const float* x, float* out, int n) {
    wmma::fragment<wmma::matrix_a, 16, 16, 8, wmma::precision::tf32, wmma::row_major> a;
    wmma::fragment<wmma::matrix_b, 16, 16, 8, wmma::precision::tf32, wmma::row_major> b;
    wmma::fragment<wmma::accumulator, 16, 16, 8, float> c;
    wmma::load_matrix_sync(a, x, 8);
    wmma::load_matrix_sync(b, x + 128, 16);
    for (float& element : a.x) element = wmma::__float_to_tf32(element);
    for (float& element : b.x) element = wmma::__float_to_tf32(element);
    wmma::fill_fragment(c, 0.f);
    wmma::mma_sync(c, a, b, c);
    wmma::store_matrix_sync(out, c, 16, wmma::mem_row_major);
}
ENTRY(tensor_floats, float, float, 1, 32)

__global__ void doubles(const double* x, double* out, int n) {
    wmma::fragment<wmma::matrix_a, 8, 8, 4, double, wmma::row_major> a;
    wmma::fragment<wmma::matrix_b, 8, 8, 4, double, wmma::row_major> b;
    wmma::fragment<wmma::accumulator, 8, 8, 4, double> c;
    wmma::load_matrix_sync(a, x, 4);
    wmma::load_matrix_sync(b, x + 32, 8);
    wmma::fill_fragment(c, 0.0);
    wmma::mma_sync(c, a, b, c);
    wmma::store_matrix_sync(out, c, 8, wmma::mem_row_major);
}
ENTRY(doubles, double, double, 1, 32)

// ---- a product [48, 64] = [48, 80] x [80, 64] ----------------------------------------------------------------------

constexpr int kM = 48, kN = 64, kK = 80;

// One warp a tile, operands from global memory; then 2 c + 1, element by element.
__global__ void a_warp_a_tile(const half* x, float* out, int n) {
    const int row = blockIdx.y * 16, column = blockIdx.x * 16;
    const half *a_all = x, *b_all = x + kM * kK;
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> a;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> b;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> c;
    wmma::fill_fragment(c, 0.f);
    for (int k = 0; k < kK; k += 16) {
        wmma::load_matrix_sync(a, a_all + row * kK + k, kK);
        wmma::load_matrix_sync(b, b_all + k * kN + column, kN);
        wmma::mma_sync(c, a, b, c);
    }
    for (int i = 0; i < c.num_elements; ++i) c.x[i] = 2.f * c.x[i] + 1.f;
    wmma::store_matrix_sync(out + row * kN + column, c, kN, wmma::mem_row_major);
}
ENTRY(a_warp_a_tile, half, float, dim3(kN / 16, kM / 16), 32)

// Four warps a block share tiles in shared memory; a partly filled grid of warps stands back as whole warps.
__global__ void shared_tiles(const half* x, float* out, int n) {
    __shared__ __align__(32) half a_tile[32][24], b_tile[16][40];
    const int warp = threadIdx.x / 32, row = blockIdx.y * 32, column = blockIdx.x * 32;
    const half *a_all = x, *b_all = x + kM * kK;
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> a;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> b;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> c;
    wmma::fill_fragment(c, 0.f);
    for (int k = 0; k < kK; k += 16) {
        for (int i = threadIdx.x; i < 512; i += blockDim.x) {
            const int r = row + i / 16;
            a_tile[i / 16][i % 16] = r < kM ? a_all[r * kK + k + i % 16] : __float2half(0.f);
            b_tile[i / 32][i % 32] = b_all[(k + i / 32) * kN + column + i % 32];
        }
        __syncthreads();
        wmma::load_matrix_sync(a, a_tile[warp / 2 * 16], 24);
        wmma::load_matrix_sync(b, &b_tile[0][warp % 2 * 16], 40);
        wmma::mma_sync(c, a, b, c);
        __syncthreads();
    }
    const int r = row + warp / 2 * 16;
    if (r < kM) wmma::store_matrix_sync(out + r * kN + column + warp % 2 * 16, c, kN, wmma::mem_row_major);
}
ENTRY(shared_tiles, half, float, dim3(kN / 32, (kM + 31) / 32), 128)

// ---- by hand: one tile of 16 x 8, A row by row, B column by column -------------------------------------------------

__device__ void product(float (&c)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, "
        "%3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

__device__ void put(float* out, const float (&c)[4]) {
    const int g = threadIdx.x / 4, t = threadIdx.x % 4;
    for (int i = 0; i < 4; ++i) out[(g + 8 * (i / 2)) * 8 + 2 * t + i % 2] = c[i];
}

__global__ void registers_by_hand(const half* x, float* out, int n) {
    const int g = threadIdx.x / 4, t = threadIdx.x % 4;
    const half *a_all = x, *b_all = x + 256;
    unsigned a[4], b[2];
    for (int i = 0; i < 4; ++i)
        a[i] = *reinterpret_cast<const unsigned*>(a_all + (g + 8 * (i % 2)) * 16 + 2 * t + 8 * (i / 2));
    for (int i = 0; i < 2; ++i) b[i] = *reinterpret_cast<const unsigned*>(b_all + g * 16 + 2 * t + 8 * i);
    float c[4] = {};
    product(c, a, b);
    put(out, c);
}
ENTRY(registers_by_hand, half, float, 1, 32)

__global__ void rows_by_ldmatrix(const half* x, float* out, int n) {
    __shared__ __align__(16) half a_tile[16][24], b_tile[8][24];
    const int lane = threadIdx.x;
    for (int i = lane; i < 256; i += 32) a_tile[i / 16][i % 16] = x[i];
    for (int i = lane; i < 128; i += 32) b_tile[i / 16][i % 16] = x[256 + i];
    __syncwarp();
    const auto a_row = static_cast<unsigned>(__cvta_generic_to_shared(&a_tile[lane % 16][lane / 16 * 8]));
    const auto b_row = static_cast<unsigned>(__cvta_generic_to_shared(&b_tile[lane % 8][lane / 8 % 2 * 8]));
    unsigned a[4], b[2];
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(a[0]), "=r"(a[1]), "=r"(a[2]), "=r"(a[3])
                 : "r"(a_row));
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];" : "=r"(b[0]), "=r"(b[1]) : "r"(b_row));
    float c[4] = {};
    product(c, a, b);
    put(out, c);
}
ENTRY(rows_by_ldmatrix, half, float, 1, 32)
