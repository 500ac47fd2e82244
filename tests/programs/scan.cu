// Prefix sums twice: in three launches, with Blelloch's tree in each block; and in one pass, in which each block looks
// back at what its predecessors have published.
#include "check.h"

constexpr int tile = 256;

// Exclusive, in place: sums up the tree, then down again. `part` has `tile` elements, one thread for two of them.
__device__ int scan_tree(int* part) {
    for (int step = 1; step < tile; step *= 2) {
        __syncthreads();
        const int at = 2 * step * static_cast<int>(threadIdx.x + 1) - 1;
        if (at < tile) part[at] += part[at - step];
    }
    __syncthreads();
    const int total = part[tile - 1];
    __syncthreads();
    if (threadIdx.x == 0) part[tile - 1] = 0;
    for (int step = tile / 2; step > 0; step /= 2) {
        __syncthreads();
        const int at = 2 * step * static_cast<int>(threadIdx.x + 1) - 1;
        if (at < tile) {
            const int left = part[at - step];
            part[at - step] = part[at];
            part[at] += left;
        }
    }
    __syncthreads();
    return total;
}

__global__ void scan_blocks(const int* in, int* out, int* totals, int n) {
    __shared__ int part[tile];
    const int first = blockIdx.x * tile + threadIdx.x, second = first + tile / 2;
    part[threadIdx.x] = first < n ? in[first] : 0;
    part[threadIdx.x + tile / 2] = second < n ? in[second] : 0;
    const int total = scan_tree(part);
    if (first < n) out[first] = part[threadIdx.x];
    if (second < n) out[second] = part[threadIdx.x + tile / 2];
    if (threadIdx.x == 0 && totals) totals[blockIdx.x] = total;
}

__global__ void add_before(int* out, const int* before, int n) {
    const int end = min(n, static_cast<int>(blockIdx.x + 1) * tile);
    for (int i = blockIdx.x * tile + threadIdx.x; i < end; i += blockDim.x) out[i] += before[blockIdx.x];
}

// What a block has published: in the upper half whether nothing (0), its own sum (1) or all up to it (2).
using Published = unsigned long long;

__device__ void publish(Published* at, unsigned state, int value) {
    atomicExch(at, static_cast<Published>(state) << 32 | static_cast<unsigned>(value));
}

// The sum of all tiles before this one, by one thread that goes back until it meets a sum of all.
__device__ int look_back(Published* published, int own) {
    int sum = 0;
    for (int before = own - 1; before >= 0;) {
        const Published seen = atomicAdd(&published[before], 0ull);
        const unsigned state = static_cast<unsigned>(seen >> 32);
        if (state == 0) continue;  // not yet
        sum += static_cast<int>(static_cast<unsigned>(seen));
        if (state == 2) break;
        --before;
    }
    return sum;
}

__global__ void scan_once(const int* in, int* out, Published* published, unsigned* next, int n) {
    __shared__ int part[tile];
    __shared__ int own, before;
    if (threadIdx.x == 0) own = static_cast<int>(atomicAdd(next, 1u));  // in the order in which blocks begin
    __syncthreads();
    const int first = own * tile + threadIdx.x, second = first + tile / 2;
    part[threadIdx.x] = first < n ? in[first] : 0;
    part[threadIdx.x + tile / 2] = second < n ? in[second] : 0;
    const int total = scan_tree(part);
    if (threadIdx.x == 0) {
        publish(&published[own], own == 0 ? 2 : 1, total);
        before = look_back(published, own);
        if (own > 0) publish(&published[own], 2, before + total);
    }
    __syncthreads();
    if (first < n) out[first] = part[threadIdx.x] + before;
    if (second < n) out[second] = part[threadIdx.x + tile / 2] + before;
}

int main() {
    const int n = 6000, tiles = (n + tile - 1) / tile;
    std::vector<int> in(n), wanted(n);
    for (int i = 0; i < n; ++i) in[i] = (i * 7919) % 23 - 5;
    for (int i = 1; i < n; ++i) wanted[i] = wanted[i - 1] + in[i - 1];
    int* d_in = on_device(in);
    int *d_out = nullptr, *d_totals = nullptr, *d_before = nullptr;
    CHECK(cudaMalloc(&d_out, n * sizeof(int)));
    CHECK(cudaMalloc(&d_totals, tiles * sizeof(int)));
    CHECK(cudaMalloc(&d_before, tiles * sizeof(int)));

    scan_blocks<<<tiles, tile / 2>>>(d_in, d_out, d_totals, n);
    scan_blocks<<<1, tile / 2>>>(d_totals, d_before, nullptr, tiles);
    add_before<<<tiles, tile / 2>>>(d_out, d_before, n);
    CHECK(cudaGetLastError());
    expect(on_host(d_out, n) == wanted, "three launches");

    Published* d_published = nullptr;
    unsigned* d_next = nullptr;
    CHECK(cudaMalloc(&d_published, tiles * sizeof(Published)));
    CHECK(cudaMalloc(&d_next, sizeof(unsigned)));
    CHECK(cudaMemset(d_published, 0, tiles * sizeof(Published)));
    CHECK(cudaMemset(d_next, 0, sizeof(unsigned)));
    CHECK(cudaMemset(d_out, 0, n * sizeof(int)));
    scan_once<<<tiles, tile / 2>>>(d_in, d_out, d_published, d_next, n);
    CHECK(cudaGetLastError());
    expect(on_host(d_out, n) == wanted, "one pass with look-back");

    for (void* memory : {static_cast<void*>(d_in), static_cast<void*>(d_out), static_cast<void*>(d_totals),
                         static_cast<void*>(d_before), static_cast<void*>(d_published), static_cast<void*>(d_next)})
        CHECK(cudaFree(memory));
    return verdict();
}
