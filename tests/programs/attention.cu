// Causal attention, one head a block: keys and values come in tiles through dynamic shared memory, and the softmax is
// taken as they come, so that no row of scores is ever kept.
#include "check.h"

constexpr int dimension = 32, tile = 16;

__global__ void attention(const float* q, const float* k, const float* v, float* out, int length) {
    extern __shared__ float held[];
    float* keys = held;
    float* values = held + tile * dimension;
    const int head = blockIdx.y * length * dimension, own = blockIdx.x * blockDim.x + threadIdx.x;
    float query[dimension], sum[dimension], largest = -INFINITY, weight = 0.0f;
    for (int d = 0; d < dimension; ++d) {
        query[d] = own < length ? q[head + own * dimension + d] : 0.0f;
        sum[d] = 0.0f;
    }
    const int last = min(length, static_cast<int>((blockIdx.x + 1) * blockDim.x));
    for (int start = 0; start < last; start += tile) {
        __syncthreads();
        for (int i = threadIdx.x; i < tile * dimension; i += blockDim.x) {
            const bool there = start + i / dimension < length;
            keys[i] = there ? k[head + start * dimension + i] : 0.0f;
            values[i] = there ? v[head + start * dimension + i] : 0.0f;
        }
        __syncthreads();
        for (int j = 0; j < tile && start + j <= own; ++j) {
            float score = 0.0f;
            for (int d = 0; d < dimension; ++d) score += query[d] * keys[j * dimension + d];
            score *= rsqrtf(static_cast<float>(dimension));
            const float both = fmaxf(largest, score), shrink = expf(largest - both), share = expf(score - both);
            for (int d = 0; d < dimension; ++d) sum[d] = sum[d] * shrink + share * values[j * dimension + d];
            weight = weight * shrink + share;
            largest = both;
        }
    }
    if (own >= length) return;
    for (int d = 0; d < dimension; ++d) out[head + own * dimension + d] = sum[d] / weight;
}

std::vector<double> reference(const std::vector<float>& q, const std::vector<float>& k, const std::vector<float>& v,
                              int heads, int length) {
    std::vector<double> out(q.size());
    for (int head = 0; head < heads; ++head)
        for (int i = 0; i < length; ++i) {
            const int base = head * length * dimension;
            std::vector<double> share(i + 1);
            double total = 0.0;
            for (int j = 0; j <= i; ++j) {
                double score = 0.0;
                for (int d = 0; d < dimension; ++d)
                    score += static_cast<double>(q[base + i * dimension + d]) * k[base + j * dimension + d];
                total += share[j] = std::exp(score / std::sqrt(static_cast<double>(dimension)));
            }
            for (int j = 0; j <= i; ++j)
                for (int d = 0; d < dimension; ++d)
                    out[base + i * dimension + d] += share[j] / total * v[base + j * dimension + d];
        }
    return out;
}

int main() {
    const int heads = 2, length = 50;
    const std::size_t count = heads * length * dimension;
    const std::vector<float> q = noise(count, 11), k = noise(count, 12), v = noise(count, 13);
    float *d_q = on_device(q), *d_k = on_device(k), *d_v = on_device(v), *d_out = nullptr;
    CHECK(cudaMalloc(&d_out, count * sizeof(float)));
    const int threads = 32;
    attention<<<dim3((length + threads - 1) / threads, heads), threads, 2 * tile * dimension * sizeof(float)>>>(
        d_q, d_k, d_v, d_out, length);
    CHECK(cudaGetLastError());
    expect(largest_difference(on_host(d_out, count), reference(q, k, v, heads, length)) < 1e-5, "values");
    for (float* memory : {d_q, d_k, d_v, d_out}) CHECK(cudaFree(memory));
    return verdict();
}
