// rmsnorm_backward_dx: the gradient of a loss by x, where y = rmsnorm(x, w) and dy is the gradient by y
//
// Why    Each x of a row sits in its own y, and through the root in all of the row. With r = 1 / √(mean of x² + eps):
//            dx[c] = r · w[c] · dy[c] - x[c] · r³ · m,   m = the mean of w · dy · x over the row
// Given  x, dy and dx, rows × cols floats each in row-major order, cols at least 1, w, cols floats, in device memory;
//        eps by value; block_sums, which gives every thread of a block two sums at once; a launcher as in 6.2.
// Write  the kernel's body, about 9 lines: both sums in one pass over the row, then dx in a second one.
// Goal   Loads and stores are coalesced.
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

constexpr int warp = 32, of_thread = 4;  // float4s of each matrix that a thread holds

__device__ inline float4 load_four(const float* row, int at, int cols) {
    if (at + 3 < cols && reinterpret_cast<std::uintptr_t>(row) % 16 == 0)
        return *reinterpret_cast<const float4*>(row + at);
    return {at < cols ? row[at] : 0.0f, at + 1 < cols ? row[at + 1] : 0.0f, at + 2 < cols ? row[at + 2] : 0.0f,
            at + 3 < cols ? row[at + 3] : 0.0f};
}

__device__ inline void store_four(float* row, int at, int cols, float4 four) {
    if (at + 3 < cols && reinterpret_cast<std::uintptr_t>(row) % 16 == 0) {
        *reinterpret_cast<float4*>(row + at) = four;
        return;
    }
    const float each[4] = {four.x, four.y, four.z, four.w};
    for (int i = 0; i < 4; ++i)
        if (at + i < cols) row[at + i] = each[i];
}

// Every thread returns the sums of both values over its block. All must call it together, and once.
__device__ inline float2 block_sums(float2 value) {
    __shared__ float2 of_warp[32];
    for (int offset = warp / 2; offset > 0; offset /= 2) {
        value.x += __shfl_down_sync(~0u, value.x, offset);
        value.y += __shfl_down_sync(~0u, value.y, offset);
    }
    if (threadIdx.x % warp == 0) of_warp[threadIdx.x / warp] = value;
    __syncthreads();
    value = {0.0f, 0.0f};
    for (int i = 0; i < blockDim.x / warp; ++i) value = {value.x + of_warp[i].x, value.y + of_warp[i].y};
    return value;
}

__device__ inline float dot(float4 a, float4 b) {
    return a.x * b.x + a.y * b.y + (a.z * b.z + a.w * b.w);
}

__device__ inline float4 times(float4 a, float4 b) {
    return {a.x * b.x, a.y * b.y, a.z * b.z, a.w * b.w};
}

__device__ inline float4 gradient(float4 x, float4 g, float r, float back) {
    return {r * (g.x - x.x * back), r * (g.y - x.y * back), r * (g.z - x.z * back), r * (g.w - x.w * back)};
}

__global__ void __launch_bounds__(1024)  // as many threads as a wide row has: so many registers, and no more
    rmsnorm_backward_dx_kernel(const float* __restrict__ x, const float* __restrict__ w, const float* __restrict__ dy,
                               float* __restrict__ dx, int cols, float eps) {
    const size_t begin = size_t{blockIdx.x} * cols;
    // --- your code ---
    const int step = 4 * blockDim.x;
    float4 value[of_thread], g[of_thread];  // of x, and of w · dy
    int at = 4 * threadIdx.x;
    for (int k = 0; k < of_thread; ++k, at += step) value[k] = load_four(x + begin, at, cols);
    at = 4 * threadIdx.x;
    for (int k = 0; k < of_thread; ++k, at += step)
        g[k] = times(load_four(w, at, cols), load_four(dy + begin, at, cols));
    float2 sums = {0.0f, 0.0f};
    for (int k = 0; k < of_thread; ++k) sums = {sums.x + dot(value[k], value[k]), sums.y + dot(g[k], value[k])};
    for (; at < cols; at += step) {  // what is past all that is held
        const float4 far = load_four(x + begin, at, cols);
        const float4 of_far = times(load_four(w, at, cols), load_four(dy + begin, at, cols));
        sums = {sums.x + dot(far, far), sums.y + dot(of_far, far)};
    }
    sums = block_sums(sums);
    const float r = rsqrtf(sums.x / cols + eps), back = r * r * (sums.y / cols);
    at = 4 * threadIdx.x;
    for (int k = 0; k < of_thread; ++k, at += step) store_four(dx + begin, at, cols, gradient(value[k], g[k], r, back));
    for (; at < cols; at += step) {
        const float4 of_far = times(load_four(w, at, cols), load_four(dy + begin, at, cols));
        store_four(dx + begin, at, cols, gradient(load_four(x + begin, at, cols), of_far, r, back));
    }
    // --- end ---
}

extern "C" cudaError_t rmsnorm_backward_dx(const float* x, const float* w, const float* dy, float* dx, int rows,
                                           int cols, float eps, cudaStream_t stream) {
    if (rows == 0) return cudaSuccess;
    const int warps = (cols + 4 * of_thread * warp - 1) / (4 * of_thread * warp);
    rmsnorm_backward_dx_kernel<<<rows, std::min(warps, 32) * warp, 0, stream>>>(x, w, dy, dx, cols, eps);
    return cudaGetLastError();
}
