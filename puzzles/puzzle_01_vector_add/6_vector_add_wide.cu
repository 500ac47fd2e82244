// vector_add_wide: out = a + b, wide accesses at any alignment
//
// Why    Tensors that are slices of others begin anywhere. A 16-byte access at an address that is no multiple of 16
//        ends the kernel, and falling back to 4 bytes gives the speed away: so the ragged ends are peeled off.
// Given  a, b and out, n floats each, each at any multiple of 4 bytes, in device memory; load_four, which reads four
//        floats with the widest accesses that their address allows; a launcher with a thread for each 4 elements,
//        rounded up.
// Write  the kernel's body, about 12 lines: peel off elements until out is 16-byte aligned, store 16 bytes a thread
//        from there, and let a few threads do what is left at both ends.
// Goal   Nine in ten of the stores are 16 bytes wide; of the loads too, where a and b are aligned as out is.
#include <cuda_runtime.h>

#include <cstdint>

// The branch costs nothing: all threads of a launch take the same one.
__device__ inline float4 load_four(const float* __restrict__ p) {
    const auto address = reinterpret_cast<std::uintptr_t>(p);
    if (address % 16 == 0) return *reinterpret_cast<const float4*>(p);
    if (address % 8 == 0) {
        const float2 low = reinterpret_cast<const float2*>(p)[0];
        const float2 high = reinterpret_cast<const float2*>(p)[1];
        return make_float4(low.x, low.y, high.x, high.y);
    }
    return make_float4(p[0], p[1], p[2], p[3]);
}

__global__ void vector_add_wide_kernel(const float* __restrict__ a, const float* __restrict__ b,
                                       float* __restrict__ out, int n) {
    // --- your code ---
    // --- end ---
}

extern "C" cudaError_t vector_add_wide(const float* a, const float* b, float* out, int n, cudaStream_t stream) {
    if (n == 0) return cudaSuccess;
    constexpr unsigned threads = 256;
    constexpr unsigned elements = 4 * threads;  // a block's
    vector_add_wide_kernel<<<(n + elements - 1) / elements, threads, 0, stream>>>(a, b, out, n);
    return cudaGetLastError();
}
