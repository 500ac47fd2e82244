// Launches and calls that CUDA refuses, told and not told; and calls that a captured stream forbids.
#include <cuda_runtime.h>

__global__ void kernel(const float* a, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = a[i];
}

__global__ void __launch_bounds__(128) bounded_kernel(float* out) {
    out[threadIdx.x] = 1;
}

__global__ void dynamic_kernel(float* out) {
    extern __shared__ float tile[];
    tile[threadIdx.x] = threadIdx.x;
    out[threadIdx.x] = tile[threadIdx.x];
}

// Holds 128 values at once, which takes more registers than 1,024 threads can have.
__global__ void hungry_kernel(const float* a, float* out) {
    float held[128];
#pragma unroll
    for (int i = 0; i < 128; ++i) held[i] = a[i * 256 + threadIdx.x];
    __syncthreads();
#pragma unroll
    for (int i = 0; i < 128; ++i) out[i * 256 + threadIdx.x] = held[127 - i] * held[i];
}

#define ENTRY(name, ...)                                                                  \
    extern "C" cudaError_t name(const float* a, float* out, int n, cudaStream_t stream) { \
        (void)a, (void)out, (void)n, (void)stream;                                        \
        __VA_ARGS__;                                                                      \
        return cudaGetLastError();                                                        \
    }
#define DEAF(name, ...)                                                                   \
    extern "C" cudaError_t name(const float* a, float* out, int n, cudaStream_t stream) { \
        (void)a, (void)out, (void)n, (void)stream;                                        \
        __VA_ARGS__;                                                                      \
        return cudaSuccess;                                                               \
    }

ENTRY(block_too_large, kernel<<<1, 2048, 0, stream>>>(a, out, n))
ENTRY(no_blocks, kernel<<<0, 256, 0, stream>>>(a, out, n))
ENTRY(no_threads, kernel<<<1, 0, 0, stream>>>(a, out, n))
ENTRY(grid_too_tall, kernel<<<dim3(1, 65536), 32, 0, stream>>>(a, out, n))
ENTRY(block_too_deep, kernel<<<1, dim3(1, 1, 65), 0, stream>>>(a, out, n))
ENTRY(past_launch_bounds, bounded_kernel<<<1, 256, 0, stream>>>(out))
ENTRY(shared_not_asked_for, dynamic_kernel<<<1, 32, 64 << 10, stream>>>(out))
ENTRY(shared_too_large, dynamic_kernel<<<1, 32, 200 << 10, stream>>>(out))
ENTRY(attribute_too_large, cudaFuncSetAttribute(dynamic_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 1 << 20))
ENTRY(too_many_cooperating, void* p[] = {&a, &out, &n};
      cudaLaunchCooperativeKernel((const void*)kernel, dim3(10000), dim3(256), p, 0, stream))
ENTRY(no_kernel, void* p[] = {&a}; cudaLaunchKernel((const void*)&no_kernel, dim3(1), dim3(1), p, 0, stream))
ENTRY(memset_of_host_memory, cudaMemsetAsync(&out, 0, 4, stream))
ENTRY(memset_past_the_end, cudaMemsetAsync(out, 0, n * 4 + 4, stream))
ENTRY(symbol_of_nothing, cudaMemcpyToSymbolAsync((const void*)out, &n, 4, 0, cudaMemcpyHostToDevice, stream))
ENTRY(returns_its_own, return cudaErrorUnknown)

DEAF(ignores_block_too_large, kernel<<<1, 2048, 0, stream>>>(a, out, n))
DEAF(ignores_memset, cudaMemsetAsync(&out, 0, 4, stream))
DEAF(never_looks, kernel<<<1, 32, 0, stream>>>(a, out, n))
DEAF(launches_nothing, (void)0)
ENTRY(looks, kernel<<<1, 32, 0, stream>>>(a, out, n))
ENTRY(crashes_on_error, kernel<<<1, 32, 0, stream>>>(a, out, n); if (cudaPeekAtLastError()) __builtin_trap())

ENTRY(default_stream, kernel<<<1, 32>>>(a, out, n))
ENTRY(legacy_stream, kernel<<<1, 32, 0, cudaStreamLegacy>>>(a, out, n))
ENTRY(per_thread_stream, kernel<<<1, 32, 0, cudaStreamPerThread>>>(a, out, n))
ENTRY(own_stream, cudaStream_t mine; cudaStreamCreate(&mine); kernel<<<1, 32, 0, mine>>>(a, out, n))
ENTRY(memset_on_default, cudaMemsetAsync(out, 0, 4))
ENTRY(synchronizes, kernel<<<1, 32, 0, stream>>>(a, out, n); cudaStreamSynchronize(stream))
ENTRY(synchronizes_device, cudaDeviceSynchronize())
ENTRY(allocates, void* p; cudaMalloc(&p, 4))
ENTRY(frees, cudaFree(out))
ENTRY(copies_at_once, float h[1]; cudaMemcpy(h, a, 4, cudaMemcpyDeviceToHost))
ENTRY(sets_at_once, cudaMemset(out, 0, 4))
ENTRY(waits_for_event, cudaEvent_t e; cudaEventCreate(&e); cudaEventRecord(e, stream); cudaEventSynchronize(e))
ENTRY(invalidated, cudaDeviceSynchronize(); kernel<<<1, 32, 0, stream>>>(a, out, n);
      if (cudaGetLastError() != cudaErrorStreamCaptureInvalidated) return cudaErrorUnknown)

ENTRY(copies_to_host, float h[1]; cudaMemcpyAsync(h, a, 4, cudaMemcpyDeviceToHost, stream))
ENTRY(makes_texture, cudaTextureObject_t t; cudaResourceDesc r{}; cudaTextureDesc d{};
      cudaCreateTextureObject(&t, &r, &d, nullptr))
ENTRY(calls_without_end, for (int i = 0; i < 70000; ++i) cudaMemsetAsync(out, 0, 4, stream))
ENTRY(needs_registers, hungry_kernel<<<1, 1024, 0, stream>>>(a, out))

// Inputs are only read, by the host's calls too.
ENTRY(fills_input, cudaMemsetAsync((void*)a, 0, 4 * n, stream))
ENTRY(copies_to_input, cudaMemcpyAsync((void*)a, out, 4, cudaMemcpyDeviceToDevice, stream))
ENTRY(uploads_to_input, cudaMemcpyAsync((void*)(a + 1), &n, 4, cudaMemcpyHostToDevice, stream))
