// Results that depend on which block comes first; beside each a near twin that does not (`…_ok`).
//
// `// -> non_deterministic` marks the line that writes what differs. Every entry gets x[n], writes out[n], n = 128, and
// sets it to zero first; tests/test_order_dependence.py runs them, where the blocks that start in order give the right
// result.
#include <cuda_runtime.h>

#define ENTRY(kernel, blocks, threads)                                                          \
    extern "C" cudaError_t kernel##_entry(const int* x, int* out, int n, cudaStream_t stream) { \
        const cudaError_t error = cudaMemsetAsync(out, 0, n * sizeof(int), stream);             \
        if (error != cudaSuccess) return error;                                                 \
        kernel<<<blocks, threads, 0, stream>>>(x, out, n);                                      \
        return cudaGetLastError();                                                              \
    }

__global__ void first_block_wins(const int* x, int* out, int n) {
    if (threadIdx.x == 0) atomicCAS(&out[0], 0, x[blockIdx.x]);  // -> non_deterministic
}
ENTRY(first_block_wins, 8, 16)

__global__ void lowest_block_wins_ok(const int* x, int* out, int n) {
    if (threadIdx.x == 0 && blockIdx.x == 0) atomicCAS(&out[0], 0, x[blockIdx.x]);
}
ENTRY(lowest_block_wins_ok, 8, 16)

__global__ void last_block_wins(const int* x, int* out, int n) {
    if (threadIdx.x == 0) atomicExch(&out[0], x[blockIdx.x]);  // -> non_deterministic
}
ENTRY(last_block_wins, 8, 16)

__global__ void largest_wins_ok(const int* x, int* out, int n) {
    if (threadIdx.x == 0) atomicMax(&out[0], x[blockIdx.x]);
}
ENTRY(largest_wins_ok, 8, 16)

// Places are given out in the order of arrival.
__global__ void place_by_ticket(const int* x, int* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const int place = atomicAdd(&out[n - 1], 1);
    if (place < n - 1) out[place] = x[i];  // -> non_deterministic
}
ENTRY(place_by_ticket, 8, 16)

__global__ void place_by_number_ok(const int* x, int* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    atomicAdd(&out[n - 1], 1);
    if (i < n - 1) out[i] = x[i];
}
ENTRY(place_by_number_ok, 8, 16)

// Every step is atomic, and the steps do not commute.
__global__ void steps_in_any_order(const int* x, int* out, int n) {
    if (threadIdx.x != 0) return;
    int seen = atomicAdd(&out[0], 0), expected;
    do {
        expected = seen;
        seen = atomicCAS(&out[0], expected, 3 * expected + x[blockIdx.x]);  // -> non_deterministic
    } while (seen != expected);
}
ENTRY(steps_in_any_order, 8, 16)

__global__ void steps_that_commute_ok(const int* x, int* out, int n) {
    if (threadIdx.x != 0) return;
    int seen = atomicAdd(&out[0], 0), expected;
    do {
        expected = seen;
        seen = atomicCAS(&out[0], expected, expected ^ x[blockIdx.x]);
    } while (seen != expected);
}
ENTRY(steps_that_commute_ok, 8, 16)
