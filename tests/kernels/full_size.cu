// Kernels that are right for small n, and what becomes of them at n = 2^28: out[i] = x[i].
//
// `// -> kind` marks a line that a finding of that kind must name; entries that end in `_ok` are right, entries that
// end in `_unknown` are right too, and a sample of their blocks cannot tell. tests/test_fullsize.py runs them all.
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

#define ENTRY(name, kernel, blocks, threads)                                                      \
    extern "C" cudaError_t name##_entry(const float* x, float* out, int n, cudaStream_t stream) { \
        kernel<<<blocks, threads, 0, stream>>>(x, out, n);                                        \
        return cudaGetLastError();                                                                \
    }

constexpr int kThreads = 256;

static int blocks_for(int n) {
    return n / kThreads + (n % kThreads != 0);
}

__global__ void one_each(const float* x, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = x[i];
}
ENTRY(one_each_ok, one_each, blocks_for(n), kThreads)
ENTRY(too_few_blocks, one_each, std::min(blocks_for(n), 65535), kThreads)  // -> never_written

__global__ void in_strides(const float* x, float* out, int n) {
    const int64_t stride = int64_t{blockDim.x} * gridDim.x;
    for (int64_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) out[i] = x[i];
}
ENTRY(in_strides_ok, in_strides, std::min(blocks_for(n), 65535), kThreads)

// ---- indices -------------------------------------------------------------------------------------------------------

__global__ void index_starts_again(const float* x, float* out, int n) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    const unsigned bit = 32 * i;
    const unsigned place = bit / 32;
    if (i < n) out[place] = x[place];  // -> never_written
}
ENTRY(index_starts_again, index_starts_again, blocks_for(n), kThreads)

__global__ void index_turns_negative(const float* x, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const int byte = i << 4;
    if (i < n) out[i] = x[byte / 16];  // -> out_of_bounds_read, integer_overflow
}
ENTRY(index_turns_negative, index_turns_negative, blocks_for(n), kThreads)

__global__ void index_in_64_bits(const float* x, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const int64_t byte = int64_t{i} << 4;
    if (i < n) out[i] = x[byte / 16];
}
ENTRY(index_in_64_bits_ok, index_in_64_bits, blocks_for(n), kThreads)

__global__ void counter_in_float(const float* x, float* out, int n) {
    const float stride = static_cast<float>(blockDim.x * gridDim.x);
    for (float place = blockIdx.x * blockDim.x + threadIdx.x; place < n; place += stride) {
        const int i = static_cast<int>(place);
        if (i < n) out[i] = x[i];  // -> never_written
    }
}
ENTRY(counter_in_float, counter_in_float, 4096, kThreads)

__global__ void place_in_float(const float* x, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const float place = static_cast<float>(i);
    if (i < n) out[i] = x[min(static_cast<int>(place), n - 1)];  // -> wrong_values
}
ENTRY(place_in_float, place_in_float, blocks_for(n), kThreads)

__global__ void one_too_far(const float* x, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = x[i < (1 << 24) ? i : i + 1];  // -> out_of_bounds_read, wrong_values
}
ENTRY(one_too_far, one_too_far, blocks_for(n), kThreads)

__global__ void nothing_when_large(const float* x, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const int bytes = n << 3;
    if ((i << 3) < bytes) out[i] = x[i];
}
ENTRY(nothing_when_large, nothing_when_large, blocks_for(n), kThreads)  // -> never_written

// ---- what a sample must not be misled by ---------------------------------------------------------------------------

__global__ void backwards(const float* x, float* out, int n) {
    const int i = n - 1 - static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
    if (i >= 0) out[i] = x[i];
}
ENTRY(backwards_ok, backwards, blocks_for(n), kThreads)

// The last block is moved back, to be a whole one: it writes some elements again.
__global__ void last_block_moved(const float* x, float* out, int n) {
    const int first = min(static_cast<int>(blockIdx.x * 384), max(n - 384, 0));
    if (first + static_cast<int>(threadIdx.x) < n) out[first + threadIdx.x] = x[first + threadIdx.x];
}
ENTRY(last_block_moved_ok, last_block_moved, (n + 383) / 384, 384)

__global__ void stored_twice(const float* x, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    volatile float* to = out;
    to[i] = 0.f;
    to[i] = x[i];
}
ENTRY(stored_twice_ok, stored_twice, blocks_for(n), kThreads)

__global__ void second_half(const float* x, float* out, int n) {
    const int i = n / 2 + blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = x[i];
}

extern "C" cudaError_t two_halves_ok_entry(const float* x, float* out, int n, cudaStream_t stream) {
    one_each<<<blocks_for(n / 2), kThreads, 0, stream>>>(x, out, n / 2);
    second_half<<<blocks_for(n - n / 2), kThreads, 0, stream>>>(x, out, n);
    return cudaGetLastError();
}

extern "C" cudaError_t filled_first_ok_entry(const float* x, float* out, int n, cudaStream_t stream) {
    cudaMemsetAsync(out, 0, sizeof(float) * static_cast<size_t>(n), stream);
    one_each<<<blocks_for(n), kThreads, 0, stream>>>(x, out, n);
    return cudaGetLastError();
}

extern "C" cudaError_t copied_unknown_entry(const float* x, float* out, int n, cudaStream_t stream) {
    cudaMemcpyAsync(out, x, sizeof(float) * static_cast<size_t>(n), cudaMemcpyDeviceToDevice, stream);
    one_each<<<blocks_for(n), kThreads, 0, stream>>>(x, out, n);
    return cudaGetLastError();
}

// Reads what another block of the launch before wrote, which may have been left out.
__global__ void turned_round(const float* x, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n / 2) {
        const float kept = out[i];
        out[i] = out[n - 1 - i];
        out[n - 1 - i] = kept;
    }
    if (i == 0 && x[0] > 2.f) out[0] = 0.f;
}

__global__ void from_the_end(const float* x, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = x[n - 1 - i];
}

extern "C" cudaError_t turned_twice_unknown_entry(const float* x, float* out, int n, cudaStream_t stream) {
    from_the_end<<<blocks_for(n), kThreads, 0, stream>>>(x, out, n);
    turned_round<<<blocks_for(n), kThreads, 0, stream>>>(x, out, n);
    return cudaGetLastError();
}

__device__ unsigned passed;

__global__ void set_passed() {
    passed = 0;
}

// Each block waits for the one before it.
__global__ void one_after_the_other(const float* x, float* out, int n) {
    if (threadIdx.x == 0)
        while (atomicAdd(&passed, 0) != blockIdx.x) {
        }
    __syncthreads();
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = x[i];
    __syncthreads();
    if (threadIdx.x == 0) atomicAdd(&passed, 1);
}

extern "C" cudaError_t one_after_the_other_unknown_entry(const float* x, float* out, int n, cudaStream_t stream) {
    set_passed<<<1, 1, 0, stream>>>();
    one_after_the_other<<<blocks_for(n), kThreads, 0, stream>>>(x, out, n);
    return cudaGetLastError();
}

// Blocks take tiles from a counter: the first block of a sample would do all the work.
__global__ void tiles_from_a_counter(const float* x, float* out, int n) {
    __shared__ unsigned tile;
    for (;;) {
        __syncthreads();
        if (threadIdx.x == 0) tile = atomicAdd(&passed, 1);
        __syncthreads();
        const int64_t i = int64_t{tile} * blockDim.x + threadIdx.x;
        if (int64_t{tile} * blockDim.x >= n) return;
        if (i < n) out[i] = x[i];
    }
}

extern "C" cudaError_t tiles_from_a_counter_unknown_entry(const float* x, float* out, int n, cudaStream_t stream) {
    set_passed<<<1, 1, 0, stream>>>();
    tiles_from_a_counter<<<132, kThreads, 0, stream>>>(x, out, n);
    return cudaGetLastError();
}

// The last block to come does what is left: in a sample, none is the last.
__global__ void last_one_does_it(const float* x, float* out, int n) {
    __shared__ bool last;
    if (threadIdx.x == 0) last = atomicAdd(&passed, 1) == gridDim.x - 1;
    __syncthreads();
    if (last)
        for (int64_t i = threadIdx.x; i < n; i += blockDim.x) out[i] = x[i];
}

extern "C" cudaError_t last_one_does_it_unknown_entry(const float* x, float* out, int n, cudaStream_t stream) {
    set_passed<<<1, 1, 0, stream>>>();
    last_one_does_it<<<1000, kThreads, 0, stream>>>(x, out, n);
    return cudaGetLastError();
}

// One thread block does it all.
ENTRY(one_block_unknown, in_strides, 1, 1024)
