// The softmax of each row: in three passes by a block, and in one pass that keeps maximum and sum together, by a warp.
#include "check.h"

constexpr int threads = 128;

template <typename Combine>
__device__ float across_block(float value, Combine combine) {
    __shared__ float part[threads / 32];
    for (int step = 16; step > 0; step /= 2) value = combine(value, __shfl_xor_sync(0xffffffffu, value, step));
    __syncthreads();  // an earlier call may still be read
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = value;
    __syncthreads();
    value = part[0];
    for (int warp = 1; warp < threads / 32; ++warp) value = combine(value, part[warp]);
    return value;
}

__global__ void by_block(const float* in, float* out, int columns) {
    const float* row = in + blockIdx.x * columns;
    float largest = -INFINITY, sum = 0.0f;
    for (int i = threadIdx.x; i < columns; i += threads) largest = fmaxf(largest, row[i]);
    largest = across_block(largest, [](float a, float b) { return fmaxf(a, b); });
    for (int i = threadIdx.x; i < columns; i += threads) sum += expf(row[i] - largest);
    sum = across_block(sum, [](float a, float b) { return a + b; });
    for (int i = threadIdx.x; i < columns; i += threads) out[blockIdx.x * columns + i] = expf(row[i] - largest) / sum;
}

// Sums of e^(x - largest): with a new maximum the old sum shrinks.
struct Running {
    float largest = -INFINITY, sum = 0.0f;

    __device__ void add(Running other) {
        const float both = fmaxf(largest, other.largest);
        if (both == -INFINITY) return;
        sum = sum * expf(largest - both) + other.sum * expf(other.largest - both);
        largest = both;
    }
};

__global__ void by_warp(const float* in, float* out, int rows, int columns) {
    const int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (row >= rows) return;
    Running running;
    for (int i = lane; i < columns; i += 32) running.add({in[row * columns + i], 1.0f});
    for (int step = 16; step > 0; step /= 2)
        running.add(
            {__shfl_xor_sync(0xffffffffu, running.largest, step), __shfl_xor_sync(0xffffffffu, running.sum, step)});
    for (int i = lane; i < columns; i += 32)
        out[row * columns + i] = expf(in[row * columns + i] - running.largest) / running.sum;
}

int main() {
    const int rows = 20, columns = 300;
    std::vector<float> in = noise(rows * columns, 5);
    for (float& value : in) value *= 30.0f;
    std::vector<double> wanted(in.size());
    for (int row = 0; row < rows; ++row) {
        double largest = -INFINITY, sum = 0.0;
        for (int i = 0; i < columns; ++i) largest = std::fmax(largest, in[row * columns + i]);
        for (int i = 0; i < columns; ++i) sum += std::exp(in[row * columns + i] - largest);
        for (int i = 0; i < columns; ++i) wanted[row * columns + i] = std::exp(in[row * columns + i] - largest) / sum;
    }
    float *d_in = on_device(in), *d_out = nullptr;
    CHECK(cudaMalloc(&d_out, in.size() * sizeof(float)));
    by_block<<<rows, threads>>>(d_in, d_out, columns);
    expect(largest_difference(on_host(d_out, in.size()), wanted) < 1e-6, "by block");
    CHECK(cudaMemset(d_out, 0, in.size() * sizeof(float)));
    by_warp<<<(rows + 3) / 4, threads>>>(d_in, d_out, rows, columns);
    CHECK(cudaGetLastError());
    expect(largest_difference(on_host(d_out, in.size()), wanted) < 1e-6, "by warp");
    CHECK(cudaFree(d_in));
    CHECK(cudaFree(d_out));
    return verdict();
}
