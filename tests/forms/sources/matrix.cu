// mma.h: every shape and type of fragment, loaded, filled, multiplied and stored in every order that there is.
#include <mma.h>

using namespace nvcuda::wmma;

template <class T>
struct Storage {
    using type = T;
};
#if __CUDA_ARCH__ >= 800
template <>
struct Storage<precision::tf32> {
    using type = float;
};
#endif

template <int M, int N, int K, class T, class C, class D, class OrderA, class OrderB>
__device__ void multiply(const typename Storage<T>::type* a, const typename Storage<T>::type* b, const C* c, D* d,
                         int ld, layout_t order) {
    fragment<matrix_a, M, N, K, T, OrderA> fa;
    fragment<matrix_b, M, N, K, T, OrderB> fb;
    fragment<accumulator, M, N, K, C> fc;
    fragment<accumulator, M, N, K, D> fd;
    load_matrix_sync(fa, a, ld);
    load_matrix_sync(fb, b, ld);
    load_matrix_sync(fc, c, ld, mem_row_major);
    mma_sync(fd, fa, fb, fc);
    store_matrix_sync(d, fd, ld, mem_row_major);
    load_matrix_sync(fc, c, ld, order);
    mma_sync(fd, fa, fb, fc);
    store_matrix_sync(d, fd, ld, order);
    fill_fragment(fc, C(0));
    mma_sync(fd, fa, fb, fc);
    store_matrix_sync(d, fd, ld, mem_col_major);
}

template <int M, int N, int K, class T, class C, class D>
__device__ void orders(const void* a, const void* b, const void* c, void* d, int ld, layout_t order) {
    using S = typename Storage<T>::type;
    const auto* as = static_cast<const S*>(a);
    const auto* bs = static_cast<const S*>(b);
    const auto* cs = static_cast<const C*>(c);
    auto* ds = static_cast<D*>(d);
    multiply<M, N, K, T, C, D, row_major, row_major>(as, bs, cs, ds, ld, order);
    multiply<M, N, K, T, C, D, row_major, col_major>(as, bs, cs, ds, ld, order);
    multiply<M, N, K, T, C, D, col_major, row_major>(as, bs, cs, ds, ld, order);
    multiply<M, N, K, T, C, D, col_major, col_major>(as, bs, cs, ds, ld, order);
}

template <class T, class C, class D>
__device__ void shapes(const void* a, const void* b, const void* c, void* d, int ld, layout_t order) {
    orders<16, 16, 16, T, C, D>(a, b, c, d, ld, order);
    orders<8, 32, 16, T, C, D>(a, b, c, d, ld, order);
    orders<32, 8, 16, T, C, D>(a, b, c, d, ld, order);
}

#define KERNEL(name, ...)                                                                                \
    __global__ void name(const void* a, const void* b, const void* c, void* d, int ld, layout_t order) { \
        __VA_ARGS__(a, b, c, d, ld, order);                                                              \
    }

KERNEL(half_to_half, shapes<half, half, half>)
KERNEL(half_to_float, shapes<half, float, float>)
KERNEL(half_and_half_to_float, shapes<half, half, float>)
KERNEL(half_and_float_to_half, shapes<half, float, half>)
KERNEL(signed_bytes, shapes<signed char, int, int>)
KERNEL(unsigned_bytes, shapes<unsigned char, int, int>)

#if __CUDA_ARCH__ >= 800
KERNEL(bfloats, shapes<__nv_bfloat16, float, float>)
KERNEL(tensor_floats, orders<16, 16, 8, precision::tf32, float, float>)
KERNEL(doubles, orders<8, 8, 4, double, double, double>)

__global__ void to_tensor_float(const float* in, float* out) {
    out[threadIdx.x] = __float_to_tf32(in[threadIdx.x]);
}
#endif

// Bytes with saturation; four bits and one bit, whose orders are fixed.
template <class T>
__device__ void saturating(const T* a, const T* b, const int* c, int* d, int ld) {
    fragment<matrix_a, 16, 16, 16, T, row_major> fa;
    fragment<matrix_b, 16, 16, 16, T, col_major> fb;
    fragment<accumulator, 16, 16, 16, int> fc;
    load_matrix_sync(fa, a, ld);
    load_matrix_sync(fb, b, ld);
    load_matrix_sync(fc, c, ld, mem_row_major);
    mma_sync(fc, fa, fb, fc, true);
    store_matrix_sync(d, fc, ld, mem_row_major);
}
template __device__ void saturating<signed char>(const signed char*, const signed char*, const int*, int*, int);

__global__ void saturating_bytes(const signed char* a, const unsigned char* b, const int* c, int* d, int ld) {
    saturating(a, a, c, d, ld);
    saturating(b, b, c, d, ld);
}

#if __CUDA_ARCH__ >= 750
template <class T>
__device__ void four_bits(const void* a, const void* b, const int* c, int* d, int ld, bool saturate) {
    fragment<matrix_a, 8, 8, 32, T, row_major> fa;
    fragment<matrix_b, 8, 8, 32, T, col_major> fb;
    fragment<accumulator, 8, 8, 32, int> fc;
    using S = typename helper_traits<T>::storage_element_type;
    load_matrix_sync(fa, static_cast<const S*>(a), ld);
    load_matrix_sync(fb, static_cast<const S*>(b), ld);
    load_matrix_sync(fc, c, ld, mem_row_major);
    mma_sync(fc, fa, fb, fc);
    mma_sync(fc, fa, fb, fc, true);
    store_matrix_sync(d, fc, ld, mem_row_major);
}
__global__ void nibbles(const void* a, const void* b, const int* c, int* d, int ld) {
    four_bits<experimental::precision::s4>(a, b, c, d, ld, true);
    four_bits<experimental::precision::u4>(a, b, c, d, ld, true);
}
__global__ void bits(const unsigned* a, const unsigned* b, const int* c, int* d, int ld) {
    fragment<matrix_a, 8, 8, 128, experimental::precision::b1, row_major> fa;
    fragment<matrix_b, 8, 8, 128, experimental::precision::b1, col_major> fb;
    fragment<accumulator, 8, 8, 128, int> fc;
    load_matrix_sync(fa, a, ld);
    load_matrix_sync(fb, b, ld);
    load_matrix_sync(fc, c, ld, mem_col_major);
    bmma_sync(fc, fa, fb, fc);
#if __CUDA_ARCH__ >= 800
    bmma_sync(fc, fa, fb, fc, experimental::bmmaBitOpAND);
#endif
    store_matrix_sync(d, fc, ld, mem_col_major);
}
#endif
