// Layer norm, forward: each row less its mean, over its deviation, times a weight, plus a bias. Two values are loaded
// at once, and mean and variance come from one pass that keeps them exact (Welford), joined across a warp.
#include "check.h"

struct Moments {
    float count = 0.0f, mean = 0.0f, squares = 0.0f;

    __device__ void add(float value) {
        count += 1.0f;
        const float before = value - mean;
        mean += before / count;
        squares += before * (value - mean);
    }
    __device__ void join(Moments other) {
        const float total = count + other.count;
        if (total == 0.0f) return;
        const float apart = other.mean - mean;
        mean += apart * other.count / total;
        squares += other.squares + apart * apart * count * other.count / total;
        count = total;
    }
};

__global__ void layer_norm(const float2* in, const float2* weight, const float2* bias, float2* out, float* means,
                           int rows, int pairs) {
    const int row = blockIdx.x * blockDim.y + threadIdx.y;
    if (row >= rows) return;
    Moments moments;
    for (int i = threadIdx.x; i < pairs; i += 32) {
        const float2 two = in[row * pairs + i];
        moments.add(two.x);
        moments.add(two.y);
    }
    for (int step = 16; step > 0; step /= 2) {
        const Moments other{__shfl_xor_sync(0xffffffffu, moments.count, step),
                            __shfl_xor_sync(0xffffffffu, moments.mean, step),
                            __shfl_xor_sync(0xffffffffu, moments.squares, step)};
        moments.join(other);
    }
    const float scale = rsqrtf(moments.squares / moments.count + 1e-5f);
    if (threadIdx.x == 0) means[row] = moments.mean;
    for (int i = threadIdx.x; i < pairs; i += 32) {
        const float2 two = in[row * pairs + i], w = weight[i], b = bias[i];
        out[row * pairs + i] =
            make_float2((two.x - moments.mean) * scale * w.x + b.x, (two.y - moments.mean) * scale * w.y + b.y);
    }
}

int main() {
    const int rows = 33, columns = 192;
    std::vector<float> in = noise(rows * columns, 7);
    for (float& value : in) value += 100.0f;  // far from zero: a sum of squares would lose its digits
    const std::vector<float> weight = noise(columns, 8), bias = noise(columns, 9);
    std::vector<double> wanted(in.size()), wanted_means(rows);
    for (int row = 0; row < rows; ++row) {
        double mean = 0.0, variance = 0.0;
        for (int i = 0; i < columns; ++i) mean += in[row * columns + i] / static_cast<double>(columns);
        for (int i = 0; i < columns; ++i) variance += std::pow(in[row * columns + i] - mean, 2) / columns;
        wanted_means[row] = mean;
        for (int i = 0; i < columns; ++i)
            wanted[row * columns + i] =
                (in[row * columns + i] - mean) / std::sqrt(variance + 1e-5) * weight[i] + bias[i];
    }
    float *d_in = on_device(in), *d_weight = on_device(weight), *d_bias = on_device(bias);
    float *d_out = nullptr, *d_means = nullptr;
    CHECK(cudaMalloc(&d_out, in.size() * sizeof(float)));
    CHECK(cudaMalloc(&d_means, rows * sizeof(float)));
    layer_norm<<<(rows + 3) / 4, dim3(32, 4)>>>(reinterpret_cast<float2*>(d_in), reinterpret_cast<float2*>(d_weight),
                                                reinterpret_cast<float2*>(d_bias), reinterpret_cast<float2*>(d_out),
                                                d_means, rows, columns / 2);
    CHECK(cudaGetLastError());
    expect(largest_difference(on_host(d_out, in.size()), wanted) < 1e-4, "values");
    expect(largest_difference(on_host(d_means, rows), wanted_means) < 1e-4, "means");
    for (float* memory : {d_in, d_weight, d_bias, d_out, d_means}) CHECK(cudaFree(memory));
    return verdict();
}
