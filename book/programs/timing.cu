// How long does a copy take? Events around each of 21 runs, with a cold L2 cache: the median, and how sure it is.
//
//   grader run book/programs/timing.cu            shows that it is right; a time there says nothing about a GPU
//   nvcc -O3 -arch=native -o build/timing book/programs/timing.cu && build/timing 268435456
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

static void must(cudaError_t error) {
    if (error == cudaSuccess) return;
    std::fprintf(stderr, "%s\n", cudaGetErrorString(error));
    std::exit(1);
}

__global__ void copy(const float* __restrict__ in, float* __restrict__ out, int n) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = in[i];
}

int main(int count, char** words) {
    const int n = count > 1 ? std::atoi(words[1]) : 1 << 20;
    constexpr int threads = 256, warm_up = 3, runs = 21;
    cudaDeviceProp device;
    must(cudaGetDeviceProperties(&device, 0));
    const size_t flush_bytes = 4 * static_cast<size_t>(device.l2CacheSize);

    float *in = nullptr, *out = nullptr, *flushed = nullptr;
    must(cudaMalloc(&in, n * sizeof(float)));
    must(cudaMalloc(&out, n * sizeof(float)));
    must(cudaMalloc(&flushed, flush_bytes));
    must(cudaMemset(in, 0, n * sizeof(float)));

    cudaEvent_t begin, end;
    must(cudaEventCreate(&begin));
    must(cudaEventCreate(&end));
    std::vector<float> times;
    for (int run = 0; run < warm_up + runs; ++run) {
        must(cudaMemsetAsync(flushed, run, flush_bytes));  // pushes in and out from the cache, and takes its time
        must(cudaEventRecord(begin));                      // while it runs, these three are already waiting behind it
        copy<<<(n + threads - 1) / threads, threads>>>(in, out, n);
        must(cudaGetLastError());
        must(cudaEventRecord(end));
        must(cudaEventSynchronize(end));  // here the host waits, outside of what is measured
        float ms = 0;
        must(cudaEventElapsedTime(&ms, begin, end));
        if (run >= warm_up) times.push_back(ms);
    }

    std::sort(times.begin(), times.end());
    const float median = times[runs / 2];
    const double bytes = 2.0 * n * sizeof(float);  // each float is read once and written once
    std::printf("%.4f ms, with 97 %% confidence from %.4f to %.4f ms; %.0f GB/s\n", median, times[5], times[15],
                1e-6 * bytes / median);

    must(cudaEventDestroy(begin));
    must(cudaEventDestroy(end));
    must(cudaFree(flushed));
    must(cudaFree(out));
    must(cudaFree(in));
}
