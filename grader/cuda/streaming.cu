// What memory gives when nothing else is in the way: 16 bytes a lane, each once, so many of them read and so many
// written. The kernels that ceilings.py holds others against.
#include <cuda_runtime.h>

constexpr unsigned threads = 256;

// `reads` arrays of this many quads lie one behind the other, and so do `writes`; a thread has one quad of each.
__global__ void stream_kernel(const float4* __restrict__ in, float4* __restrict__ out, int reads, int writes,
                              unsigned quads) {
    const unsigned i = blockIdx.x * threads + threadIdx.x;
    if (i >= quads) return;
    float4 sum = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
#pragma unroll 4
    for (int r = 0; r < reads; ++r) {
        const float4 x = in[size_t(r) * quads + i];
        sum = make_float4(sum.x + x.x, sum.y + x.y, sum.z + x.z, sum.w + x.w);
    }
#pragma unroll 4
    for (int w = 0; w < writes; ++w) out[size_t(w) * quads + i] = sum;
}

// A grid that stays on the multiprocessors, and a sum a thread: next to nothing is written.
__global__ void read_kernel(const float4* __restrict__ in, float* __restrict__ out, unsigned quads) {
    float sum = 0.0f;
    const unsigned first = blockIdx.x * threads + threadIdx.x;
#pragma unroll 8
    for (size_t i = first; i < quads; i += gridDim.x * threads) {
        const float4 x = in[i];
        sum += x.x + x.y + x.z + x.w;
    }
    out[first] = sum;
}

extern "C" cudaError_t stream(const float* in, float* out, int reads, int writes, int quads, cudaStream_t stream) {
    stream_kernel<<<(quads + threads - 1) / threads, threads, 0, stream>>>(
        reinterpret_cast<const float4*>(in), reinterpret_cast<float4*>(out), reads, writes, quads);
    return cudaGetLastError();
}

extern "C" cudaError_t stream_read(const float* in, float* out, int quads, int blocks, cudaStream_t stream) {
    read_kernel<<<blocks, threads, 0, stream>>>(reinterpret_cast<const float4*>(in), out, quads);
    return cudaGetLastError();
}
