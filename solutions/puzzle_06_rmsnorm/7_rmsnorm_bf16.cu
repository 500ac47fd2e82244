// rmsnorm_bf16: y[r][c] = x[r][c] / √(the mean of the squares of row r + eps) · w[c], for bfloat16
//
// Why    A bfloat16 is the upper half of a float: the same range, up to 3·10³⁸, and 8 significant bits instead of 24.
//        Nothing that a float holds overflows in it, and a sum of ones stops growing at 256.
// Given  x and y, rows × cols values each, w, cols of them; the rest as in 6.4, with bfloat16 for half.
// Write  two functions, about 4 lines, as in 6.4: the sum of eight squares in float, and eight results, rounded once.
// Goal   Loads and stores are coalesced.
#include <cuda_bf16.h>
#include <cuda_runtime.h>

constexpr int warp = 32;

struct alignas(16) Eight {
    __nv_bfloat16 value[8];
};

__device__ inline bool is_whole(const __nv_bfloat16* row, int at, int cols) {  // whether 16 bytes can be moved at once
    return at + 7 < cols && reinterpret_cast<size_t>(row) % sizeof(Eight) == 0;
}

__device__ inline Eight load_eight(const __nv_bfloat16* row, int at, int cols) {
    if (is_whole(row, at, cols)) return *reinterpret_cast<const Eight*>(row + at);
    Eight eight;
    for (int i = 0; i < 8; ++i) eight.value[i] = at + i < cols ? row[at + i] : __float2bfloat16(0.0f);
    return eight;
}

__device__ inline void store_eight(__nv_bfloat16* row, int at, int cols, Eight eight) {
    if (is_whole(row, at, cols))
        *reinterpret_cast<Eight*>(row + at) = eight;
    else
        for (int i = 0; i < 8 && at + i < cols; ++i) row[at + i] = eight.value[i];
}

__device__ inline float squares([[maybe_unused]] Eight x) {
    float sum = 0.0f;
    // --- your code ---
    for (__nv_bfloat16 value : x.value) sum += __bfloat162float(value) * __bfloat162float(value);
    // --- end ---
    return sum;
}

__device__ inline Eight scaled(Eight x, [[maybe_unused]] float by, [[maybe_unused]] Eight w) {
    // --- your code ---
    for (int i = 0; i < 8; ++i)  // rounded once, at the end
        x.value[i] = __float2bfloat16(__bfloat162float(x.value[i]) * by * __bfloat162float(w.value[i]));
    // --- end ---
    return x;
}

__device__ inline float block_sum(float value) {
    __shared__ float of_warp[32];
    for (int offset = warp / 2; offset > 0; offset /= 2) value += __shfl_down_sync(~0u, value, offset);
    if (threadIdx.x % warp == 0) of_warp[threadIdx.x / warp] = value;
    __syncthreads();
    value = 0.0f;
    for (int i = 0; i < blockDim.x / warp; ++i) value += of_warp[i];
    return value;
}

__global__ void rmsnorm_bf16_kernel(const __nv_bfloat16* __restrict__ x, const __nv_bfloat16* __restrict__ w,
                                    __nv_bfloat16* __restrict__ y, int cols, float eps) {
    const __nv_bfloat16* from = x + size_t{blockIdx.x} * cols;
    __nv_bfloat16* to = y + size_t{blockIdx.x} * cols;
    float sum = 0.0f;
    for (int at = 8 * threadIdx.x; at < cols; at += 8 * blockDim.x) sum += squares(load_eight(from, at, cols));
    const float by = rsqrtf(block_sum(sum) / cols + eps);
    for (int at = 8 * threadIdx.x; at < cols; at += 8 * blockDim.x)
        store_eight(to, at, cols, scaled(load_eight(from, at, cols), by, load_eight(w, at, cols)));
}

extern "C" cudaError_t rmsnorm_bf16(const __nv_bfloat16* x, const __nv_bfloat16* w, __nv_bfloat16* y, int rows,
                                    int cols, float eps, cudaStream_t stream) {
    if (rows == 0) return cudaSuccess;
    const int warps = cols < 32 * 1024 ? (cols + 1023) / 1024 : 32;
    rmsnorm_bf16_kernel<<<rows, warps * warp, 0, stream>>>(x, w, y, cols, eps);
    return cudaGetLastError();
}
