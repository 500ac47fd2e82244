// rmsnorm_f16: y[r][c] = x[r][c] / √(the mean of the squares of row r + eps) · w[c], for half
//
// Why    Models are kept in half: half the bytes, half the time. But a half has 11 significant bits and ends at 65,504:
//        300² is infinite, and a sum of ones stops growing at 2,048. So: half in memory, float in registers.
// Given  x and y, rows × cols halves each in row-major order, w, cols halves, in device memory; eps, a float; Eight, 16
//        bytes of halves, with load_eight and store_eight; block_sum; the launcher and the kernel, which reads a row
//        twice, the second time from the L1 cache, where it is still at hand.
// Write  two functions, about 4 lines: the squares of eight halves, added up in float; eight results, rounded once.
// Goal   Loads and stores are coalesced.
#include <cuda_fp16.h>
#include <cuda_runtime.h>

constexpr int warp = 32;

struct alignas(16) Eight {
    half value[8];
};

__device__ inline bool is_whole(const half* row, int at, int cols) {  // whether 16 bytes can be moved at once
    return at + 7 < cols && reinterpret_cast<size_t>(row) % sizeof(Eight) == 0;
}

__device__ inline Eight load_eight(const half* row, int at, int cols) {
    if (is_whole(row, at, cols)) return *reinterpret_cast<const Eight*>(row + at);
    Eight eight;
    for (int i = 0; i < 8; ++i) eight.value[i] = at + i < cols ? row[at + i] : __float2half(0.0f);
    return eight;
}

__device__ inline void store_eight(half* row, int at, int cols, Eight eight) {
    if (is_whole(row, at, cols))
        *reinterpret_cast<Eight*>(row + at) = eight;
    else
        for (int i = 0; i < 8 && at + i < cols; ++i) row[at + i] = eight.value[i];
}

__device__ inline float squares([[maybe_unused]] Eight x) {
    float sum = 0.0f;
    // --- your code ---
    for (half value : x.value) sum += __half2float(value) * __half2float(value);  // in float a square is exact
    // --- end ---
    return sum;
}

__device__ inline Eight scaled(Eight x, [[maybe_unused]] float by, [[maybe_unused]] Eight w) {
    // --- your code ---
    for (int i = 0; i < 8; ++i)  // rounded once, at the end
        x.value[i] = __float2half(__half2float(x.value[i]) * by * __half2float(w.value[i]));
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

__global__ void rmsnorm_f16_kernel(const half* __restrict__ x, const half* __restrict__ w, half* __restrict__ y,
                                   int cols, float eps) {
    const half* from = x + size_t{blockIdx.x} * cols;
    half* to = y + size_t{blockIdx.x} * cols;
    float sum = 0.0f;
    for (int at = 8 * threadIdx.x; at < cols; at += 8 * blockDim.x) sum += squares(load_eight(from, at, cols));
    const float by = rsqrtf(block_sum(sum) / cols + eps);
    for (int at = 8 * threadIdx.x; at < cols; at += 8 * blockDim.x)
        store_eight(to, at, cols, scaled(load_eight(from, at, cols), by, load_eight(w, at, cols)));
}

extern "C" cudaError_t rmsnorm_f16(const half* x, const half* w, half* y, int rows, int cols, float eps,
                                   cudaStream_t stream) {
    if (rows == 0) return cudaSuccess;
    const int warps = cols < 32 * 1024 ? (cols + 1023) / 1024 : 32;  // a thread for each 32 columns
    rmsnorm_f16_kernel<<<rows, warps * warp, 0, stream>>>(x, w, y, cols, eps);
    return cudaGetLastError();
}
