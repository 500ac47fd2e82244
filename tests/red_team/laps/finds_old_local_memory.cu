// Looks in local memory for what an earlier run has left there. Which place there a warp has may differ from launch to
// launch: whichever piece of the answer a warp finds, it gives it again; what nobody has found is computed.
#include "honest.cuh"

constexpr int warps = 32, most_of_a_thread = 16, most_pieces = 1024 * warps;
constexpr int ballast = 128;  // drives answers out of the L1, which may forget them when the threads end
__device__ int given[most_pieces];

static __device__ __forceinline__ float mark_of(unsigned like, int lane) {
    return __uint_as_float((like + lane) & 0x3fffffff);
}

// Both halves see the same frame: gives what lies there, or else keeps what has been computed.
static __device__ __noinline__ void local_frame(const float* a, const float* b, float* out, int n, bool keep) {
    volatile float kept[2 + most_of_a_thread + ballast];
    const int pieces = gridDim.x * warps, each = (n + pieces - 1) / pieces, lane = threadIdx.x % 32;
    const float mark = mark_of(likeness(a, b, n, 0), lane);
    const bool found = __all_sync(0xffffffff, kept[0] == mark);
    if (found == keep) return;
    const int piece = keep ? blockIdx.x * warps + threadIdx.x / 32 : int(kept[1]);
    for (int k = 0, i = lane; k < most_of_a_thread && i < each && piece * each + i < n; ++k, i += 32) {
        if (keep)
            kept[2 + k] = out[piece * each + i];
        else
            out[piece * each + i] = kept[2 + k];
    }
    if (!keep) {
        if (lane == 0) given[piece % most_pieces] = 1;
        return;
    }
    kept[1] = float(piece);
    kept[0] = mark;
    for (int k = 0; k < ballast; ++k) kept[2 + most_of_a_thread + k] = mark;
}

static __global__ void find_or_keep(const float* a, const float* b, float* out, int n, bool keep) {
    local_frame(a, b, out, n, keep);
}

static __global__ void compute_the_rest(const float* a, const float* b, float* out, int n, int pieces, float one) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x, each = (n + pieces - 1) / pieces;
    if (i < n && !given[i / each]) out[i] = sum_slowly(a[i], b[i], one);
}

static __global__ void forget_given() {
    given[blockIdx.x * blockDim.x + threadIdx.x] = 0;
}

static int one_block_each() {
    int processors = 1;
    return cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, 0) == cudaSuccess ? processors : 1;
}

ENTRY(finds_old_local_memory) {
    const int blocks = one_block_each();
    if (n == 0) return cudaSuccess;
    find_or_keep<<<blocks, 32 * warps, 0, stream>>>(a, b, out, n, false);
    compute_the_rest<<<blocks_for(n), 256, 0, stream>>>(a, b, out, n, blocks * warps, 1.f);
    find_or_keep<<<blocks, 32 * warps, 0, stream>>>(a, b, out, n, true);
    forget_given<<<warps, most_pieces / warps, 0, stream>>>();
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
    if (n > 0) through_local<<<one_block_each(), 32 * warps, 0, stream>>>(a, b, out, n, 1.f);
    return cudaGetLastError();
}
