// Entries with nothing wrong: each must be recorded without a finding.
#include <cooperative_groups.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

__constant__ float weights[4];
__device__ int counter;

__global__ void copy_kernel(const float* a, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = a[i] * weights[0] + counter;
}

struct Padded {
    char tag;
    const float* a;
    short count;
    float* out;
};

__global__ void padded_kernel(Padded p, char c, double d) {
    if (threadIdx.x < p.count) p.out[threadIdx.x] = p.a[threadIdx.x] + p.tag + c + d;
}

__global__ void dynamic_kernel(float* out) {
    extern __shared__ float tile[];
    tile[threadIdx.x] = threadIdx.x;
    out[threadIdx.x] = tile[threadIdx.x];
}

__global__ void table_kernel(const float* const* table, float* out) {
    out[0] = table[0][0] + table[1][0];
}

#define ENTRY(name) extern "C" cudaError_t name(const float* a, float* out, int n, cudaStream_t stream)

ENTRY(plain) {
    if (n == 0) return cudaSuccess;
    copy_kernel<<<(n + 255) / 256, 256, 0, stream>>>(a, out, n);  // line of plain
    return cudaGetLastError();
}

ENTRY(does_nothing) {
    (void)a, (void)out, (void)n, (void)stream;
    return cudaSuccess;
}

// The ways of spelling a launch.
ENTRY(by_function) {
    void* arguments[] = {&a, &out, &n};
    const void* kernel = (const void*)copy_kernel;
    return cudaLaunchKernel(kernel, dim3(2), dim3(64, 2), arguments, 0, stream);  // line of by_function
}

ENTRY(by_config) {
    cudaLaunchConfig_t config{};
    config.gridDim = dim3(1);
    config.blockDim = dim3(32);
    config.stream = stream;
    return cudaLaunchKernelEx(&config, copy_kernel, a, out, n);  // line of by_config
}

ENTRY(cooperative) {
    void* arguments[] = {&a, &out, &n};
    return cudaLaunchCooperativeKernel((const void*)copy_kernel, dim3(108), dim3(256), arguments, 0, stream);
}

template <typename T>
cudaError_t launch_in_template(const T* a, T* out, int n, cudaStream_t stream) {
    copy_kernel<<<1, 32, 0, stream>>>(a, out, n);  // line of from_template
    return cudaGetLastError();
}

ENTRY(from_template) {
    return launch_in_template(a, out, n, stream);
}

static const float* launches_inside(const float* a, float* out, cudaStream_t stream) {
    copy_kernel<<<1, 1, 0, stream>>>(a, out, 1);  // line of inner
    return a;
}

ENTRY(nested) {
    copy_kernel<<<2, 2, 0, stream>>>(launches_inside(a, out, stream), out, n);  // line of outer
    return cudaGetLastError();
}

// Padding of a struct holds whatever was on the stack; here it is made to differ from call to call.
ENTRY(padded) {
    static unsigned char noise = 0;
    Padded p;
    memset(&p, ++noise, sizeof p);
    p.tag = 'x';
    p.a = a;
    p.count = 7;
    p.out = out;
    padded_kernel<<<1, 32, 0, stream>>>(p, 'c', 0.5);
    return cudaGetLastError();
}

// Attributes are state: set in the first call only, they hold in the second.
ENTRY(attribute_once) {
    static const cudaError_t once =
        cudaFuncSetAttribute(dynamic_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 65536);
    if (once != cudaSuccess) return once;
    dynamic_kernel<<<1, 256, 65536, stream>>>(out);
    return cudaGetLastError();
}

ENTRY(stream_order) {
    cudaMemsetAsync(out, 0, n * sizeof(float), stream);                            // line of memset
    cudaMemcpyAsync(out, a, n * sizeof(float), cudaMemcpyDeviceToDevice, stream);  // line of copy
    const float host[4] = {1, 2, 3, 4};
    cudaMemcpyAsync(out, host, sizeof host, cudaMemcpyHostToDevice, stream);                 // line of upload
    cudaMemcpyToSymbolAsync(weights, host, sizeof host, 0, cudaMemcpyHostToDevice, stream);  // line of symbol_upload
    cudaMemcpyToSymbolAsync(weights, a, 8, 4, cudaMemcpyDeviceToDevice, stream);             // line of symbol_copy
    const float* table[2] = {a, out};
    void* scratch = nullptr;
    cudaMallocAsync(&scratch, sizeof table, stream);  // line of allocate
    cudaMemcpyAsync(scratch, table, sizeof table, cudaMemcpyDefault, stream);
    table_kernel<<<1, 1, 0, stream>>>((const float* const*)scratch, out);
    cudaFreeAsync(scratch, stream);  // line of free
    return cudaGetLastError();
}

// Asks the device, and keeps what it heard in the launch.
ENTRY(queries) {
    int device = -1, count = 0, resident = 0, limit = 0, minimum = 0, best = 0;
    cudaGetDevice(&device);
    cudaGetDeviceCount(&count);
    cudaDeviceProp properties;
    cudaGetDeviceProperties(&properties, device);
    cudaDeviceGetAttribute(&limit, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
    cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, copy_kernel, 256, 0);
    cudaOccupancyMaxPotentialBlockSize(&minimum, &best, copy_kernel);
    cudaFuncAttributes attributes;
    cudaFuncGetAttributes(&attributes, copy_kernel);
    cudaStreamCaptureStatus status;
    cudaStreamIsCapturing(stream, &status);
    const bool right = device == 0 && count == 1 && properties.multiProcessorCount == 108 && properties.major == 8 &&
                       limit == 163 * 1024 && resident == 8 && best == 1024 && attributes.maxThreadsPerBlock == 1024 &&
                       attributes.binaryVersion == 80 && status == cudaStreamCaptureStatusActive;
    if (!right) return cudaErrorUnknown;
    cudaFuncSetCacheConfig(copy_kernel, cudaFuncCachePreferL1);
    copy_kernel<<<resident * properties.multiProcessorCount, 256, 0, stream>>>(a, out, n);
    return cudaPeekAtLastError();
}

// An error that was read is gone; one that a launcher recovers from is its own affair.
ENTRY(recovers) {
    if (cudaFuncSetAttribute(dynamic_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 1 << 20) !=
        cudaErrorInvalidValue) {
        return cudaErrorUnknown;
    }
    if (std::string(cudaGetErrorName(cudaPeekAtLastError())) != "cudaErrorInvalidValue") return cudaErrorUnknown;
    if (std::string(cudaGetErrorString(cudaGetLastError())) != "invalid argument") return cudaErrorUnknown;
    if (cudaGetLastError() != cudaSuccess) return cudaErrorUnknown;
    copy_kernel<<<1, 32, 0, stream>>>(a, out, n);
    return cudaGetLastError();
}

// Ordinary C++ on the host: memory, exceptions, locks, the time, printing.
ENTRY(ordinary_host_code) {
    std::vector<int> blocks(1 << 10, n);
    std::sort(blocks.begin(), blocks.end());
    blocks.resize(1 << 20);
    std::mutex mutex;
    const std::lock_guard<std::mutex> lock(mutex);
    try {
        throw std::runtime_error("caught");
    } catch (const std::exception& error) {
        std::printf("hello from the launcher: %s\n", error.what());
    }
    (void)std::chrono::steady_clock::now();
    copy_kernel<<<blocks[0], 32, 0, stream>>>(a, out, n);
    return cudaGetLastError();
}

// What a file calls that was compiled for per-thread default streams.
extern "C" cudaError_t cudaMemsetAsync_ptsz(void*, int, size_t, cudaStream_t);
ENTRY(per_thread_names) {
    return a ? cudaMemsetAsync_ptsz(out, 0, n, stream) : cudaErrorUnknown;
}

extern "C" cudaError_t many_arguments(const float* a, float f, float* out, double d, int i, long long l, const float* b,
                                      const float* c, float g, int j, int k, int m, float* w, cudaStream_t stream) {
    const bool right =
        f == 1.5f && d == -2.25 && i == -7 && l == -(1ll << 40) && g == 0.125f && j == 8 && k == 9 && m == 10;
    copy_kernel<<<right ? 1 : 2, 32, 0, stream>>>(a, out, (int)(b - c == 0) + (w == nullptr));
    return cudaGetLastError();
}
