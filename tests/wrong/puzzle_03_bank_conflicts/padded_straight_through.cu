// transpose_padded: right values; no shared memory, no conflicts, and scattered stores
#include <cuda_runtime.h>
#define TILE 32
#define STEP 8

__global__ void transpose_padded_kernel(const float* in, float* out, int rows, int cols) {
    const int x = blockIdx.x * TILE + threadIdx.x;
    for (int y = blockIdx.y * TILE + threadIdx.y, last = min(y + TILE, rows); y < last; y += STEP)
        if (x < cols) out[x * rows + y] = in[y * cols + x];
}

extern "C" cudaError_t transpose_padded(const float* in, float* out, int rows, int cols, cudaStream_t stream) {
    if (rows == 0 || cols == 0) return cudaSuccess;
    const dim3 block(TILE, STEP), grid((cols + TILE - 1) / TILE, (rows + TILE - 1) / TILE);
    transpose_padded_kernel<<<grid, block, 0, stream>>>(in, out, rows, cols);
    return cudaGetLastError();
}
