// Puzzle 4 on a GPU, by hand: its solutions at full size, as JSON.
//
//   nvcc -O3 -std=c++20 -arch=native -o build/puzzle_04 tests/bench/puzzle_04.cu solutions/puzzle_04_wmma/*.cu &&
//   build/puzzle_04 > results/puzzle_04_h200.json
//
// Time is the median of 21 calls by device events, each after 256 MiB of writing that leave nothing of the operands in
// the L2 cache. "wrong" counts results that differ from a sum in double precision by more than the puzzle allows, among
// 65,536 that are looked at. Operands are normally distributed numbers, as nearly as a sum of four uniform ones is.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

using HalfProduct = cudaError_t(const half*, const half*, float*, int, int, int, cudaStream_t);
using Bf16Product = cudaError_t(const __nv_bfloat16*, const __nv_bfloat16*, float*, int, int, int, cudaStream_t);
extern "C" {
HalfProduct gemm_wmma;
HalfProduct gemm_wmma_block;
HalfProduct gemm_wmma_any;
Bf16Product gemm_wmma_bf16;
}

constexpr size_t flush_bytes = 256u << 20;
constexpr int looked_at = 65536, calls = 21;

static void must(cudaError_t error) {
    if (error == cudaSuccess) return;
    std::fprintf(stderr, "%s\n", cudaGetErrorString(error));
    std::exit(1);
}

__device__ float normal(size_t i, unsigned seed) {
    unsigned x = static_cast<unsigned>(i) * 2654435761u ^ seed;
    float sum = 0.0f;
    for (int k = 0; k < 4; ++k) {
        x ^= x << 13, x ^= x >> 17, x ^= x << 5;
        sum += static_cast<float>(x) * 0x1p-32f - 0.5f;
    }
    return sum * 1.732f;
}

template <class T>
__global__ void fill_kernel(T* x, size_t n, unsigned seed) {
    for (size_t i = blockIdx.x * size_t{blockDim.x} + threadIdx.x; i < n; i += size_t{gridDim.x} * blockDim.x)
        x[i] = T(normal(i, seed));
}

template <class T>
__global__ void compare_kernel(const T* A, const T* B, const float* C, int M, int N, int K, unsigned* wrong) {
    const size_t place = (blockIdx.x * size_t{blockDim.x} + threadIdx.x) * 2654435761u % (size_t(M) * N);
    const size_t row = place / N, col = place % N;
    double sum = 0.0;
    for (int k = 0; k < K; ++k) sum += double(float(A[row * K + k])) * double(float(B[size_t(k) * N + col]));
    if (!(fabs(sum - C[place]) <= K * 0x1p-19)) atomicAdd(wrong, 1u);
}

template <class T, class Entry>
void measure(const char* name, Entry* entry, int M, int N, int K, const char* end) {
    T *A, *B;
    float* C;
    char* flush;
    unsigned *wrong, seen = 0;
    must(cudaMalloc(&A, sizeof(T) * M * K));
    must(cudaMalloc(&B, sizeof(T) * K * N));
    must(cudaMalloc(&C, sizeof(float) * M * N));
    must(cudaMalloc(&flush, flush_bytes));
    must(cudaMalloc(&wrong, sizeof *wrong));
    must(cudaMemset(wrong, 0, sizeof *wrong));
    must(cudaMemset(C, 0xff, sizeof(float) * M * N));
    fill_kernel<<<1024, 256>>>(A, size_t(M) * K, 1u);
    fill_kernel<<<1024, 256>>>(B, size_t(K) * N, 77u);
    cudaEvent_t begin, stop;
    must(cudaEventCreate(&begin));
    must(cudaEventCreate(&stop));
    std::vector<float> ms;
    for (int call = 0; call < calls + 3; ++call) {
        must(cudaMemsetAsync(flush, call, flush_bytes));
        must(cudaEventRecord(begin));
        must(entry(A, B, C, M, N, K, nullptr));
        must(cudaEventRecord(stop));
        must(cudaEventSynchronize(stop));
        ms.push_back(0.0f);
        must(cudaEventElapsedTime(&ms.back(), begin, stop));
    }
    compare_kernel<<<looked_at / 256, 256>>>(A, B, C, M, N, K, wrong);
    must(cudaMemcpy(&seen, wrong, sizeof seen, cudaMemcpyDeviceToHost));
    std::sort(ms.begin() + 3, ms.end());
    const float median = ms[3 + calls / 2];
    const double tflops = 2.0 * M * N * K / (median * 1e9);
    std::printf(
        "  {\"name\": \"%s\", \"M\": %d, \"N\": %d, \"K\": %d, \"ms\": %.4f, \"tflops\": %.1f, \"wrong\": %u}%s\n",
        name, M, N, K, median, tflops, seen, end);
    for (void* memory : {static_cast<void*>(A), static_cast<void*>(B), static_cast<void*>(C), static_cast<void*>(flush),
                         static_cast<void*>(wrong)})
        must(cudaFree(memory));
}

int main() {
    cudaDeviceProp device;
    must(cudaGetDeviceProperties(&device, 0));
    std::printf("{\"device\": \"%s\",\n \"calls\": %d,\n \"times\": [\n", device.name, calls);
    measure<half>("gemm_wmma", gemm_wmma, 4096, 4096, 4096, ",");
    measure<half>("gemm_wmma_block", gemm_wmma_block, 4096, 4096, 4096, ",");
    measure<half>("gemm_wmma_any", gemm_wmma_any, 4096, 4096, 4096, ",");
    measure<half>("gemm_wmma_any", gemm_wmma_any, 4095, 4095, 4095, ",");
    measure<__nv_bfloat16>("gemm_wmma_bf16", gemm_wmma_bf16, 4096, 4096, 4096, "");
    std::printf("]}\n");
}
