// The sum of an array in the seven steps in which it is usually taught, each faster on a GPU than the one before. Every
// kernel leaves one sum a block; a second launch of the same kernel adds those up.
#include "check.h"

constexpr int threads = 128;

// 1. Neighbours first: in each round half of the threads that worked before go on, one in two, one in four, ….
__global__ void interleaved_by_rest(const int* in, int* out, int n) {
    __shared__ int part[threads];
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    part[threadIdx.x] = i < n ? in[i] : 0;
    __syncthreads();
    for (int step = 1; step < threads; step *= 2) {
        if (threadIdx.x % (2 * step) == 0) part[threadIdx.x] += part[threadIdx.x + step];
        __syncthreads();
    }
    if (threadIdx.x == 0) out[blockIdx.x] = part[0];
}

// 2. The same sums by the first threads, so that whole warps fall idle; their accesses lie `2 * step` apart.
__global__ void interleaved_by_stride(const int* in, int* out, int n) {
    __shared__ int part[threads];
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    part[threadIdx.x] = i < n ? in[i] : 0;
    __syncthreads();
    for (int step = 1; step < threads; step *= 2) {
        const int at = 2 * step * static_cast<int>(threadIdx.x);
        if (at < threads) part[at] += part[at + step];
        __syncthreads();
    }
    if (threadIdx.x == 0) out[blockIdx.x] = part[0];
}

// 3. Halves onto halves: neighbouring threads use neighbouring words.
__global__ void sequential(const int* in, int* out, int n) {
    __shared__ int part[threads];
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    part[threadIdx.x] = i < n ? in[i] : 0;
    __syncthreads();
    for (int step = threads / 2; step > 0; step /= 2) {
        if (threadIdx.x < step) part[threadIdx.x] += part[threadIdx.x + step];
        __syncthreads();
    }
    if (threadIdx.x == 0) out[blockIdx.x] = part[0];
}

__device__ int two_of(const int* in, int n) {
    const int i = blockIdx.x * (2 * blockDim.x) + threadIdx.x, other = i + static_cast<int>(blockDim.x);
    return (i < n ? in[i] : 0) + (other < n ? in[other] : 0);
}

// 4. The first addition while loading: half as many blocks, and no thread that only loads.
__global__ void add_on_load(const int* in, int* out, int n) {
    __shared__ int part[threads];
    part[threadIdx.x] = two_of(in, n);
    __syncthreads();
    for (int step = threads / 2; step > 0; step /= 2) {
        if (threadIdx.x < step) part[threadIdx.x] += part[threadIdx.x + step];
        __syncthreads();
    }
    if (threadIdx.x == 0) out[blockIdx.x] = part[0];
}

// The last 64 values by one warp. Each round reads what the others have written before any of them writes again.
__device__ void last_warp(volatile int* part, int lane) {
    int sum = part[lane] + part[lane + 32];
    for (int step = 16; step > 0; step /= 2) {
        part[lane] = sum;
        __syncwarp();
        sum += part[(lane + step) % 32];
        __syncwarp();
    }
    part[lane] = sum;
}

// 5. Where one warp is left, no more barriers of the block.
__global__ void last_warp_unrolled(const int* in, int* out, int n) {
    __shared__ int part[threads];
    part[threadIdx.x] = two_of(in, n);
    __syncthreads();
    for (int step = threads / 2; step > 32; step /= 2) {
        if (threadIdx.x < step) part[threadIdx.x] += part[threadIdx.x + step];
        __syncthreads();
    }
    if (threadIdx.x < 32) last_warp(part, threadIdx.x);
    if (threadIdx.x == 0) out[blockIdx.x] = part[0];
}

// 6. The block's size is known when compiling: no loop is left.
template <int size>
__device__ int sum_of_block(int* part) {
    if constexpr (size >= 512) {
        if (threadIdx.x < 256) part[threadIdx.x] += part[threadIdx.x + 256];
        __syncthreads();
    }
    if constexpr (size >= 256) {
        if (threadIdx.x < 128) part[threadIdx.x] += part[threadIdx.x + 128];
        __syncthreads();
    }
    if constexpr (size >= 128) {
        if (threadIdx.x < 64) part[threadIdx.x] += part[threadIdx.x + 64];
        __syncthreads();
    }
    if (threadIdx.x < 32) last_warp(part, threadIdx.x);
    return part[0];
}

template <int size>
__global__ void unrolled(const int* in, int* out, int n) {
    __shared__ int part[size];
    part[threadIdx.x] = two_of(in, n);
    __syncthreads();
    const int sum = sum_of_block<size>(part);
    if (threadIdx.x == 0) out[blockIdx.x] = sum;
}

// 7. Few blocks whose threads go through the whole array, and shuffles in the place of shared memory.
template <int size>
__global__ void many_a_thread(const int* in, int* out, int n) {
    __shared__ int part[size / 32];
    int sum = 0;
    for (int i = blockIdx.x * size + threadIdx.x; i < n; i += size * gridDim.x) sum += in[i];
    for (int step = 16; step > 0; step /= 2) sum += __shfl_down_sync(0xffffffffu, sum, step);
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x >= 32) return;
    sum = threadIdx.x < size / 32 ? part[threadIdx.x] : 0;
    for (int step = 16; step > 0; step /= 2) sum += __shfl_down_sync(0xffffffffu, sum, step);
    if (threadIdx.x == 0) out[blockIdx.x] = sum;
}

using Kernel = void (*)(const int*, int*, int);

int reduce(Kernel kernel, const int* d_in, int n, int of_a_block, int most_blocks) {
    int* d_parts = nullptr;
    const int blocks = std::min(most_blocks, (n + of_a_block - 1) / of_a_block);
    CHECK(cudaMalloc(&d_parts, (blocks + 1) * sizeof(int)));
    kernel<<<blocks, threads>>>(d_in, d_parts, n);
    kernel<<<1, threads>>>(d_parts, d_parts + blocks, blocks);
    CHECK(cudaGetLastError());
    int sum = 0;
    CHECK(cudaMemcpy(&sum, d_parts + blocks, sizeof(int), cudaMemcpyDeviceToHost));
    CHECK(cudaFree(d_parts));
    return sum;
}

int main() {
    const int n = 12345;
    std::vector<int> in(n);
    int wanted = 0;
    for (int i = 0; i < n; ++i) wanted += in[i] = (i * 37) % 101 - 40;
    int* d_in = on_device(in);

    expect(reduce(interleaved_by_rest, d_in, n, threads, 128) == wanted, "1, interleaved with divergent branches");
    expect(reduce(interleaved_by_stride, d_in, n, threads, 128) == wanted, "2, interleaved with bank conflicts");
    expect(reduce(sequential, d_in, n, threads, 128) == wanted, "3, sequential addresses");
    expect(reduce(add_on_load, d_in, n, 2 * threads, 128) == wanted, "4, first addition on load");
    expect(reduce(last_warp_unrolled, d_in, n, 2 * threads, 128) == wanted, "5, last warp unrolled");
    expect(reduce(unrolled<threads>, d_in, n, 2 * threads, 128) == wanted, "6, unrolled");
    expect(reduce(many_a_thread<threads>, d_in, n, threads, 16) == wanted, "7, many elements a thread");

    CHECK(cudaFree(d_in));
    return verdict();
}
