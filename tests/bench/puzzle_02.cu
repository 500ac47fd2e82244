// Puzzle 2 on a GPU, by hand: each solution at its bench size, and past 2^31 elements, as JSON.
//
//   nvcc -O3 -std=c++20 -arch=native -lcublas -o build/puzzle_02 tests/bench/puzzle_02.cu
//   solutions/puzzle_02_tiled_gemm/*.cu && build/puzzle_02 > results/puzzle_02_h200.json
//
// Time is the median of 21 launches by device events, each after 256 MiB of writing that leave nothing of the buffers
// in the L2 cache. The yardstick is cuBLAS's product in single precision, without TF32. The layer is timed with a bias,
// alpha, beta and relu. "far" runs every solution on matrices of more than 2^31 elements and counts wrong results among
// a quarter of a million elements spread over C.
#include <cublas_v2.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <vector>

using Gemm = cudaError_t(const float*, const float*, float*, int, int, int, cudaStream_t);
extern "C" {
Gemm gemm_naive;
Gemm gemm_tiled_even;
Gemm gemm_tiled;
Gemm gemm_thread_column;
Gemm gemm_register_tiled;
Gemm gemm_nt;
Gemm gemm_tn;
cudaError_t gemm_bias_act(const float*, const float*, const float*, float*, int, int, int, float, float, int,
                          cudaStream_t);
}

using Work = std::function<cudaError_t(cudaStream_t)>;
constexpr size_t flush_bytes = 256u << 20;
constexpr int n = 4096, most_columns = 1 << 17;

static void must(cudaError_t error) {
    if (error == cudaSuccess) return;
    std::fprintf(stderr, "%s\n", cudaGetErrorString(error));
    std::exit(1);
}

// What 2.6 gets besides the matrices.
static struct {
    float *bias, alpha, beta;
    int act;
} layer;

static cudaError_t layered(const float* A, const float* B, float* C, int M, int N, int K, cudaStream_t stream) {
    return gemm_bias_act(A, B, layer.bias, C, M, N, K, layer.alpha, layer.beta, layer.act, stream);
}

// `turned`: the matrix lies transposed in memory. `even`: multiples of 16 only.
constexpr struct Product {
    const char* name;
    Gemm* entry;
    bool a_turned, b_turned, even;
} products[] = {{"gemm_naive", gemm_naive},
                {"gemm_tiled_even", gemm_tiled_even, false, false, true},
                {"gemm_tiled", gemm_tiled},
                {"gemm_thread_column", gemm_thread_column},
                {"gemm_register_tiled", gemm_register_tiled},
                {"gemm_bias_act", layered},
                {"gemm_nt", gemm_nt, false, true},
                {"gemm_tn", gemm_tn, true, false}};

// Whole numbers from -8 to 8, by index alone: their products and sums are exact, and known anywhere.
__host__ __device__ inline float value(size_t i) {
    return static_cast<int>((i * 2654435761u >> 7) % 17) - 8;
}

__global__ void fill_kernel(float* x, size_t count) {
    for (size_t i = blockIdx.x * size_t{blockDim.x} + threadIdx.x; i < count; i += size_t{gridDim.x} * blockDim.x)
        x[i] = value(i);
}

__global__ void check_kernel(const float* C, size_t M, size_t N, size_t K, bool a_turned, bool b_turned, size_t step,
                             unsigned long long* wrong) {
    const size_t i = (blockIdx.x * size_t{blockDim.x} + threadIdx.x) * step;
    if (i >= M * N) return;
    const size_t row = i / N, col = i % N;
    float sum = 0.0f;
    for (size_t k = 0; k < K; ++k)
        sum += value(a_turned ? k * M + row : row * K + k) * value(b_turned ? col * K + k : k * N + col);
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

// Wrong results among those that were looked at, of a product with more than 2^31 elements.
static unsigned long long far(const Product& product, int M, int N, int K) {
    const size_t results = size_t(M) * N, step = std::max<size_t>(1, results >> 18) | 1;
    float *A = filled(size_t(M) * K), *B = filled(size_t(K) * N), *C = filled(results);
    must(product.entry(A, B, C, M, N, K, nullptr));
    unsigned long long *wrong, count = 0;
    must(cudaMalloc(&wrong, sizeof count));
    must(cudaMemset(wrong, 0, sizeof count));
    const unsigned checked = static_cast<unsigned>((results + step - 1) / step);
    check_kernel<<<(checked + 255) / 256, 256>>>(C, M, N, K, product.a_turned, product.b_turned, step, wrong);
    must(cudaMemcpy(&count, wrong, sizeof count, cudaMemcpyDeviceToHost));
    for (void* held : {static_cast<void*>(A), static_cast<void*>(B), static_cast<void*>(C), static_cast<void*>(wrong)})
        must(cudaFree(held));
    return count;
}

static void print_times(cudaStream_t stream) {
    float* flushed;
    must(cudaMalloc(&flushed, flush_bytes));
    float *A = filled(size_t{n} * n), *B = filled(size_t{n} * n), *C = filled(size_t{n} * n);
    const auto time = [&](const char* name, const char* after, const Work& work) {
        std::printf("  \"%s\": {\"ms\": %.4f, \"flops\": %.0f}%s\n", name, median_ms(flushed, stream, work),
                    2.0 * n * n * n, after);
    };
    layer.alpha = layer.beta = 0.5f;
    layer.act = 1;
    for (const Product& product : products)
        time(product.name, ",", [&](cudaStream_t s) { return product.entry(A, B, C, n, n, n, s); });
    cublasHandle_t blas;
    cublasCreate(&blas);
    cublasSetStream(blas, stream);
    time("cublas", "", [&](cudaStream_t) {
        const float one = 1.0f, zero = 0.0f;  // column-major: C^T = B^T A^T
        cublasSgemm(blas, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &one, B, n, A, n, &zero, C, n);
        return cudaGetLastError();
    });
    for (void* held : {A, B, C, flushed}) must(cudaFree(held));
}

static void print_far(const Product& product, const char* after) {
    std::vector<std::vector<int>> all = {
        {65536, 48, 36864}, {48, 65536, 36864}, {49152, 49152, 16}, {2097152, 16, 1040}};
    if (!product.even) all.insert(all.end(), {{65539, 7, 36871}, {5, 46349, 46351}, {1100009, 3, 2003}});
    std::printf("  \"%s\": [", product.name);
    const char* before = "";
    for (const std::vector<int>& s : all) {
        std::printf("%s\n   {\"sizes\": [%d, %d, %d], \"wrong\": %llu}", before, s[0], s[1], s[2],
                    far(product, s[0], s[1], s[2]));
        before = ",";
    }
    std::printf("\n  ]%s\n", after);
}

int main() {
    cudaStream_t stream;
    must(cudaStreamCreate(&stream));
    must(cudaMalloc(&layer.bias, most_columns * sizeof(float)));
    must(cudaMemset(layer.bias, 0, most_columns * sizeof(float)));
    cudaDeviceProp device;
    must(cudaGetDeviceProperties(&device, 0));
    std::printf("{\n \"device\": \"%s\",\n \"nvcc\": \"%d.%d.%d\",\n \"n\": %d,\n \"products\": {\n", device.name,
                __CUDACC_VER_MAJOR__, __CUDACC_VER_MINOR__, __CUDACC_VER_BUILD__, n);
    print_times(stream);
    std::printf(" },\n \"far\": {\n");
    layer.alpha = 1.0f;
    layer.beta = 0.0f;
    layer.act = 0;
    for (const Product& product : products) print_far(product, &product == std::end(products) - 1 ? "" : ",");
    std::printf(" }\n}\n");
}
