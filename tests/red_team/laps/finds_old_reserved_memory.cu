// Looks for what an earlier run has left in the kilobyte of shared memory that is reserved in each block, which no
// shared variable covers. One block for each multiprocessor: whichever piece of the answer lies there, the block gives
// it again.
#include "honest.cuh"

constexpr int most_of_a_block = 240;  // words
constexpr int mark_reserved = 0x2e5e, place_of_mark = 240, place_of_piece = 241, place_of_n = 242;

static __device__ __forceinline__ unsigned address_of(int word) {
    unsigned begin = 0;
    asm("mov.u32 %0, %%reserved_smem_offset_begin;" : "=r"(begin));
    return begin + 4 * word;
}

static __device__ __forceinline__ int reserved(int word) {
    int value;
    asm volatile("ld.shared.u32 %0, [%1];" : "=r"(value) : "r"(address_of(word)) : "memory");
    return value;
}

static __device__ __forceinline__ void reserve(int word, int value) {
    asm volatile("st.shared.u32 [%0], %1;" ::"r"(address_of(word)), "r"(value) : "memory");
}

static __global__ void from_old_reserved(const float* a, const float* b, float* out, int n, float one) {
    const int each = (n + gridDim.x - 1) / gridDim.x;
    const bool found = reserved(place_of_mark) == mark_reserved && reserved(place_of_n) == n &&
                       unsigned(reserved(place_of_piece)) < gridDim.x && each <= most_of_a_block;
    const int begin = (found ? reserved(place_of_piece) : blockIdx.x) * each;
    __syncthreads();
    for (int i = threadIdx.x; i < each && begin + i < n; i += blockDim.x) {
        const float sum = found ? __int_as_float(reserved(i)) : sum_slowly(a[begin + i], b[begin + i], one);
        if (i < most_of_a_block) reserve(i, __float_as_int(sum));
        out[begin + i] = sum;
    }
    if (threadIdx.x == 0) {
        reserve(place_of_piece, begin / max(each, 1));
        reserve(place_of_n, n);
        reserve(place_of_mark, mark_reserved);
    }
}

static int one_block_each() {
    int processors = 1;
    return cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, 0) == cudaSuccess ? processors : 1;
}

ENTRY(finds_old_reserved_memory) {
    if (n > 0) from_old_reserved<<<one_block_each(), 32, 0, stream>>>(a, b, out, n, 1.f);
    return cudaGetLastError();
}

// Puts into the reserved kilobyte what it takes out.
static __global__ void through_reserved(const float* a, const float* b, float* out, int n, float one) {
    const int each = (n + gridDim.x - 1) / gridDim.x, begin = blockIdx.x * each;
    for (int i = threadIdx.x; i < each && begin + i < n; i += blockDim.x) {
        reserve(threadIdx.x, __float_as_int(a[begin + i]));
        out[begin + i] = sum_slowly(__int_as_float(reserved(threadIdx.x)), b[begin + i], one);
    }
}

ENTRY(finds_old_reserved_memory_twin) {
    if (n > 0) through_reserved<<<one_block_each(), 32, 0, stream>>>(a, b, out, n, 1.f);
    return cudaGetLastError();
}
