// vector_add_block: out = a + b, one block
//
// Why    The smallest useful kernel, and the habit that keeps every later one safe: a thread asks whether it has an
//        element before it touches memory.
// Given  a, b and out, n floats each, n at most 1024, in device memory; a launcher that starts one block of 1024
//        threads, whatever n is.
// Write  the kernel's body, 1 line: one thread, one element; a thread without an element does nothing.
// Goal   The threads share the work: fewer accesses to memory than elements, where a warp's access counts once.
#include <cuda_runtime.h>

__global__ void vector_add_block_kernel(const float* __restrict__ a, const float* __restrict__ b,
                                        float* __restrict__ out, int n) {
    // --- your code ---
    // --- end ---
}

extern "C" cudaError_t vector_add_block(const float* a, const float* b, float* out, int n, cudaStream_t stream) {
    constexpr unsigned threads = 1024;  // the most that a block may have
    vector_add_block_kernel<<<1, threads, 0, stream>>>(a, b, out, n);
    return cudaGetLastError();  // says whether the launch was accepted; the kernel itself may not even have started
}
