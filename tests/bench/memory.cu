// The way to memory on a GPU, by hand, as JSON: what a launch costs, how fast data of some size is read again, what
// strides and narrow accesses cost, what banks cost, and how long one load takes.
//
//   nvcc -O3 -std=c++17 -arch=native -o build/memory tests/bench/memory.cu && build/memory > results/h200/memory.json
//
// Times are medians of 15 runs by device events, each after 256 MiB of writing that leave nothing in the L2 cache, if
// not said otherwise. `build/memory small` does the same with little data, to be tried on the software GPU.
#include <cuda_runtime.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <random>
#include <vector>

constexpr unsigned threads = 256;
constexpr size_t KB = 1 << 10, MB = 1 << 20, GB = 1 << 30;

static bool small = false;
static char* flushed = nullptr;
static size_t flush_bytes = 256 * MB;
static cudaStream_t stream;

static void must(cudaError_t error) {
    if (error == cudaSuccess) return;
    std::fprintf(stderr, "%s\n", cudaGetErrorString(error));
    std::exit(1);
}

static double since(std::chrono::steady_clock::time_point start) {
    return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count();
}

static double median(std::vector<double> values) {
    std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
    return values[values.size() / 2];
}

template <typename Work>
static double median_ms(Work work) {
    cudaEvent_t begin, end;
    must(cudaEventCreate(&begin));
    must(cudaEventCreate(&end));
    std::vector<double> times;
    for (int repeat = 0; repeat < (small ? 2 : 17); ++repeat) {
        must(cudaMemsetAsync(flushed, repeat, flush_bytes, stream));
        must(cudaEventRecord(begin, stream));
        work();
        must(cudaGetLastError());
        must(cudaEventRecord(end, stream));
        must(cudaEventSynchronize(end));
        float ms = 0;
        must(cudaEventElapsedTime(&ms, begin, end));
        if (small || repeat >= 2) times.push_back(ms);
    }
    must(cudaEventDestroy(begin));
    must(cudaEventDestroy(end));
    return median(times);
}

// ---- launches ----

__global__ void empty_kernel() {}

static void launches() {
    const int many = small ? 10 : 500;
    const auto row = [&] {
        for (int i = 0; i < many; ++i) empty_kernel<<<1, 32, 0, stream>>>();
    };
    auto start = std::chrono::steady_clock::now();
    empty_kernel<<<1, 32, 0, stream>>>();
    must(cudaStreamSynchronize(stream));
    const double first = since(start);

    std::vector<double> there_and_back, calls;
    for (int i = 0; i < many; ++i) {
        start = std::chrono::steady_clock::now();
        empty_kernel<<<1, 32, 0, stream>>>();
        must(cudaStreamSynchronize(stream));
        there_and_back.push_back(since(start));
    }
    for (int i = 0; i < 5; ++i) {
        start = std::chrono::steady_clock::now();
        row();
        calls.push_back(since(start) / many);
        must(cudaStreamSynchronize(stream));
    }

    cudaGraph_t graph;
    cudaGraphExec_t replayed;
    must(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    row();
    must(cudaStreamEndCapture(stream, &graph));
    must(cudaGraphInstantiate(&replayed, graph, 0));
    std::printf(" \"launch_us\": {\n");
    std::printf("  \"first\": %.1f,\n", first);
    std::printf("  \"host_call\": %.3f,\n", median(calls));
    std::printf("  \"there_and_back\": %.3f,\n", median(there_and_back));
    std::printf("  \"nothing_between_events\": %.3f,\n", 1e3 * median_ms([] {}));
    std::printf("  \"between_events\": %.3f,\n", 1e3 * median_ms([] { empty_kernel<<<1, 32, 0, stream>>>(); }));
    std::printf("  \"in_a_row\": %.3f,\n", 1e3 * median_ms(row) / many);
    std::printf("  \"in_a_graph\": %.3f\n },\n",
                1e3 * median_ms([&] { must(cudaGraphLaunch(replayed, stream)); }) / many);
    must(cudaGraphExecDestroy(replayed));
    must(cudaGraphDestroy(graph));
}

// ---- reading the same data again, past the L1 cache ----

__global__ void read_again_kernel(const float4* __restrict__ data, float* out, unsigned mask, unsigned rounds) {
    const unsigned step = gridDim.x * blockDim.x, mine = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0;
    for (unsigned round = 0; round < rounds; ++round) {
#pragma unroll 4
        for (unsigned i = mine; i <= mask; i += step) {
            const float4 four = __ldcg(data + ((i + round * 4099 * 8) & mask));  // by another multiprocessor each round
            sum += four.x + four.y + four.z + four.w;
        }
    }
    if (sum == -1) *out = sum;  // never: all values are 0
}

static void reading_again(const char* data, float* out, int multiprocessors) {
    std::printf(" \"read_again\": [\n");
    const size_t largest = small ? 2 * MB : 4 * GB;
    for (size_t bytes = small ? MB : 4 * MB; bytes <= largest; bytes *= 2) {
        const unsigned quads = bytes / sizeof(float4);
        const unsigned blocks = std::min<unsigned>(8 * multiprocessors, quads / threads);
        const unsigned rounds = std::max<size_t>(largest / bytes, 2);
        const double ms = median_ms([&] {
            read_again_kernel<<<blocks, threads, 0, stream>>>(reinterpret_cast<const float4*>(data), out, quads - 1,
                                                              rounds);
        });
        std::printf("  {\"mib\": %zu, \"rounds\": %u, \"ms\": %.4f, \"gb_per_s\": %.0f}%s\n", bytes / MB, rounds, ms,
                    1e-6 * bytes * rounds / ms, bytes < largest ? "," : "");
    }
    std::printf(" ],\n");
}

// ---- strides, offsets, widths ----

__global__ void strided_kernel(const float* __restrict__ data, float* out, unsigned stride, unsigned offset) {
    const size_t i = static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (data[i * stride + offset] == -1) *out = 1;
}

static void strides(const char* data, float* out) {
    const size_t reads = small ? 1 << 14 : 1 << 25;
    std::printf(" \"strides\": {\"reads\": %zu, \"times\": [\n", reads);
    for (const unsigned stride : {1, 2, 4, 8, 16, 31}) {
        for (const unsigned offset : {0, 1}) {
            const double ms = median_ms([&] {
                strided_kernel<<<reads / threads, threads, 0, stream>>>(reinterpret_cast<const float*>(data), out,
                                                                        stride, offset);
            });
            std::printf("  {\"stride\": %u, \"offset\": %u, \"ms\": %.4f, \"gb_per_s\": %.0f}%s\n", stride, offset, ms,
                        4e-6 * reads / ms, stride == 31 && offset == 1 ? "" : ",");
        }
    }
    std::printf(" ]},\n");
}

template <typename T>
__global__ void copy_kernel(const T* __restrict__ in, T* __restrict__ out) {
    const size_t i = static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    out[i] = in[i];
}

template <typename T>
static void width(const char* data, char* out, const char* after) {
    const size_t bytes = small ? MB / 4 : GB;
    const double ms = median_ms([&] {
        copy_kernel<T><<<bytes / sizeof(T) / threads, threads, 0, stream>>>(reinterpret_cast<const T*>(data),
                                                                            reinterpret_cast<T*>(out));
    });
    std::printf("  {\"bytes\": %zu, \"ms\": %.4f, \"gb_per_s\": %.0f}%s\n", sizeof(T), ms, 2e-6 * bytes / ms, after);
}

// ---- banks ----

__global__ void banks_kernel(int* cycles, unsigned stride, unsigned loads) {
    __shared__ unsigned words[1024];
    for (unsigned i = threadIdx.x; i < 1024; i += blockDim.x) words[i] = 0;
    __syncthreads();
    volatile unsigned* const place = words + threadIdx.x % 32 * stride;  // lanes of a warp, `stride` words apart
    unsigned sum = 0;
    const long long start = clock64();
    for (unsigned i = 0; i < loads; ++i) sum += *place;
    __syncthreads();
    if (threadIdx.x == 0) cycles[blockIdx.x] = static_cast<int>(clock64() - start) + static_cast<int>(sum);
}

static void banks(char* room, int multiprocessors) {
    const unsigned loads = small ? 16 : 4096, of_block = 1024;
    int* const cycles = reinterpret_cast<int*>(room);
    std::vector<int> counted(multiprocessors);
    std::printf(" \"banks\": [\n");
    for (const unsigned stride : {0, 1, 2, 4, 8, 16, 32}) {
        banks_kernel<<<multiprocessors, of_block, 0, stream>>>(cycles, stride == 32 ? 31 : stride, 1);  // a warm-up
        banks_kernel<<<multiprocessors, of_block, 0, stream>>>(cycles, stride, loads);
        must(cudaGetLastError());
        must(cudaMemcpyAsync(counted.data(), cycles, counted.size() * sizeof(int), cudaMemcpyDeviceToHost, stream));
        must(cudaStreamSynchronize(stream));
        std::vector<double> each(counted.begin(), counted.end());
        std::printf("  {\"stride\": %u, \"cycles_a_load\": %.3f}%s\n", stride, median(each) / loads / (of_block / 32),
                    stride == 32 ? "" : ",");
    }
    std::printf(" ],\n");
}

// ---- how long one load takes ----

__global__ void chase_kernel(const unsigned* __restrict__ next, unsigned hops, bool warm, unsigned* end,
                             long long* cycles) {
    unsigned at = 0;
    for (unsigned hop = 0; warm && hop < hops; ++hop) at = next[at];  // a first time, which fills the caches
    const long long start = clock64();
    for (unsigned hop = 0; hop < hops; ++hop) at = next[at];
    *cycles = clock64() - start;
    *end = at;
}

__global__ void chase_shared_kernel(unsigned hops, unsigned* end, long long* cycles) {
    __shared__ unsigned next[1024];
    for (unsigned i = 0; i < 1024; ++i) next[i] = (i + 33) % 1024;
    unsigned at = 0;
    const long long start = clock64();
    for (unsigned hop = 0; hop < hops; ++hop) at = next[at];
    *cycles = clock64() - start;
    *end = at;
}

// A ring through all lines of `bytes`, in an order drawn by chance: the place of the next line stands in each.
static std::vector<unsigned> ring(size_t bytes, size_t line) {
    const size_t lines = bytes / line, words = line / sizeof(unsigned);
    std::vector<unsigned> order(lines), next(bytes / sizeof(unsigned));
    std::iota(order.begin(), order.end(), 0u);
    std::shuffle(order.begin() + 1, order.end(), std::mt19937(7));
    for (size_t i = 0; i < lines; ++i) next[order[i] * words] = static_cast<unsigned>(order[(i + 1) % lines] * words);
    return next;
}

static void latencies(char* room, char* results) {
    long long* const cycles = reinterpret_cast<long long*>(results);
    unsigned* const end = reinterpret_cast<unsigned*>(results + 64);
    long long counted = 0;
    const auto told = [&](const char* name, size_t bytes, unsigned hops, const char* after) {
        must(cudaGetLastError());
        must(cudaMemcpyAsync(&counted, cycles, sizeof counted, cudaMemcpyDeviceToHost, stream));
        must(cudaStreamSynchronize(stream));
        std::printf("  {\"where\": \"%s\", \"kib\": %zu, \"cycles\": %.1f}%s\n", name, bytes / KB,
                    static_cast<double>(counted) / hops, after);
    };
    std::printf(" \"latency\": [\n");
    const unsigned few = small ? 64 : 4096;
    chase_shared_kernel<<<1, 1, 0, stream>>>(few, end, cycles);
    told("shared", 4 * KB, few, ",");
    struct Place {
        const char* name;
        size_t bytes, line;
    };
    const std::vector<Place> places = {{"L1", 32 * KB, 128}, {"L2", 8 * MB, 256}, {"DRAM", 256 * MB, 4 * KB}};
    for (const Place& place : places) {
        const size_t bytes = small ? 16 * KB : place.bytes, line = small ? 128 : place.line;
        const std::vector<unsigned> next = ring(bytes, line);
        must(cudaMemcpyAsync(room, next.data(), bytes, cudaMemcpyHostToDevice, stream));
        const unsigned hops = bytes / line;
        const bool warm = place.bytes < 64 * MB;
        must(cudaMemsetAsync(flushed, 0, flush_bytes, stream));
        chase_kernel<<<1, 1, 0, stream>>>(reinterpret_cast<unsigned*>(room), hops, warm, end, cycles);
        told(place.name, bytes, hops, place.name == places.back().name ? "" : ",");
    }
    std::printf(" ]\n");
}

int main(int count, char** words) {
    small = count > 1 && std::strcmp(words[1], "small") == 0;
    if (small) flush_bytes = MB;
    const auto start = std::chrono::steady_clock::now();
    must(cudaFree(nullptr));  // makes the context
    const double context_ms = since(start) / 1e3;
    must(cudaStreamCreate(&stream));
    const size_t room = small ? 4 * MB : 4 * GB;
    char *data, *out;
    must(cudaMalloc(&flushed, flush_bytes));
    must(cudaMalloc(&data, room));
    must(cudaMalloc(&out, small ? MB : GB));
    must(cudaMemset(data, 0, room));
    must(cudaMemset(out, 0, small ? MB : GB));
    cudaDeviceProp device;
    must(cudaGetDeviceProperties(&device, 0));
    std::printf("{\n \"device\": \"%s\", \"nvcc\": \"%d.%d.%d\",\n", device.name, __CUDACC_VER_MAJOR__,
                __CUDACC_VER_MINOR__, __CUDACC_VER_BUILD__);
    std::printf(" \"method\": \"tests/bench/memory.cu: device events, median of 15, cold L2\",\n");
    std::printf(" \"multiprocessors\": %d, \"l2_mib\": %.0f, \"context_ms\": %.1f,\n", device.multiProcessorCount,
                device.l2CacheSize / double(MB), context_ms);
    std::printf(" \"registers\": %d, \"shared_kib\": %zu, \"threads\": %d, \"memory_gib\": %.0f,\n",
                device.regsPerMultiprocessor, device.sharedMemPerMultiprocessor / KB,
                device.maxThreadsPerMultiProcessor, device.totalGlobalMem / double(GB));
    launches();
    reading_again(data, reinterpret_cast<float*>(out), device.multiProcessorCount);
    strides(data, reinterpret_cast<float*>(out));
    std::printf(" \"widths\": [\n");
    width<char>(data, out, ",");
    width<short>(data, out, ",");
    width<float>(data, out, ",");
    width<float2>(data, out, ",");
    width<float4>(data, out, "");
    std::printf(" ],\n");
    banks(out, device.multiProcessorCount);
    latencies(data, out);
    std::printf("}\n");
}
