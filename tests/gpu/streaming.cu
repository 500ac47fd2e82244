// What memory gives when nothing else is in the way: 16 bytes a lane, once through, so many bytes read and so many
// written. The ceilings that tests/gpu/ceilings.py measures solutions against.
#include <cuda_runtime.h>

constexpr unsigned threads = 256, blocks_of_read = 132 * 8;

__global__ void copy_kernel(const float4* __restrict__ in, float4* __restrict__ out, unsigned quads) {
    const unsigned i = blockIdx.x * threads + threadIdx.x;
    if (i < quads) out[i] = in[i];
}

__global__ void add_kernel(const float4* __restrict__ a, const float4* __restrict__ b, float4* __restrict__ out,
                           unsigned quads) {
    const unsigned i = blockIdx.x * threads + threadIdx.x;
    if (i >= quads) return;
    const float4 x = a[i], y = b[i];
    out[i] = make_float4(x.x + y.x, x.y + y.y, x.z + y.z, x.w + y.w);
}

__global__ void read_kernel(const float4* __restrict__ in, float* __restrict__ out, unsigned quads) {
    float sum = 0.0f;
#pragma unroll 8
    for (unsigned i = blockIdx.x * threads + threadIdx.x; i < quads; i += blocks_of_read * threads) {
        const float4 x = in[i];
        sum += x.x + x.y + x.z + x.w;
    }
    out[blockIdx.x * threads + threadIdx.x] = sum;
}

extern "C" cudaError_t stream_copy(const float* in, float* out, int n, cudaStream_t stream) {
    copy_kernel<<<(n / 4 + threads - 1) / threads, threads, 0, stream>>>(reinterpret_cast<const float4*>(in),
                                                                         reinterpret_cast<float4*>(out), n / 4);
    return cudaGetLastError();
}

extern "C" cudaError_t stream_add(const float* a, const float* b, float* out, int n, cudaStream_t stream) {
    add_kernel<<<(n / 4 + threads - 1) / threads, threads, 0, stream>>>(
        reinterpret_cast<const float4*>(a), reinterpret_cast<const float4*>(b), reinterpret_cast<float4*>(out), n / 4);
    return cudaGetLastError();
}

extern "C" cudaError_t stream_read(const float* in, float* out, int n, cudaStream_t stream) {
    read_kernel<<<blocks_of_read, threads, 0, stream>>>(reinterpret_cast<const float4*>(in), out, n / 4);
    return cudaGetLastError();
}
