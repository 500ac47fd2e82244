// Keeps the elements above a threshold: one atomic a warp gives room for all of its lanes that found one.
#include <cooperative_groups.h>

#include <algorithm>

#include "check.h"

__device__ int place_by_ballot(int* count) {
    const unsigned lanes = __activemask();
    const unsigned lane = threadIdx.x % 32;
    const int leader = __ffs(static_cast<int>(lanes)) - 1;
    int first = 0;
    if (static_cast<int>(lane) == leader) first = atomicAdd(count, __popc(lanes));
    first = __shfl_sync(lanes, first, leader);
    return first + __popc(lanes & ((1u << lane) - 1));
}

__device__ int place_by_group(int* count) {
    const auto lanes = cooperative_groups::coalesced_threads();
    int first = 0;
    if (lanes.thread_rank() == 0) first = atomicAdd(count, static_cast<int>(lanes.size()));
    return lanes.shfl(first, 0) + static_cast<int>(lanes.thread_rank());
}

template <bool by_group>
__global__ void keep_above(const float* in, float* out, int* count, float threshold, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n || in[i] <= threshold) return;
    out[by_group ? place_by_group(count) : place_by_ballot(count)] = in[i];
}

void run(bool by_group, const std::vector<float>& in, const std::vector<float>& wanted, const char* name) {
    const int n = static_cast<int>(in.size());
    float *d_in = on_device(in), *d_out = nullptr;
    int *d_count = nullptr, count = 0;
    CHECK(cudaMalloc(&d_out, n * sizeof(float)));
    CHECK(cudaMalloc(&d_count, sizeof(int)));
    CHECK(cudaMemset(d_count, 0, sizeof(int)));
    const auto kernel = by_group ? keep_above<true> : keep_above<false>;
    kernel<<<(n + 127) / 128, 128>>>(d_in, d_out, d_count, 0.25f, n);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(&count, d_count, sizeof(int), cudaMemcpyDeviceToHost));
    std::vector<float> kept = on_host(d_out, static_cast<std::size_t>(count));
    std::sort(kept.begin(), kept.end());  // warps come in any order
    expect(kept == wanted, name);
    CHECK(cudaFree(d_in));
    CHECK(cudaFree(d_out));
    CHECK(cudaFree(d_count));
}

int main() {
    const std::vector<float> in = noise(5000, 3);
    std::vector<float> wanted;
    std::copy_if(in.begin(), in.end(), std::back_inserter(wanted), [](float value) { return value > 0.25f; });
    std::sort(wanted.begin(), wanted.end());
    run(false, in, wanted, "by ballot");
    run(true, in, wanted, "by a group of those that came");
    return verdict();
}
