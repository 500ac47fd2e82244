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
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    const unsigned past = reinterpret_cast<std::uintptr_t>(out) / sizeof(float) % 4;  // floats past a 16-byte boundary
    const unsigned head = min((4 - past) % 4, n);  // out decides: a store cannot be put together from pieces
    const unsigned quads = (n - head) / 4;
    if (i < quads) {
        const unsigned at = head + 4 * i;
        const float4 x = load_four(a + at);
        const float4 y = load_four(b + at);
        *reinterpret_cast<float4*>(out + at) = make_float4(x.x + y.x, x.y + y.y, x.z + y.z, x.w + y.w);
    }
    const unsigned at = i < head ? i : 4 * quads + i;  // threads 0 to 5 at most: the head, then what follows the quads
    if (i < n - 4 * quads) out[at] = a[at] + b[at];
    // --- end ---
}

extern "C" cudaError_t vector_add_wide(const float* a, const float* b, float* out, int n, cudaStream_t stream) {
    if (n == 0) return cudaSuccess;
    constexpr unsigned threads = 256;
    constexpr unsigned elements = 4 * threads;  // a block's
    vector_add_wide_kernel<<<(n + elements - 1) / elements, threads, 0, stream>>>(a, b, out, n);
    return cudaGetLastError();
}
