// block_sum: out[0] = x[0] + x[1] + … + x[n - 1], one block
//
// Why    A softmax, a norm, a loss, the gradient of a bias: each makes one number of many. Threads that all add to the
//        same place would have to queue; a tree adds in pairs, then the sums of pairs, and 1024 values take 10 steps.
// Given  x, n floats, n at most 1024, and out, one float, in device memory; partial, a place in shared memory for each
//        thread; a launcher that starts one block of 1024 threads, whatever n is.
// Write  the kernel's body, about 6 lines: put your element into partial, or 0 if you have none; add the upper half to
//        the lower until one value is left, with a barrier before each step; let one thread write it to out.
// Goal   The threads share the work: fewer accesses to memory than elements, where a warp's access counts once.
#include <cuda_runtime.h>

constexpr unsigned threads = 1024;  // a power of two, so that halving it always comes out even

__global__ void block_sum_kernel(const float* __restrict__ x, float* __restrict__ out, int n) {
    [[maybe_unused]] __shared__ float partial[threads];
    // --- your code ---
    // --- end ---
}

extern "C" cudaError_t block_sum(const float* x, float* out, int n, cudaStream_t stream) {
    block_sum_kernel<<<1, threads, 0, stream>>>(x, out, n);  // for n = 0 too: an empty sum is 0, and somebody writes it
    return cudaGetLastError();
}
