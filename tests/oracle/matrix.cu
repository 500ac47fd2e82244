// What a GPU does with matrices: where fragments keep their elements, and how products are rounded.
// Launched by tests/gpu/oracle_matrix.py. Every kernel is one warp a tile; words are stored as they are.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <mma.h>

#include <cstdint>

using namespace nvcuda;

// ---- products of registers: a tile has A, B and C in the words of its 32 lanes, and gives D
// --------------------------

template <int N>
__device__ void load(uint32_t (&to)[N], const uint32_t* from) {
    const size_t lane = blockIdx.x * 32 + threadIdx.x;
    for (int i = 0; i < N; ++i) to[i] = from[lane * N + i];
}

template <int N>
__device__ void store(uint32_t* to, const uint32_t (&from)[N]) {
    const size_t lane = blockIdx.x * 32 + threadIdx.x;
    for (int i = 0; i < N; ++i) to[lane * N + i] = from[i];
}

#define D2 "{%0, %1}"
#define D4 "{%0, %1, %2, %3}"
#define OUT2 "=r"(d[0]), "=r"(d[1])
#define OUT4 OUT2, "=r"(d[2]), "=r"(d[3])
#define IN1(x) "r"(x[0])
#define IN2(x) IN1(x), "r"(x[1])
#define IN4(x) IN2(x), "r"(x[2]), "r"(x[3])

#define PRODUCT(name, instruction, na, nb, nc, operands, outs)                                                   \
    extern "C" __global__ void name(const uint32_t* as, const uint32_t* bs, const uint32_t* cs, uint32_t* ds) {  \
        uint32_t a[na], b[nb], c[nc], d[nc];                                                                     \
        load(a, as), load(b, bs), load(c, cs);                                                                   \
        asm volatile("mma.sync.aligned." instruction " " operands ";" : outs : IN##na(a), IN##nb(b), IN##nc(c)); \
        store(ds, d);                                                                                            \
    }

#define A2B1C2 "{%0, %1}, {%2, %3}, {%4}, {%5, %6}"
#define A2B1C4 "{%0, %1, %2, %3}, {%4, %5}, {%6}, {%7, %8, %9, %10}"
#define A4B2C2 "{%0, %1}, {%2, %3, %4, %5}, {%6, %7}, {%8, %9}"
#define A4B2C4 "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %11, %12, %13}"

PRODUCT(m16n8k8_f32_f16, "m16n8k8.row.col.f32.f16.f16.f32", 2, 1, 4, A2B1C4, OUT4)
PRODUCT(m16n8k8_f16_f16, "m16n8k8.row.col.f16.f16.f16.f16", 2, 1, 2, A2B1C2, OUT2)
PRODUCT(m16n8k8_f32_bf16, "m16n8k8.row.col.f32.bf16.bf16.f32", 2, 1, 4, A2B1C4, OUT4)
PRODUCT(m16n8k16_f32_f16, "m16n8k16.row.col.f32.f16.f16.f32", 4, 2, 4, A4B2C4, OUT4)
PRODUCT(m16n8k16_f16_f16, "m16n8k16.row.col.f16.f16.f16.f16", 4, 2, 2, A4B2C2, OUT2)
PRODUCT(m16n8k16_f32_bf16, "m16n8k16.row.col.f32.bf16.bf16.f32", 4, 2, 4, A4B2C4, OUT4)
PRODUCT(m16n8k4_f32_tf32, "m16n8k4.row.col.f32.tf32.tf32.f32", 2, 1, 4, A2B1C4, OUT4)
PRODUCT(m16n8k8_f32_tf32, "m16n8k8.row.col.f32.tf32.tf32.f32", 4, 2, 4, A4B2C4, OUT4)

// ---- wmma: tiles of dense matrices, A and C by rows, B by columns
// ----------------------------------------------------

template <class T>
struct Storage {
    using type = T;
};
template <>
struct Storage<wmma::precision::tf32> {
    using type = float;
};

template <int M, int N, int K, class T, class CT, class DT>
__device__ void tile_product(const void* as, const void* bs, const void* cs, void* ds) {
    using S = typename Storage<T>::type;
    wmma::fragment<wmma::matrix_a, M, N, K, T, wmma::row_major> a;
    wmma::fragment<wmma::matrix_b, M, N, K, T, wmma::col_major> b;
    wmma::fragment<wmma::accumulator, M, N, K, CT> c;
    wmma::fragment<wmma::accumulator, M, N, K, DT> d;
    wmma::load_matrix_sync(a, static_cast<const S*>(as) + blockIdx.x * M * K, K);
    wmma::load_matrix_sync(b, static_cast<const S*>(bs) + blockIdx.x * K * N, K);
    wmma::load_matrix_sync(c, static_cast<const CT*>(cs) + blockIdx.x * M * N, N, wmma::mem_row_major);
    wmma::mma_sync(d, a, b, c);
    wmma::store_matrix_sync(static_cast<DT*>(ds) + blockIdx.x * M * N, d, N, wmma::mem_row_major);
}

#define TILE(name, ...)                                                                         \
    extern "C" __global__ void name(const void* as, const void* bs, const void* cs, void* ds) { \
        tile_product<__VA_ARGS__>(as, bs, cs, ds);                                              \
    }

TILE(wmma_m16n16k16_f32_f16_f32, 16, 16, 16, half, float, float)
TILE(wmma_m16n16k16_f16_f16_f16, 16, 16, 16, half, half, half)
TILE(wmma_m16n16k16_f32_f16_f16, 16, 16, 16, half, half, float)
TILE(wmma_m16n16k16_f16_f16_f32, 16, 16, 16, half, float, half)
TILE(wmma_m8n32k16_f32_f16_f32, 8, 32, 16, half, float, float)
TILE(wmma_m8n32k16_f16_f16_f16, 8, 32, 16, half, half, half)
TILE(wmma_m32n8k16_f32_f16_f32, 32, 8, 16, half, float, float)
TILE(wmma_m32n8k16_f16_f16_f16, 32, 8, 16, half, half, half)
TILE(wmma_m16n16k16_f32_bf16_f32, 16, 16, 16, __nv_bfloat16, float, float)
TILE(wmma_m8n32k16_f32_bf16_f32, 8, 32, 16, __nv_bfloat16, float, float)
TILE(wmma_m32n8k16_f32_bf16_f32, 32, 8, 16, __nv_bfloat16, float, float)
TILE(wmma_m16n16k8_f32_tf32_f32, 16, 16, 8, wmma::precision::tf32, float, float)

// ---- layouts: what a load leaves in x[i] of each lane, what a store writes
// -------------------------------------------

template <class F>
__device__ void dump(const F& fragment, uint32_t* out) {
    for (int i = 0; i < fragment.num_elements; ++i) {
        uint64_t word = 0;
        memcpy(&word, &fragment.x[i], sizeof fragment.x[i]);
        out[threadIdx.x * 16 + i] = static_cast<uint32_t>(word);
    }
    if (threadIdx.x == 0) out[512] = fragment.num_elements;
}

// A fragment of A or B: `in` numbers the elements of memory, leading dimension `ld`.
template <class Use, int M, int N, int K, class T, class Order>
__device__ void operand_layout(const void* in, uint32_t* out, int ld) {
    wmma::fragment<Use, M, N, K, T, Order> fragment;
    wmma::load_matrix_sync(fragment, static_cast<const typename Storage<T>::type*>(in), ld);
    dump(fragment, out);
}

// An accumulator, loaded; then stored, its elements numbered by lane and place.
template <int M, int N, int K, class T, wmma::layout_t Order>
__device__ void accumulator_layout(const void* in, uint32_t* out, int ld) {
    wmma::fragment<wmma::accumulator, M, N, K, T> fragment;
    wmma::load_matrix_sync(fragment, static_cast<const T*>(in), ld, Order);
    dump(fragment, out);
    for (int i = 0; i < fragment.num_elements; ++i) {
        const uint64_t word = threadIdx.x * 16 + i + 1;
        memcpy(&fragment.x[i], &word, sizeof fragment.x[i]);
    }
    wmma::store_matrix_sync(reinterpret_cast<T*>(out + 520), fragment, ld, Order);
}

#define LAYOUT(name, function, ...)                                                   \
    extern "C" __global__ void layout_##name(const void* in, uint32_t* out, int ld) { \
        function<__VA_ARGS__>(in, out, ld);                                           \
    }

#define OPERANDS(shape, T, name, M, N, K)                                                       \
    LAYOUT(shape##_a_##name##_row, operand_layout, wmma::matrix_a, M, N, K, T, wmma::row_major) \
    LAYOUT(shape##_a_##name##_col, operand_layout, wmma::matrix_a, M, N, K, T, wmma::col_major) \
    LAYOUT(shape##_b_##name##_row, operand_layout, wmma::matrix_b, M, N, K, T, wmma::row_major) \
    LAYOUT(shape##_b_##name##_col, operand_layout, wmma::matrix_b, M, N, K, T, wmma::col_major)

#define ACCUMULATORS(shape, T, name, M, N, K)                                           \
    LAYOUT(shape##_c_##name##_row, accumulator_layout, M, N, K, T, wmma::mem_row_major) \
    LAYOUT(shape##_c_##name##_col, accumulator_layout, M, N, K, T, wmma::mem_col_major)

#define SHAPE(shape, M, N, K)                     \
    OPERANDS(shape, half, f16, M, N, K)           \
    OPERANDS(shape, __nv_bfloat16, bf16, M, N, K) \
    ACCUMULATORS(shape, half, f16, M, N, K)       \
    ACCUMULATORS(shape, float, f32, M, N, K)

SHAPE(m16n16k16, 16, 16, 16)
SHAPE(m8n32k16, 8, 32, 16)
SHAPE(m32n8k16, 32, 8, 16)
OPERANDS(m16n16k8, wmma::precision::tf32, tf32, 16, 16, 8)
ACCUMULATORS(m16n16k8, float, f32, 16, 16, 8)

#define BYTES(shape, M, N, K)                   \
    OPERANDS(shape, signed char, s8, M, N, K)   \
    OPERANDS(shape, unsigned char, u8, M, N, K) \
    ACCUMULATORS(shape, int, s32, M, N, K)

BYTES(m16n16k16, 16, 16, 16)
BYTES(m8n32k16, 8, 32, 16)
BYTES(m32n8k16, 32, 8, 16)
OPERANDS(m8n8k4, double, f64, 8, 8, 4)
ACCUMULATORS(m8n8k4, double, f64, 8, 8, 4)

// ---- ldmatrix, stmatrix, movmatrix
// -----------------------------------------------------------------------------------

// Shared memory holds 16-bit words that number themselves; `rows`: the row, of 16 bytes, that each lane names.
#define LDMATRIX(name, instruction, n, registers, outs)                                                 \
    extern "C" __global__ void name(const uint32_t* rows, uint32_t* out) {                              \
        __shared__ alignas(16) uint16_t words[64 * 8];                                                  \
        for (int i = threadIdx.x; i < 64 * 8; i += 32) words[i] = i;                                    \
        __syncwarp();                                                                                   \
        uint32_t d[n];                                                                                  \
        const auto at = static_cast<uint32_t>(__cvta_generic_to_shared(words + rows[threadIdx.x] * 8)); \
        asm volatile("ldmatrix.sync.aligned." instruction " " registers ";" : outs : "r"(at));          \
        for (int i = 0; i < n; ++i) out[threadIdx.x * n + i] = d[i];                                    \
    }

LDMATRIX(ldmatrix_x1, "m8n8.x1.shared.b16", 1, "{%0}, [%1]", "=r"(d[0]))
LDMATRIX(ldmatrix_x2, "m8n8.x2.shared.b16", 2, "{%0, %1}, [%2]", OUT2)
LDMATRIX(ldmatrix_x4, "m8n8.x4.shared.b16", 4, "{%0, %1, %2, %3}, [%4]", OUT4)
LDMATRIX(ldmatrix_x1_trans, "m8n8.x1.trans.shared.b16", 1, "{%0}, [%1]", "=r"(d[0]))
LDMATRIX(ldmatrix_x2_trans, "m8n8.x2.trans.shared.b16", 2, "{%0, %1}, [%2]", OUT2)
LDMATRIX(ldmatrix_x4_trans, "m8n8.x4.trans.shared.b16", 4, "{%0, %1, %2, %3}, [%4]", OUT4)

extern "C" __global__ void movmatrix(const uint32_t* rows, uint32_t* out) {
    const uint32_t a = threadIdx.x * 2 | (threadIdx.x * 2 + 1) << 16;
    asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(out[threadIdx.x]) : "r"(a));
}
