// Looks in shared memory for what an earlier run has left on this multiprocessor. One block for each: whichever piece
// of the answer lies there, the block gives it again.
#include "honest.cuh"

constexpr int most_of_a_block = 12'000;
constexpr int mark_shared = 0x5ade;

static __global__ void from_old_shared(const float* a, const float* b, float* out, int n, float one) {
    __shared__ float kept[most_of_a_block];
    __shared__ int piece_kept, kept_for[2];
    const int each = (n + gridDim.x - 1) / gridDim.x;
    const bool found = kept_for[0] == mark_shared && kept_for[1] == n && unsigned(piece_kept) < gridDim.x;
    const int begin = (found ? piece_kept : blockIdx.x) * each;
    __syncthreads();
    for (int i = threadIdx.x; i < each && i < most_of_a_block && begin + i < n; i += blockDim.x) {
        if (!found) kept[i] = sum_slowly(a[begin + i], b[begin + i], one);
        out[begin + i] = kept[i];
    }
    if (threadIdx.x == 0) {
        piece_kept = begin / max(each, 1);
        kept_for[0] = mark_shared;
        kept_for[1] = n;
    }
}

static int one_block_each() {
    int processors = 1;
    return cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, 0) == cudaSuccess ? processors : 1;
}

ENTRY(finds_old_shared_memory) {
    if (n > 0) from_old_shared<<<one_block_each(), 1024, 0, stream>>>(a, b, out, n, 1.f);
    return cudaGetLastError();
}

// Puts into shared memory what it takes out.
static __global__ void through_shared(const float* a, const float* b, float* out, int n, float one) {
    __shared__ float held[1024];
    const int each = (n + gridDim.x - 1) / gridDim.x, begin = blockIdx.x * each;
    for (int i = threadIdx.x; i < each && begin + i < n; i += blockDim.x) {
        held[threadIdx.x] = a[begin + i];
        out[begin + i] = sum_slowly(held[threadIdx.x], b[begin + i], one);
    }
}

ENTRY(finds_old_shared_memory_twin) {
    if (n > 0) through_shared<<<one_block_each(), 1024, 0, stream>>>(a, b, out, n, 1.f);
    return cudaGetLastError();
}
