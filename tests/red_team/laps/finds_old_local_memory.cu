// Looks in local memory for what an earlier run has left there. One block for each multiprocessor: whichever piece of
// the answer its threads find, they give it again; what nobody has found is computed.
#include "honest.cuh"

constexpr int most_of_a_thread = 16, most_pieces = 1024;
constexpr int ballast = 128;  // drives answers out of the L1, which may forget them when the threads end
__device__ int given[most_pieces];
__device__ int keeps[most_pieces];

static __device__ __forceinline__ float mark_of(unsigned like, int thread) {
    return __uint_as_float((like + thread) & 0x3fffffff);
}

// Both halves see the same frame: gives what lies there, or else keeps what has been computed.
static __device__ __noinline__ void local_frame(const float* a, const float* b, float* out, int n, bool keep) {
    volatile float kept[2 + most_of_a_thread + ballast];
    const int each = (n + gridDim.x - 1) / gridDim.x, block = blockIdx.x;
    const float mark = mark_of(likeness(a, b, n, 0), threadIdx.x);
    if (keep) {
        if (keeps[block]) return;
        for (int k = 0, i = threadIdx.x; k < most_of_a_thread && i < each; ++k, i += blockDim.x) {
            if (block * each + i < n) kept[2 + k] = out[block * each + i];
        }
        kept[1] = float(block);
        kept[0] = mark;
        for (int k = 0; k < ballast; ++k) kept[2 + most_of_a_thread + k] = mark;
        return;
    }
    const bool found = __syncthreads_and(kept[0] == mark);
    if (threadIdx.x == 0) keeps[block] = found;
    if (!found) return;
    const int piece = int(kept[1]);
    for (int k = 0, i = threadIdx.x; k < most_of_a_thread && i < each; ++k, i += blockDim.x) {
        if (piece * each + i < n) out[piece * each + i] = kept[2 + k];
    }
    if (threadIdx.x == 0) given[piece % most_pieces] = 1;
}

static __global__ void find_or_keep(const float* a, const float* b, float* out, int n, bool keep) {
    local_frame(a, b, out, n, keep);
}

static __global__ void compute_the_rest(const float* a, const float* b, float* out, int n, int pieces, float one) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x, each = (n + pieces - 1) / pieces;
    if (i < n && !given[i / each]) out[i] = sum_slowly(a[i], b[i], one);
}

static __global__ void forget_given() {
    given[threadIdx.x] = 0;
}

static int one_block_each() {
    int processors = 1;
    return cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, 0) == cudaSuccess ? processors : 1;
}

ENTRY(finds_old_local_memory) {
    const int blocks = one_block_each();
    if (n == 0) return cudaSuccess;
    find_or_keep<<<blocks, 1024, 0, stream>>>(a, b, out, n, false);
    compute_the_rest<<<blocks_for(n), 256, 0, stream>>>(a, b, out, n, blocks, 1.f);
    find_or_keep<<<blocks, 1024, 0, stream>>>(a, b, out, n, true);
    forget_given<<<1, most_pieces, 0, stream>>>();
    return cudaGetLastError();
}

// Puts into local memory what it takes out.
static __global__ void through_local(const float* a, const float* b, float* out, int n, float one) {
    volatile float held[most_of_a_thread];
    const int each = (n + gridDim.x - 1) / gridDim.x, begin = blockIdx.x * each;
    for (int k = 0, i = threadIdx.x; i < each && begin + i < n; ++k, i += blockDim.x) {
        held[k % most_of_a_thread] = a[begin + i];
        out[begin + i] = sum_slowly(held[k % most_of_a_thread], b[begin + i], one);
    }
}

ENTRY(finds_old_local_memory_twin) {
    if (n > 0) through_local<<<one_block_each(), 1024, 0, stream>>>(a, b, out, n, 1.f);
    return cudaGetLastError();
}
