// Puzzles 2 and 3 on a GPU, by hand: each solution at its bench size, and past 2^31 elements, as JSON.
//
//   nvcc -O3 -std=c++20 -arch=native -lcublas -o build/puzzles_02_03 tests/bench/puzzles_02_03.cu
//   solutions/puzzle_02_tiled_gemm/*.cu solutions/puzzle_03_bank_conflicts/*.cu &&
//   build/puzzles_02_03 > results/puzzles_02_03_h200.json
//
// Time is the median of 21 launches by device events, each after 256 MiB of writing that leave nothing of the buffers
// in the L2 cache. The yardsticks are a copy with 16-byte accesses and cuBLAS's product in single precision. "far" runs
// every solution on matrices of more than 2^31 elements and counts wrong results: all of a transpose, and of a product
// a quarter of a million elements spread over C.
#include <cublas_v2.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <utility>
#include <vector>

using Gemm = cudaError_t(const float*, const float*, float*, int, int, int, cudaStream_t);
using Transpose = cudaError_t(const float*, float*, int, int, cudaStream_t);
extern "C" {
Gemm gemm_naive;
Gemm gemm_tiled_even;
Gemm gemm_tiled;
Transpose transpose_naive;
Transpose transpose_tiled;
Transpose transpose_padded;
}

constexpr struct {
    const char* name;
    Gemm* entry;
} products[] = {{"gemm_naive", gemm_naive}, {"gemm_tiled_even", gemm_tiled_even}, {"gemm_tiled", gemm_tiled}};
constexpr struct {
    const char* name;
    Transpose* entry;
} transposes[] = {
    {"transpose_naive", transpose_naive}, {"transpose_tiled", transpose_tiled}, {"transpose_padded", transpose_padded}};

using Work = std::function<cudaError_t(cudaStream_t)>;
constexpr size_t flush_bytes = 256u << 20;
constexpr int n = 4096, side = 16384;

static void must(cudaError_t error) {
    if (error == cudaSuccess) return;
    std::fprintf(stderr, "%s\n", cudaGetErrorString(error));
    std::exit(1);
}

// Whole numbers from -8 to 8, by index alone: their products and sums are exact, and known anywhere.
__host__ __device__ inline float value(size_t i) {
    return static_cast<int>((i * 2654435761u >> 7) % 17) - 8;
}

__global__ void fill_kernel(float* x, size_t count) {
    for (size_t i = blockIdx.x * size_t{blockDim.x} + threadIdx.x; i < count; i += size_t{gridDim.x} * blockDim.x)
        x[i] = value(i);
}

__global__ void copy_kernel(const float4* __restrict__ in, float4* __restrict__ out) {
    const size_t i = blockIdx.x * size_t{blockDim.x} + threadIdx.x;
    out[i] = in[i];
}

__global__ void check_transpose_kernel(const float* out, size_t rows, size_t cols, unsigned long long* wrong) {
    for (size_t i = blockIdx.x * size_t{blockDim.x} + threadIdx.x; i < rows * cols; i += size_t{gridDim.x} * blockDim.x)
        if (out[i] != value(i % rows * cols + i / rows)) atomicAdd(wrong, 1);
}

__global__ void check_product_kernel(const float* C, size_t M, size_t N, size_t K, size_t step,
                                     unsigned long long* wrong) {
    const size_t i = (blockIdx.x * size_t{blockDim.x} + threadIdx.x) * step;
    if (i >= M * N) return;
    float sum = 0.0f;
    for (size_t k = 0; k < K; ++k) sum += value(i / N * K + k) * value(k * N + i % N);
    if (C[i] != sum) atomicAdd(wrong, 1);
}

static float* filled(size_t count) {
    float* x;
    must(cudaMalloc(&x, count * sizeof(float)));
    fill_kernel<<<4096, 256>>>(x, count);
    must(cudaGetLastError());
    return x;
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

// What `check` counts on the device: it gets a counter that is zero.
static unsigned long long counted(const std::function<void(unsigned long long*)>& check) {
    unsigned long long *wrong, count = 0;
    must(cudaMalloc(&wrong, sizeof count));
    must(cudaMemset(wrong, 0, sizeof count));
    check(wrong);
    must(cudaMemcpy(&count, wrong, sizeof count, cudaMemcpyDeviceToHost));
    must(cudaFree(wrong));
    return count;
}

static unsigned long long far_transpose(Transpose* entry, int rows, int cols) {
    const size_t elements = size_t(rows) * cols;
    float *in = filled(elements), *out = filled(elements);
    must(entry(in, out, rows, cols, nullptr));
    const auto wrong = counted([&](auto* count) { check_transpose_kernel<<<4096, 256>>>(out, rows, cols, count); });
    must(cudaFree(in));
    must(cudaFree(out));
    return wrong;
}

static unsigned long long far_product(Gemm* entry, int M, int N, int K) {
    const size_t results = size_t(M) * N, step = std::max<size_t>(1, results >> 18) | 1;
    float *A = filled(size_t(M) * K), *B = filled(size_t(K) * N), *C = filled(results);
    must(entry(A, B, C, M, N, K, nullptr));
    const unsigned checked = static_cast<unsigned>((results + step - 1) / step);
    const auto wrong =
        counted([&](auto* count) { check_product_kernel<<<(checked + 255) / 256, 256>>>(C, M, N, K, step, count); });
    must(cudaFree(A));
    must(cudaFree(B));
    must(cudaFree(C));
    return wrong;
}

static void print_far(const char* name, std::vector<std::pair<std::vector<int>, unsigned long long>> cases,
                      const char* after) {
    std::printf("  \"%s\": [", name);
    for (size_t i = 0; i < cases.size(); ++i) {
        std::printf("%s{\"sizes\": [", i ? ", " : "");
        for (size_t j = 0; j < cases[i].first.size(); ++j) std::printf("%s%d", j ? ", " : "", cases[i].first[j]);
        std::printf("], \"wrong\": %llu}", cases[i].second);
    }
    std::printf("]%s\n", after);
}

int main() {
    cudaStream_t stream;
    must(cudaStreamCreate(&stream));
    float* flushed;
    must(cudaMalloc(&flushed, flush_bytes));
    float *A = filled(size_t{side} * side), *B = filled(size_t{n} * n), *C = filled(size_t{side} * side);
    cudaDeviceProp device;
    must(cudaGetDeviceProperties(&device, 0));
    std::printf("{\n \"device\": \"%s\",\n \"nvcc\": \"%d.%d.%d\",\n \"n\": %d,\n \"side\": %d,\n", device.name,
                __CUDACC_VER_MAJOR__, __CUDACC_VER_MINOR__, __CUDACC_VER_BUILD__, n, side);

    const auto time = [&](const char* name, double amount, const char* unit, const char* after, const Work& work) {
        const double ms = median_ms(flushed, stream, work);
        std::printf("  \"%s\": {\"ms\": %.4f, \"%s\": %.0f}%s\n", name, ms, unit, amount, after);
    };
    cublasHandle_t blas;
    cublasCreate(&blas);
    cublasSetStream(blas, stream);
    const double flops = 2.0 * n * n * n, bytes = 8.0 * side * side;
    std::printf(" \"products\": {\n");
    for (const auto& [name, entry] : products)
        time(name, flops, "flops", ",", [&](cudaStream_t s) { return entry(A, B, C, n, n, n, s); });
    time("cublas", flops, "flops", "", [&](cudaStream_t) {
        const float one = 1.0f, zero = 0.0f;  // column-major: C^T = B^T A^T
        cublasSgemm(blas, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &one, B, n, A, n, &zero, C, n);
        return cudaGetLastError();
    });
    std::printf(" },\n \"transposes\": {\n");
    for (const auto& [name, entry] : transposes)
        time(name, bytes, "bytes", ",", [&](cudaStream_t s) { return entry(A, C, side, side, s); });
    time("copy", bytes, "bytes", "", [&](cudaStream_t s) {
        copy_kernel<<<side / 4 * (side / 256), 256, 0, s>>>(reinterpret_cast<float4*>(A), reinterpret_cast<float4*>(C));
        return cudaGetLastError();
    });
    std::printf(" },\n \"far\": {\n");
    must(cudaFree(A));
    must(cudaFree(B));
    must(cudaFree(C));

    for (const auto& [name, entry] : products) {
        std::vector<std::pair<std::vector<int>, unsigned long long>> cases;
        std::vector<std::vector<int>> all = {
            {65536, 48, 36864}, {48, 65536, 36864}, {49152, 49152, 16}, {2097152, 16, 1040}};
        if (entry != gemm_tiled_even) all.insert(all.end(), {{65539, 7, 36871}, {5, 46349, 46351}, {1100009, 3, 2003}});
        for (const std::vector<int>& s : all) cases.push_back({s, far_product(entry, s[0], s[1], s[2])});
        print_far(name, cases, ",");
    }
    for (const auto& [name, entry] : transposes) {
        std::vector<std::pair<std::vector<int>, unsigned long long>> cases;
        for (const std::vector<int>& s : std::vector<std::vector<int>>{
                 {46349, 46351}, {2147483647, 1}, {1, 2147483647}, {715827883, 3}, {70001, 33331}})
            cases.push_back({s, far_transpose(entry, s[0], s[1])});
        print_far(name, cases, entry == transpose_padded ? "" : ",");
    }
    std::printf(" }\n}\n");
}
