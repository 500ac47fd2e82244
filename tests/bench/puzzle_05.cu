// Puzzle 5 on a GPU, by hand: its solutions at full size beside other ways to the same sum, as JSON.
//
//   nvcc -O3 -std=c++20 -arch=native -o build/puzzle_05 tests/bench/puzzle_05.cu solutions/puzzle_05_reductions/*.cu &&
//   build/puzzle_05 > results/puzzle_05_h200.json
//
// Time is the median of 21 calls by device events, each after 256 MiB of writing that leave nothing of the input in the
// L2 cache. All read the same 2^28 floats, whole numbers from -8 to 8, whose sums are exact in any order: "wrong"
// counts results that are not right. "copy" is a copy of half as many floats, so that it moves as many bytes.
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

using Sum = cudaError_t(const float*, float*, int, cudaStream_t);
extern "C" {
Sum warp_sum;
Sum reduce_sum;
}

constexpr int n = 1 << 28, warp = 32;
constexpr size_t flush_bytes = 256u << 20;

static void must(cudaError_t error) {
    if (error == cudaSuccess) return;
    std::fprintf(stderr, "%s\n", cudaGetErrorString(error));
    std::exit(1);
}

__host__ __device__ inline float value(size_t i) {
    return static_cast<int>((i * 2654435761u >> 7) % 17) - 8;
}

__global__ void fill_kernel(float* x) {
    for (size_t i = blockIdx.x * size_t{blockDim.x} + threadIdx.x; i < n; i += size_t{gridDim.x} * blockDim.x)
        x[i] = value(i);
}

__device__ inline float of_warp(float value) {
    for (unsigned offset = warp / 2; offset > 0; offset /= 2) value += __shfl_down_sync(0xffffffff, value, offset);
    return value;
}

__global__ void one_element_kernel(const float* __restrict__ x, float* __restrict__ out, bool by_warp) {
    float sum = x[blockIdx.x * blockDim.x + threadIdx.x];
    if (by_warp) sum = of_warp(sum);
    if (!by_warp || threadIdx.x % warp == 0) atomicAdd(out, sum);
}

__global__ void float4_kernel(const float4* __restrict__ x, float* __restrict__ out) {
    float sum = 0.0f;
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n / 4; i += blockDim.x * gridDim.x) {
        const float4 four = x[i];
        sum += four.x + four.y + (four.z + four.w);
    }
    sum = of_warp(sum);
    if (threadIdx.x % warp == 0) atomicAdd(out, sum);
}

__global__ void thread_a_row_kernel(const float* __restrict__ x, float* __restrict__ out) {
    const unsigned row = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0.0f;
    for (unsigned i = 0; i < warp; ++i) sum += x[row * warp + i];
    out[row] = sum;
}

__global__ void copy_kernel(const float4* __restrict__ in, float4* __restrict__ out) {
    const size_t i = blockIdx.x * size_t{blockDim.x} + threadIdx.x;
    out[i] = in[i];
}

static cudaError_t one_element(const float* x, float* out, bool by_warp, cudaStream_t stream) {
    cudaMemsetAsync(out, 0, sizeof(float), stream);
    one_element_kernel<<<n / 256, 256, 0, stream>>>(x, out, by_warp);
    return cudaGetLastError();
}

static cudaError_t atomic_a_thread(const float* x, float* out, int, cudaStream_t stream) {
    return one_element(x, out, false, stream);
}

static cudaError_t atomic_a_warp(const float* x, float* out, int, cudaStream_t stream) {
    return one_element(x, out, true, stream);
}

static cudaError_t float4_loads(const float* x, float* out, int, cudaStream_t stream) {
    cudaMemsetAsync(out, 0, sizeof(float), stream);
    float4_kernel<<<132 * 8, 256, 0, stream>>>(reinterpret_cast<const float4*>(x), out);
    return cudaGetLastError();
}

static cudaError_t thread_a_row(const float* x, float* out, int rows, cudaStream_t stream) {
    thread_a_row_kernel<<<rows / 256, 256, 0, stream>>>(x, out);
    return cudaGetLastError();
}

static cudaError_t copy(const float* x, float* out, int, cudaStream_t stream) {
    copy_kernel<<<n / 8 / 256, 256, 0, stream>>>(reinterpret_cast<const float4*>(x), reinterpret_cast<float4*>(out));
    return cudaGetLastError();
}

// Each result of `count` is the sum of n / count floats; a copy's are checked as they are.
static int wrong_results(const std::vector<float>& out, bool is_copy) {
    int wrong = 0;
    const size_t terms = is_copy ? 1 : n / out.size();
    for (size_t result = 0; result < out.size(); ++result) {
        double sum = 0;
        for (size_t term = 0; term < terms; ++term) sum += value(result * terms + term);
        wrong += out[result] != sum;
    }
    return wrong;
}

static void measure(const char* name, Sum* entry, const float* x, float* out, int argument, int results, bool last) {
    void* flushed;
    cudaEvent_t begin, end;
    must(cudaMalloc(&flushed, flush_bytes));
    must(cudaEventCreate(&begin));
    must(cudaEventCreate(&end));
    std::vector<float> times, got(results);
    for (int repeat = 0; repeat < 25; ++repeat) {
        must(cudaMemsetAsync(flushed, repeat, flush_bytes));
        must(cudaEventRecord(begin));
        must(entry(x, out, argument, nullptr));
        must(cudaEventRecord(end));
        must(cudaEventSynchronize(end));
        float ms = 0;
        must(cudaEventElapsedTime(&ms, begin, end));
        if (repeat >= 4) times.push_back(ms);  // the first ones raise the clocks
    }
    must(cudaMemcpy(got.data(), out, got.size() * sizeof(float), cudaMemcpyDeviceToHost));
    std::nth_element(times.begin(), times.begin() + times.size() / 2, times.end());
    std::printf("  \"%s\": {\"ms\": %.4f, \"wrong\": %d}%s\n", name, times[times.size() / 2],
                wrong_results(got, entry == copy), last ? "" : ",");
    must(cudaFree(flushed));
}

int main() {
    constexpr int rows = n / warp;
    float *x, *out;
    cudaDeviceProp device;
    must(cudaGetDeviceProperties(&device, 0));
    must(cudaMalloc(&x, size_t{n} * sizeof(float)));
    must(cudaMalloc(&out, size_t{n} / 2 * sizeof(float)));
    fill_kernel<<<4096, 256>>>(x);
    must(cudaGetLastError());
    std::printf("{\n \"device\": \"%s\",\n \"n\": %d,\n \"bytes\": %zu,\n \"sums\": {\n", device.name, n,
                n * sizeof(float));
    measure("copy", copy, x, out, n, n / 2, false);
    measure("warp_sum", warp_sum, x, out, rows, rows, false);
    measure("thread_a_row", thread_a_row, x, out, rows, rows, false);
    measure("reduce_sum", reduce_sum, x, out, n, 1, false);
    measure("float4_loads", float4_loads, x, out, n, 1, false);
    measure("atomic_a_warp", atomic_a_warp, x, out, n, 1, false);
    measure("atomic_a_thread", atomic_a_thread, x, out, n, 1, true);
    std::printf(" }\n}\n");
}
