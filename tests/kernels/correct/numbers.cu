// Types of every width, bits, and every atomic operation, in global and in shared memory.
//
// Every entry gets x[n] and writes out; what it makes stands in numbers.py under the kernel's name.
#include <cuda_runtime.h>

#define ENTRY(kernel, X, Out, blocks, threads)                                                \
    extern "C" cudaError_t kernel##_entry(const X* x, Out* out, int n, cudaStream_t stream) { \
        kernel<<<blocks, threads, 0, stream>>>(x, out, n);                                    \
        return cudaGetLastError();                                                            \
    }
#define ENTRY_FROM_ZERO(kernel, X, Out, elements, blocks, threads)                            \
    extern "C" cudaError_t kernel##_entry(const X* x, Out* out, int n, cudaStream_t stream) { \
        const cudaError_t error = cudaMemsetAsync(out, 0, (elements) * sizeof(Out), stream);  \
        if (error != cudaSuccess) return error;                                               \
        kernel<<<blocks, threads, 0, stream>>>(x, out, n);                                    \
        return cudaGetLastError();                                                            \
    }

// ---- widths --------------------------------------------------------------------------------------------------------

// Neighbours write neighbouring bytes of one word.
__global__ void bytes_backwards(const signed char* x, signed char* out, int n) {
    __shared__ signed char tile[100];
    const int t = threadIdx.x;
    if (t < n) tile[t] = x[t];
    __syncthreads();
    if (t < n) out[t] = static_cast<signed char>(tile[n - 1 - t] / 2);
}
ENTRY(bytes_backwards, signed char, signed char, 1, 128)

__global__ void shorts_from_two_blocks(const short* x, short* out, int n) {
    const int i = 2 * threadIdx.x + blockIdx.x;
    if (i < n) out[i] = static_cast<short>(x[i] * x[i]);
}
ENTRY(shorts_from_two_blocks, short, short, 2, 64)

__global__ void long_sums(const int* x, long long* out, int n) {
    __shared__ long long tile[64];
    const int t = threadIdx.x;
    tile[t] = static_cast<long long>(x[t]) << 40;
    for (int s = 32; s > 0; s >>= 1) {
        __syncthreads();
        if (t < s) tile[t] += tile[t + s];
    }
    if (t == 0) out[0] = tile[0];
}
ENTRY(long_sums, int, long long, 1, 64)

__global__ void double_sums(const int* x, double* out, int n) {
    __shared__ double total;
    const int t = threadIdx.x;
    if (t == 0) total = 0.0;
    __syncthreads();
    atomicAdd(&total, x[t] * 0.125);
    __syncthreads();
    if (t == 0) atomicAdd(out, total);
}
ENTRY_FROM_ZERO(double_sums, int, double, 1, 1, 64)

// Four bytes in one word, added and shuffled about.
__global__ void packed_bytes(const int* x, int* out, int n) {
    const int i = threadIdx.x;
    const auto a = static_cast<unsigned>(x[i]) * 2654435761u, b = static_cast<unsigned>(i) * 0x01030507u;
    const unsigned sum = __vadd4(a, b), mixed = __byte_perm(a, b, 0x6420), most = __vmaxu4(a, b);
    out[i] = static_cast<int>(sum ^ mixed ^ most);
}
ENTRY(packed_bytes, int, int, 1, 64)

// ---- bits ----------------------------------------------------------------------------------------------------------

__global__ void bit_counts(const int* x, int* out, int n) {
    const int i = threadIdx.x;
    const int value = x[i];
    const long long wide = static_cast<long long>(value) << 20;
    out[i] = __popc(value) + 100 * __clz(value) + 10000 * __ffs(value);
    out[i + 64] = __popcll(wide) + 100 * __clzll(wide) + 10000 * __ffsll(wide);
}
ENTRY(bit_counts, int, int, 1, 64)

__global__ void bits_reversed_and_shifted(const int* x, int* out, int n) {
    const int i = threadIdx.x;
    const auto low = static_cast<unsigned>(x[i]), high = static_cast<unsigned>(i);
    out[i] = static_cast<int>(__brev(low) ^ __funnelshift_l(low, high, i) ^ __funnelshift_r(low, high, i + 3));
    out[i + 64] = static_cast<int>(__brevll(static_cast<unsigned long long>(low)) >> 32) ^ (x[i] >> 3);
}
ENTRY(bits_reversed_and_shifted, int, int, 1, 64)

__global__ void high_halves(const int* x, int* out, int n) {
    const int i = threadIdx.x;
    out[i] = __mulhi(x[i] << 20, 3000 + i) + static_cast<int>(__umulhi(x[i], 0x80000001u)) + __mul24(x[i], i);
    out[i + 64] = __sad(x[i], i, 7u) + abs(x[i]) / 7 * 3 + x[i] % 5 + __usad(3, i, 0) + __hadd(x[i], i);
}
ENTRY(high_halves, int, int, 1, 64)

// ---- atomics -------------------------------------------------------------------------------------------------------

__global__ void each_atomic_on_int(const int* x, int* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    atomicAdd(&out[0], x[i]);
    atomicSub(&out[1], x[i]);
    atomicMin(&out[2], x[i]);
    atomicMax(&out[3], x[i]);
    atomicAnd(&out[4], ~(1 << (x[i] & 15)));
    atomicOr(&out[5], 1 << (x[i] & 15));
    atomicXor(&out[6], x[i]);
}
ENTRY_FROM_ZERO(each_atomic_on_int, int, int, 7, 2, 64)

__global__ void each_atomic_in_shared(const int* x, int* out, int n) {
    __shared__ int cells[7];
    __shared__ unsigned turns[2];
    const int t = threadIdx.x;
    if (t < 7) cells[t] = t == 4 ? -1 : 0;
    if (t < 2) turns[t] = 5;
    __syncthreads();
    atomicAdd(&cells[0], x[t]);
    atomicSub(&cells[1], x[t]);
    atomicMin(&cells[2], x[t]);
    atomicMax(&cells[3], x[t]);
    atomicAnd(&cells[4], x[t] | 0xf0f0);
    atomicOr(&cells[5], x[t]);
    atomicXor(&cells[6], x[t]);
    atomicInc(&turns[0], 8);
    atomicDec(&turns[1], 10);
    __syncthreads();
    if (t < 7) out[t] = cells[t];
    if (t < 2) out[7 + t] = static_cast<int>(turns[t]);
}
ENTRY(each_atomic_in_shared, int, int, 1, 100)

// What the operations give back, as a set: each ticket is drawn once, and around again.
__global__ void tickets(const int* x, unsigned* out, int n) {
    __shared__ unsigned up, down;
    const int t = threadIdx.x;
    if (t == 0) {
        up = 0;
        down = 15;
    }
    __syncthreads();
    out[t] = atomicInc(&up, 15);
    out[64 + t] = 100 + atomicDec(&down, 15);
}
ENTRY(tickets, int, unsigned, 1, 64)

__global__ void wide_atomics(const int* x, unsigned long long* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const auto value = static_cast<unsigned long long>(x[i] + 100) << 30 | static_cast<unsigned>(i);
    atomicAdd(&out[0], value);
    atomicMax(&out[1], value);
    atomicMin(&out[2], ~0ull - value);
    atomicOr(&out[3], 1ull << (i % 64));
    atomicXor(&out[4], value);
}
// The least is looked for from above.
extern "C" cudaError_t wide_atomics_entry(const int* x, unsigned long long* out, int n, cudaStream_t stream) {
    cudaError_t error = cudaMemsetAsync(out, 0, 5 * sizeof(*out), stream);
    if (error == cudaSuccess) error = cudaMemsetAsync(out + 2, 0xff, sizeof(*out), stream);
    if (error != cudaSuccess) return error;
    wide_atomics<<<2, 64, 0, stream>>>(x, out, n);
    return cudaGetLastError();
}

// The place of the largest, in one word with its value.
__global__ void largest_with_its_place(const int* x, unsigned long long* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        const unsigned ordered = static_cast<unsigned>(x[i]) ^ 0x80000000u;
        atomicMax(out, static_cast<unsigned long long>(ordered) << 32 | (0xffffffffu - static_cast<unsigned>(i)));
    }
}
ENTRY_FROM_ZERO(largest_with_its_place, int, unsigned long long, 1, 4, 64)

__device__ void atomic_max(float* place, float value) {
    auto* bits = reinterpret_cast<int*>(place);
    int seen = *static_cast<volatile int*>(bits);
    while (__int_as_float(seen) < value) {
        const int expected = seen;
        seen = atomicCAS(bits, expected, __float_as_int(value));
        if (seen == expected) break;
    }
}
__global__ void any_operation_by_compare_and_swap(const int* x, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    atomic_max(&out[0], x[i] * 0.5f);
    auto* product = reinterpret_cast<unsigned*>(&out[1]);
    unsigned seen = __float_as_uint(0.f), expected;
    do {
        expected = seen;
        seen = atomicCAS(product, expected, __float_as_uint(__uint_as_float(expected) * 0.5f + 1.f));
    } while (seen != expected);
}
ENTRY_FROM_ZERO(any_operation_by_compare_and_swap, int, float, 2, 2, 64)

__global__ void compare_and_swap_of_16_and_64_bits(const int* x, unsigned long long* out, int n) {
    const int i = threadIdx.x;
    unsigned long long seen = 0, expected;
    do {
        expected = seen;
        seen = atomicCAS(&out[0], expected, expected + (1ull << 33) + i);
    } while (seen != expected);
    auto* halves = reinterpret_cast<unsigned short*>(&out[1]);
    unsigned short half = 0, before;
    do {
        before = half;
        half = atomicCAS(&halves[i % 2], before, static_cast<unsigned short>(before + i));
    } while (half != before);
}
ENTRY_FROM_ZERO(compare_and_swap_of_16_and_64_bits, int, unsigned long long, 2, 1, 64)

// Values go round by exchange: at the end each is somewhere, and none is lost.
__global__ void exchanged(const int* x, int* out, int n) {
    __shared__ int held;
    const int t = threadIdx.x;
    if (t == 0) held = 1000;
    __syncthreads();
    out[t] = atomicExch(&held, x[t]);
    __syncthreads();
    if (t == 0) out[64] = held;
}
ENTRY(exchanged, int, int, 1, 64)

__global__ void scopes_of_atomics(const int* x, int* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    atomicAdd_block(&out[1 + blockIdx.x], x[i]);
    atomicAdd_system(&out[0], x[i]);
}
ENTRY_FROM_ZERO(scopes_of_atomics, int, int, 4, 3, 64)

// ---- a warp draws once for all its lanes ---------------------------------------------------------------------------

__device__ int place_in(int* counter) {
    const unsigned here = __activemask();
    const int lane = threadIdx.x % 32, leader = __ffs(here) - 1;
    int first = 0;
    if (lane == leader) first = atomicAdd(counter, __popc(here));
    first = __shfl_sync(here, first, leader);
    return first + __popc(here & ((1u << lane) - 1));
}
__global__ void positives_gathered(const int* x, int* out, int n) {
    __shared__ int count;
    const int t = threadIdx.x;
    if (t == 0) count = 0;
    __syncthreads();
    for (int i = t; i < n; i += blockDim.x)
        if (x[i] > 0) out[place_in(&count)] = x[i];
    __syncthreads();
    for (int i = count + t; i < n; i += blockDim.x) out[i] = 0;
}
ENTRY(positives_gathered, int, int, 1, 96)

__global__ void counted_by_key(const int* x, int* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32;
    const unsigned here = __ballot_sync(0xffffffffu, i < n);
    if (i >= n) return;
    const int key = x[i] & 7;
    const unsigned same = __match_any_sync(here, key);
    if (lane == __ffs(same) - 1) atomicAdd(&out[key], __popc(same));
}
ENTRY_FROM_ZERO(counted_by_key, int, int, 8, 4, 64)
