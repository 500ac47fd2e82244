// Puzzle 3 on a GPU, by hand: each transpose at its bench size, and past 2^31 elements, as JSON.
//
//   nvcc -O3 -std=c++20 -arch=native -o build/puzzle_03 tests/bench/puzzle_03.cu
//   solutions/puzzle_03_bank_conflicts/[2-6]_*.cu && build/puzzle_03 > results/puzzle_03_h200.json
//
// Time is the median of 21 launches by device events, each after 256 MiB of writing that leave nothing of the buffers
// in the L2 cache. The yardstick is a copy with 16-byte accesses. "far" runs each on matrices of more than 2^31
// elements and counts wrong results, all of them.
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <iterator>
#include <vector>

using Transpose = cudaError_t(const float*, float*, int, int, cudaStream_t);
extern "C" {
Transpose transpose_naive;
Transpose transpose_tiled;
Transpose transpose_padded;
Transpose transpose_swizzled;
Transpose transpose_wide;
}

constexpr struct {
    const char* name;
    Transpose* entry;
} transposes[] = {{"transpose_naive", transpose_naive},
                  {"transpose_tiled", transpose_tiled},
                  {"transpose_padded", transpose_padded},
                  {"transpose_swizzled", transpose_swizzled},
                  {"transpose_wide", transpose_wide}};
// The last one is in multiples of 4, which is what transpose_wide has a kernel for.
constexpr int far[][2] = {{46349, 46351}, {2147483647, 1}, {1, 2147483647}, {70001, 33331}, {46344, 46352}};
constexpr size_t flush_bytes = 256u << 20;
constexpr int side = 16384;

static void must(cudaError_t error) {
    if (error == cudaSuccess) return;
    std::fprintf(stderr, "%s\n", cudaGetErrorString(error));
    std::exit(1);
}

// By index alone, and known anywhere.
__host__ __device__ inline float value(size_t i) {
    return static_cast<float>(i * 2654435761u >> 7 & 0xffffff);
}

__global__ void fill_kernel(float* x, size_t count) {
    for (size_t i = blockIdx.x * size_t{blockDim.x} + threadIdx.x; i < count; i += size_t{gridDim.x} * blockDim.x)
        x[i] = value(i);
}

__global__ void copy_kernel(const float4* __restrict__ in, float4* __restrict__ out) {
    const size_t i = blockIdx.x * size_t{blockDim.x} + threadIdx.x;
    out[i] = in[i];
}

__global__ void check_kernel(const float* out, size_t rows, size_t cols, unsigned long long* wrong) {
    for (size_t i = blockIdx.x * size_t{blockDim.x} + threadIdx.x; i < rows * cols; i += size_t{gridDim.x} * blockDim.x)
        if (out[i] != value(i % rows * cols + i / rows)) atomicAdd(wrong, 1);
}

static float* filled(size_t count) {
    float* x;
    must(cudaMalloc(&x, count * sizeof(float)));
    fill_kernel<<<4096, 256>>>(x, count);
    must(cudaGetLastError());
    return x;
}

static double median_ms(void* flushed, cudaStream_t stream, const std::function<cudaError_t()>& work) {
    cudaEvent_t begin, end;
    must(cudaEventCreate(&begin));
    must(cudaEventCreate(&end));
    std::vector<float> times;
    for (int repeat = 0; repeat < 25; ++repeat) {
        must(cudaMemsetAsync(flushed, repeat, flush_bytes, stream));
        must(cudaEventRecord(begin, stream));
        must(work());
        must(cudaEventRecord(end, stream));
        must(cudaEventSynchronize(end));
        float ms = 0;
        must(cudaEventElapsedTime(&ms, begin, end));
        if (repeat >= 4) times.push_back(ms);  // the first ones raise the clocks
    }
    std::nth_element(times.begin(), times.begin() + times.size() / 2, times.end());
    return times[times.size() / 2];
}

static unsigned long long wrong_far(Transpose* entry, int rows, int cols) {
    const size_t elements = size_t(rows) * cols;
    float *in = filled(elements), *out = filled(elements);
    unsigned long long *wrong, count = 0;
    must(cudaMalloc(&wrong, sizeof count));
    must(cudaMemset(wrong, 0, sizeof count));
    must(entry(in, out, rows, cols, nullptr));
    check_kernel<<<4096, 256>>>(out, rows, cols, wrong);
    must(cudaMemcpy(&count, wrong, sizeof count, cudaMemcpyDeviceToHost));
    for (void* memory : {static_cast<void*>(in), static_cast<void*>(out), static_cast<void*>(wrong)})
        must(cudaFree(memory));
    return count;
}

int main() {
    cudaStream_t stream;
    must(cudaStreamCreate(&stream));
    float* flushed;
    must(cudaMalloc(&flushed, flush_bytes));
    float *in = filled(size_t{side} * side), *out = filled(size_t{side} * side);
    cudaDeviceProp device;
    must(cudaGetDeviceProperties(&device, 0));
    std::printf("{\n \"device\": \"%s\",\n \"nvcc\": \"%d.%d.%d\",\n \"side\": %d,\n", device.name,
                __CUDACC_VER_MAJOR__, __CUDACC_VER_MINOR__, __CUDACC_VER_BUILD__, side);
    std::printf(
        " \"method\": \"tests/bench/puzzle_03.cu: device events, median of 21, cold L2\",\n \"transposes\": {\n");
    const auto time = [&](const char* name, const char* after, const std::function<cudaError_t()>& work) {
        const double ms = median_ms(flushed, stream, work);
        std::printf("  \"%s\": {\"ms\": %.4f, \"bytes\": %.0f}%s\n", name, ms, 8.0 * side * side, after);
    };
    for (const auto& one : transposes) time(one.name, ",", [&] { return one.entry(in, out, side, side, stream); });
    time("copy", "", [&] {
        copy_kernel<<<side / 4 * (side / 256), 256, 0, stream>>>(reinterpret_cast<float4*>(in),
                                                                 reinterpret_cast<float4*>(out));
        return cudaGetLastError();
    });
    must(cudaFree(in));
    must(cudaFree(out));
    std::printf(" },\n \"far\": {\n");
    for (const auto& one : transposes) {
        std::printf("  \"%s\": [", one.name);
        for (const auto& size : far)
            std::printf("%s{\"sizes\": [%d, %d], \"wrong\": %llu}", &size == far ? "" : ", ", size[0], size[1],
                        wrong_far(one.entry, size[0], size[1]));
        std::printf("]%s\n", &one + 1 == std::end(transposes) ? "" : ",");
    }
    std::printf(" }\n}\n");
}
