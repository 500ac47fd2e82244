// vector_add: out = a + b, any n
//
// Why    One block stays on one multiprocessor; an H200 has 132. Many blocks, each with its own stretch of the array,
//        is how every kernel from here on fills the machine.
// Given  a, b and out, n floats each, in device memory; a launcher that starts enough blocks of 256 threads.
// Write  the kernel's body, about 3 lines: which element is mine, do I have one, add.
// Goal   Loads and stores are coalesced: neighbouring threads take neighbouring elements.
#include <cuda_runtime.h>

__global__ void vector_add_kernel(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ out,
                                  int n) {
    // --- your code ---
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;  // a warp's 32 elements lie side by side: 4 sectors
    if (i >= n) return;                                        // the last block is rounded up
    out[i] = a[i] + b[i];
    // --- end ---
}

extern "C" cudaError_t vector_add(const float* a, const float* b, float* out, int n, cudaStream_t stream) {
    if (n == 0) return cudaSuccess;  // a grid of 0 blocks is a launch error
    constexpr unsigned threads = 256;
    const unsigned blocks = (n + threads - 1) / threads;  // unsigned: n + 255 may be more than an int holds
    vector_add_kernel<<<blocks, threads, 0, stream>>>(a, b, out, n);
    return cudaGetLastError();
}
