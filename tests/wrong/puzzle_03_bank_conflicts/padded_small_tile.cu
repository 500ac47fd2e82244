// transpose_padded: right values; tiles of 16 with rows of 16: lanes 0, 2, 4 … share a bank
#include <cuda_runtime.h>
#define TILE 16
#define STEP 16

__global__ void transpose_padded_kernel(const float* in, float* out, int rows, int cols) {
    __shared__ float tile[TILE][TILE];
    const int tx = threadIdx.x, ty = threadIdx.y;
    int x = blockIdx.x * TILE + tx;
    int y = blockIdx.y * TILE + ty;
    for (int j = 0; j < TILE; j += STEP)
        if (x < cols && y + j < rows) tile[ty + j][tx] = in[(y + j) * cols + x];
    __syncthreads();
    x = blockIdx.y * TILE + tx;
    y = blockIdx.x * TILE + ty;
    for (int j = 0; j < TILE; j += STEP)
        if (x < rows && y + j < cols) out[(y + j) * rows + x] = tile[tx][ty + j];
}

extern "C" cudaError_t transpose_padded(const float* in, float* out, int rows, int cols, cudaStream_t stream) {
    if (rows == 0 || cols == 0) return cudaSuccess;
    const dim3 block(TILE, STEP), grid((cols + TILE - 1) / TILE, (rows + TILE - 1) / TILE);
    transpose_padded_kernel<<<grid, block, 0, stream>>>(in, out, rows, cols);
    return cudaGetLastError();
}
