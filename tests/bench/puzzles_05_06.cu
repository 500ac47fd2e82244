// Puzzles 5 and 6 on a GPU, by hand: their solutions at full size beside kernels that only read, or only copy, as JSON.
//
//   nvcc -O3 -std=c++20 -arch=native -o build/puzzles_05_06 tests/bench/puzzles_05_06.cu
//       solutions/puzzle_05_reductions/[3-8]*.cu solutions/puzzle_06_rmsnorm/*.cu &&
//   build/puzzles_05_06 > results/puzzles_05_06_h200.json
//
// Time is the median of 21 calls by device events, each after 256 MiB of writing that leave nothing of the input in the
// L2 cache. "bytes" are those that must be moved, each once; all matrices have 2^28 floats, or 2^29 halves. Values are
// not looked at here: tests/gpu/solutions.py does that.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <vector>

template <typename T>
using Norm = cudaError_t(const T*, const T*, T*, int, int, float, cudaStream_t);
using Rows = cudaError_t(const float*, float*, int, int, cudaStream_t);
extern "C" {
cudaError_t reduce_sum(const float*, float*, int, cudaStream_t);
cudaError_t reduce_sum_deterministic(const float*, float*, float*, int, cudaStream_t);
Rows row_sum, row_max, row_softmax, col_sum;
Norm<float> rmsnorm_naive, rmsnorm, rmsnorm_vec;
Norm<half> rmsnorm_f16;
Norm<__nv_bfloat16> rmsnorm_bf16;
cudaError_t rmsnorm_backward_dx(const float*, const float*, const float*, float*, int, int, float, cudaStream_t);
cudaError_t rmsnorm_backward(const float*, const float*, const float*, float*, float*, float*, int, int, float,
                             cudaStream_t);
}

constexpr size_t n = 1 << 28, flush_bytes = 256u << 20;
constexpr int cols = 1 << 12, rows = n / cols;
constexpr float eps = 1e-5f;

static void must(cudaError_t error) {
    if (error == cudaSuccess) return;
    std::fprintf(stderr, "%s\n", cudaGetErrorString(error));
    std::exit(1);
}

// Numbers between -1 and 1, of a hash of the index.
template <typename T>
__global__ void fill_kernel(T* x, size_t count) {
    for (size_t i = blockIdx.x * size_t{blockDim.x} + threadIdx.x; i < count; i += size_t{gridDim.x} * blockDim.x) {
        unsigned bits = static_cast<unsigned>(i) * 2654435761u;
        bits = (bits ^ bits >> 15) * 2246822519u;
        x[i] = T((bits >> 8) * 0x1p-23f - 1.0f);
    }
}

__global__ void copy_kernel(const float4* __restrict__ in, float4* __restrict__ out) {
    const size_t i = blockIdx.x * size_t{blockDim.x} + threadIdx.x;
    out[i] = in[i];
}

__global__ void read_kernel(const float4* __restrict__ in, float* __restrict__ out) {
    float sum = 0.0f;
#pragma unroll 8
    for (int i = blockIdx.x * 256 + threadIdx.x; i < int(n / 4); i += 132 * 8 * 256)
        sum += in[i].x + in[i].y + (in[i].z + in[i].w);
    out[blockIdx.x * 256 + threadIdx.x] = sum;
}

static double median_ms(void* flushed, const std::function<cudaError_t()>& call) {
    cudaEvent_t begin, end;
    must(cudaEventCreate(&begin));
    must(cudaEventCreate(&end));
    std::vector<float> times;
    for (int repeat = 0; repeat < 25; ++repeat) {
        must(cudaMemsetAsync(flushed, repeat, flush_bytes));
        must(cudaEventRecord(begin));
        must(call());
        must(cudaEventRecord(end));
        must(cudaEventSynchronize(end));
        float ms = 0;
        must(cudaEventElapsedTime(&ms, begin, end));
        if (repeat >= 4) times.push_back(ms);  // the first ones raise the clocks
    }
    std::nth_element(times.begin(), times.begin() + times.size() / 2, times.end());
    return times[times.size() / 2];
}

int main() {
    float *x, *y, *dy, *w, *small, *scratch;
    void* flushed;
    cudaDeviceProp device;
    must(cudaGetDeviceProperties(&device, 0));
    for (float** matrix : {&x, &y, &dy}) must(cudaMalloc(matrix, n * sizeof(float)));
    must(cudaMalloc(&w, cols * sizeof(float)));
    must(cudaMalloc(&small, n / 256 * sizeof(float)));
    must(cudaMalloc(&scratch, 256 * cols * sizeof(float)));
    must(cudaMalloc(&flushed, flush_bytes));
    const double matrix = n * sizeof(float);
    bool first = true;
    const auto measure = [&](const char* name, const char* ceiling, double bytes, std::function<cudaError_t()> call) {
        std::printf("%s  \"%s\": {\"ms\": %.4f, \"bytes\": %.0f, \"ceiling\": \"%s\"}", first ? "" : ",\n", name,
                    median_ms(flushed, call), bytes, ceiling);
        first = false;
    };
    fill_kernel<<<4096, 256>>>(x, n);
    fill_kernel<<<4096, 256>>>(dy, n);
    fill_kernel<<<16, 256>>>(w, cols);
    std::printf("{\n \"device\": \"%s\",\n \"nvcc\": \"%d.%d\",\n", device.name, __CUDACC_VER_MAJOR__,
                __CUDACC_VER_MINOR__);
    std::printf(
        " \"method\": \"tests/bench/puzzles_05_06.cu: device events, median of 21, cold L2\",\n \"parts\": {\n");
    measure("read", "", matrix, [&] {
        read_kernel<<<132 * 8, 256>>>(reinterpret_cast<float4*>(x), small);
        return cudaGetLastError();
    });
    measure("copy", "", 2 * matrix, [&] {
        copy_kernel<<<n / 4 / 256, 256>>>(reinterpret_cast<float4*>(x), reinterpret_cast<float4*>(y));
        return cudaGetLastError();
    });
    measure("reduce_sum", "read", matrix, [&] { return reduce_sum(x, small, n, nullptr); });
    measure("reduce_sum_deterministic", "read", matrix,
            [&] { return reduce_sum_deterministic(x, small, scratch, n, nullptr); });
    measure("row_sum", "read", matrix, [&] { return row_sum(x, small, rows, cols, nullptr); });
    measure("row_max", "read", matrix, [&] { return row_max(x, small, rows, cols, nullptr); });
    measure("row_softmax", "copy", 2 * matrix, [&] { return row_softmax(x, y, rows, cols, nullptr); });
    measure("col_sum", "read", matrix, [&] { return col_sum(x, small, rows, cols, nullptr); });
    measure("rmsnorm_naive", "copy", 2 * matrix, [&] { return rmsnorm_naive(x, w, y, rows, cols, eps, nullptr); });
    measure("rmsnorm", "copy", 2 * matrix, [&] { return rmsnorm(x, w, y, rows, cols, eps, nullptr); });
    measure("rmsnorm_vec", "copy", 2 * matrix, [&] { return rmsnorm_vec(x, w, y, rows, cols, eps, nullptr); });
    measure("rmsnorm_backward_dx", "", 3 * matrix,
            [&] { return rmsnorm_backward_dx(x, w, dy, y, rows, cols, eps, nullptr); });
    measure("rmsnorm_backward", "", 3 * matrix,
            [&] { return rmsnorm_backward(x, w, dy, y, small, scratch, rows, cols, eps, nullptr); });
    half *xh = reinterpret_cast<half*>(x), *yh = reinterpret_cast<half*>(y), *wh = reinterpret_cast<half*>(w);
    fill_kernel<<<4096, 256>>>(xh, 2 * n);
    fill_kernel<<<16, 256>>>(wh, cols);
    measure("rmsnorm_f16", "copy", 2 * matrix, [&] { return rmsnorm_f16(xh, wh, yh, 2 * rows, cols, eps, nullptr); });
    auto *xb = reinterpret_cast<__nv_bfloat16*>(x), *yb = reinterpret_cast<__nv_bfloat16*>(y);
    auto* wb = reinterpret_cast<__nv_bfloat16*>(w);
    fill_kernel<<<4096, 256>>>(xb, 2 * n);
    fill_kernel<<<16, 256>>>(wb, cols);
    measure("rmsnorm_bf16", "copy", 2 * matrix, [&] { return rmsnorm_bf16(xb, wb, yb, 2 * rows, cols, eps, nullptr); });
    must(cudaDeviceSynchronize());
    std::printf("\n }\n}\n");
}
