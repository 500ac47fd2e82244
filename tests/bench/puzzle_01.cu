// Puzzle 1 on a GPU, by hand: each solution at its bench size, and a sweep of block sizes, as JSON.
//
//   nvcc -O3 -std=c++17 -arch=native -o build/puzzle_01 tests/bench/puzzle_01.cu && build/puzzle_01 >
//   results/puzzle_01_h200.json
//
// Time is the median of 21 launches by device events, each after 256 MiB of writing that leave nothing of a, b and out
// in the L2 cache. The ceiling is a copy with 16-byte accesses, counted the same way: bytes read plus bytes written.
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "../../solutions/puzzle_01_vector_add/2_vector_add.cu"
#include "../../solutions/puzzle_01_vector_add/4_vector_add_stride.cu"
#include "../../solutions/puzzle_01_vector_add/5_vector_add_float4.cu"
#include "../../solutions/puzzle_01_vector_add/6_vector_add_wide.cu"

constexpr int n = 1 << 28;
constexpr size_t flush_bytes = 256u << 20;

using Work = std::function<cudaError_t(cudaStream_t)>;

static void must(cudaError_t error) {
    if (error == cudaSuccess) return;
    std::fprintf(stderr, "%s\n", cudaGetErrorString(error));
    std::exit(1);
}

__global__ void copy_kernel(const float4* __restrict__ in, float4* __restrict__ out) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = in[i];
}

static double median_ms(void* flushed, cudaStream_t stream, const Work& work) {
    cudaEvent_t begin, end;
    must(cudaEventCreate(&begin));
    must(cudaEventCreate(&end));
    std::vector<float> times;
    for (int repeat = 0; repeat < 25; ++repeat) {
        must(cudaMemsetAsync(flushed, repeat, flush_bytes, stream));
        must(cudaEventRecord(begin, stream));
        must(work(stream));
        must(cudaEventRecord(end, stream));
        must(cudaEventSynchronize(end));
        float ms = 0;
        must(cudaEventElapsedTime(&ms, begin, end));
        if (repeat >= 4) times.push_back(ms);  // the first ones raise the clocks
    }
    std::nth_element(times.begin(), times.begin() + times.size() / 2, times.end());
    return times[times.size() / 2];
}

int main() {
    float *a, *b, *out, *flushed;
    must(cudaMalloc(&a, sizeof(float) * n + 256));
    must(cudaMalloc(&b, sizeof(float) * n + 256));
    must(cudaMalloc(&out, sizeof(float) * n + 256));
    must(cudaMalloc(&flushed, flush_bytes));
    must(cudaMemset(a, 1, sizeof(float) * n + 256));
    must(cudaMemset(b, 1, sizeof(float) * n + 256));
    cudaStream_t stream;
    must(cudaStreamCreate(&stream));
    cudaDeviceProp device;
    must(cudaGetDeviceProperties(&device, 0));
    int driver = 0;
    must(cudaDriverGetVersion(&driver));
    std::printf("{\n \"device\": \"%s\", \"driver_cuda\": %d, \"nvcc\": \"%d.%d.%d\", \"n\": %d,\n", device.name,
                driver, __CUDACC_VER_MAJOR__, __CUDACC_VER_MINOR__, __CUDACC_VER_BUILD__, n);

    const auto time = [&](const Work& work) { return median_ms(flushed, stream, work); };
    const double copy = time([&](cudaStream_t s) {
        copy_kernel<<<n / 4 / 256, 256, 0, s>>>(reinterpret_cast<float4*>(a), reinterpret_cast<float4*>(out));
        return cudaGetLastError();
    });
    std::printf(" \"copy\": {\"ms\": %.4f, \"bytes\": %.0f},\n \"parts\": {\n", copy, 8.0 * n);
    const auto part = [&](const char* name, const char* after, const Work& work) {
        std::printf("  \"%s\": {\"ms\": %.4f, \"bytes\": %.0f}%s\n", name, time(work), 12.0 * n, after);
    };
    part("vector_add", ",", [&](cudaStream_t s) { return vector_add(a, b, out, n, s); });
    part("vector_add_stride", ",", [&](cudaStream_t s) { return vector_add_stride(a, b, out, n, s); });
    part("vector_add_float4", ",", [&](cudaStream_t s) { return vector_add_float4(a, b, out, n, s); });
    part("vector_add_wide", "", [&](cudaStream_t s) { return vector_add_wide(a + 1, b + 2, out + 3, n, s); });
    std::printf(" },\n \"block_sizes\": [\n");
    const std::vector<int> sizes = {32, 64, 96, 128, 256, 512, 768, 1024};
    for (const int threads : sizes) {
        int resident = 0;
        must(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, vector_add_kernel, threads, 0));
        const double one = time([&](cudaStream_t s) {
            vector_add_kernel<<<(n + threads - 1) / threads, threads, 0, s>>>(a, b, out, n);
            return cudaGetLastError();
        });
        const double stride = time([&](cudaStream_t s) {
            vector_add_stride_kernel<<<2 * resident * device.multiProcessorCount, threads, 0, s>>>(a, b, out, n);
            return cudaGetLastError();
        });
        std::printf("  {\"threads\": %d, \"resident_blocks\": %d, \"most_threads\": %d, \"ms_one_element\": %.4f, ",
                    threads, resident, device.maxThreadsPerMultiProcessor, one);
        std::printf("\"ms_grid_stride\": %.4f}%s\n", stride, threads == sizes.back() ? "" : ",");
    }
    std::printf(" ]\n}\n");
}
