// flash_attention_f32: o = softmax(scale · q · kᵀ) · v and the logarithm of the sums, tile by tile, no score stored
//
// Why    8.3 reads all keys and values for each query. Here 32 queries share them: a block brings 32 keys and 32 values
//        into shared memory, all its queries use them, and the next 32 follow. The 32 x 32 scores live in registers,
//        for as long as it takes to add them up: memory grows with the length, no longer with its square.
// Given  q and o [bh, q_len, d], k and v [bh, k_len, d], lse [bh, q_len], floats in device memory, row-major; d from 1
//        to 128; scale of any sign. With causal = 1 query i sees the keys j <= i + k_len - q_len. lse[i] is the natural
//        logarithm of the sum of exp(score) over the keys that i sees; where there is none, o is 0 and lse -infinity.
//        A block of 8 warps has 32 queries, in `queries`, which is 0 from column d on; a warp has 4 of them, from `row`
//        on. Of the scores a lane has one key's, of o the columns lane, lane + 32, …, `each` of them; wide = 32 · each.
// Write  the kernel's body, about 35 lines: a loop over tiles of keys, as far as a query of this block sees; the tiles,
//        0 where nothing is; the scores of 4 queries and this lane's key; largest, sum and total brought up to date as
//        in 8.3; weight · value for all keys of the tile; at the end o and lse.
// Goal   k and v are read once for 32 queries, and only as far as one of these sees; only o and lse are stored.
#include <cuda_runtime.h>

#include <cmath>  // INFINITY

constexpr int warp = 32, warps = 8, tile = 32, rows = tile / warps;

// Every lane returns the maximum of the 32 values of its warp. All 32 lanes must call it together.
__device__ inline float warp_max(float value) {
    for (int offset = warp / 2; offset > 0; offset /= 2) value = fmaxf(value, __shfl_xor_sync(~0u, value, offset));
    return value;
}

// The same for the sum.
__device__ inline float warp_sum(float value) {
    for (int offset = warp / 2; offset > 0; offset /= 2) value += __shfl_xor_sync(~0u, value, offset);
    return value;
}

template <int each>
__global__ void flash_attention_f32_kernel(const float* __restrict__ q, const float* __restrict__ k,
                                           const float* __restrict__ v, float* __restrict__ o, float* __restrict__ lse,
                                           int q_len, int k_len, int d, float scale, int causal) {
    constexpr int wide = warp * each;
    // Column c of key j belongs at keys[j][c ^ j], so that 32 lanes with a key each find 32 banks, as in 3.5.
    [[maybe_unused]] __shared__ float queries[tile][wide], keys[tile][wide], values[tile][wide];
    const int lane = threadIdx.x % warp, mine = threadIdx.x / warp, tiles = (q_len + tile - 1) / tile;
    const int first = blockIdx.x % tiles * tile;  // the query of row 0
    [[maybe_unused]] const int row = mine * rows;
    const size_t head = blockIdx.x / tiles;
    q += head * q_len * d, o += head * q_len * d, k += head * k_len * d, v += head * k_len * d, lse += head * q_len;
    for (int i = mine; i < tile; i += warps)
        for (int c = lane; c < wide; c += warp)
            queries[i][c] = first + i < q_len && c < d ? q[size_t(first + i) * d + c] : 0.0f;
    // --- your code ---
    // --- end ---
}

extern "C" cudaError_t flash_attention_f32(const float* q, const float* k, const float* v, float* o, float* lse, int bh,
                                           int q_len, int k_len, int d, float scale, int causal, cudaStream_t stream) {
    if (bh == 0 || q_len == 0) return cudaSuccess;
    const unsigned blocks = unsigned(bh) * ((q_len + tile - 1) / tile);
    const auto kernel = d > 2 * warp ? flash_attention_f32_kernel<4> : flash_attention_f32_kernel<2>;
    kernel<<<blocks, warps * warp, 0, stream>>>(q, k, v, o, lse, q_len, k_len, d, scale, causal);
    return cudaGetLastError();
}
