// A histogram of bytes, by atomics on global memory, and by a histogram of each block's own in shared memory.
#include "check.h"

constexpr int bins = 64;

__global__ void by_global(const unsigned char* in, unsigned* counts, int n) {
    const int step = gridDim.x * blockDim.x;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) atomicAdd(&counts[in[i] % bins], 1u);
}

__global__ void by_shared(const unsigned char* in, unsigned* counts, int n) {
    __shared__ unsigned own[bins];
    for (int bin = threadIdx.x; bin < bins; bin += blockDim.x) own[bin] = 0;
    __syncthreads();
    const int step = gridDim.x * blockDim.x;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) atomicAdd(&own[in[i] % bins], 1u);
    __syncthreads();
    for (int bin = threadIdx.x; bin < bins; bin += blockDim.x)
        if (own[bin] != 0) atomicAdd(&counts[bin], own[bin]);
}

int main() {
    const int n = 20000;
    std::vector<unsigned char> in(n);
    std::vector<unsigned> wanted(bins);
    for (int i = 0; i < n; ++i) {
        in[i] = static_cast<unsigned char>((i * i + 3 * i) >> 3);
        ++wanted[in[i] % bins];
    }
    unsigned char* d_in = on_device(in);
    unsigned* d_counts = nullptr;
    CHECK(cudaMalloc(&d_counts, bins * sizeof(unsigned)));
    CHECK(cudaMemset(d_counts, 0, bins * sizeof(unsigned)));
    by_global<<<8, 256>>>(d_in, d_counts, n);
    expect(on_host(d_counts, bins) == wanted, "atomics on global memory");
    CHECK(cudaMemset(d_counts, 0, bins * sizeof(unsigned)));
    by_shared<<<8, 256>>>(d_in, d_counts, n);
    CHECK(cudaGetLastError());
    expect(on_host(d_counts, bins) == wanted, "a histogram of each block's own");
    CHECK(cudaFree(d_in));
    CHECK(cudaFree(d_counts));
    return verdict();
}
