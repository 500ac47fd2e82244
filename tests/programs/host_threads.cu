// Threads of the host, each with a default stream of its own, and each with its own last error.
#define CUDA_API_PER_THREAD_DEFAULT_STREAM
#include <thread>

#include "check.h"

__global__ void count_up(int* values, int n, int by) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) values[i] += by;
}

__global__ void nothing() {}

// Adds its own number to its own buffer, many times, and leaves an error that no other thread may see.
void work(int number, bool* right) {
    constexpr int n = 200, rounds = 20;
    int* d_values = nullptr;
    std::vector<int> values(n, -1);
    CHECK(cudaMalloc(&d_values, n * sizeof(int)));
    CHECK(cudaMemset(d_values, 0, n * sizeof(int)));
    for (int i = 0; i < rounds; ++i) count_up<<<2, 128>>>(d_values, n, number);
    CHECK(cudaMemcpyAsync(values.data(), d_values, n * sizeof(int), cudaMemcpyDeviceToHost, cudaStreamPerThread));
    CHECK(cudaStreamSynchronize(cudaStreamPerThread));
    CHECK(cudaFree(d_values));
    *right = values == std::vector<int>(n, rounds * number);
    nothing<<<number, 2048>>>();
    *right &= cudaPeekAtLastError() == cudaErrorInvalidValue;
}

int main() {
    constexpr int count = 4;
    bool right[count] = {};
    std::vector<std::thread> threads;
    for (int i = 0; i < count; ++i) threads.emplace_back(work, i + 1, &right[i]);
    for (std::thread& thread : threads) thread.join();
    for (const bool each : right) expect(each, "a thread's results");
    expect(cudaGetLastError() == cudaSuccess, "errors of other threads");
    return verdict();
}
