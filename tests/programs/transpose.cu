// The transpose of a matrix, from the plain one to tiles in shared memory without bank conflicts.
#include "check.h"

constexpr int tile = 32, rows_a_block = 8;

__global__ void copy(const float* in, float* out, int height, int width) {
    const int x = blockIdx.x * tile + threadIdx.x;
    for (int y = blockIdx.y * tile + threadIdx.y; y < (blockIdx.y + 1) * tile; y += rows_a_block)
        if (x < width && y < height) out[y * width + x] = in[y * width + x];
}

// Reads along rows, writes along columns: each store of a warp touches 32 rows.
__global__ void naive(const float* in, float* out, int height, int width) {
    const int x = blockIdx.x * tile + threadIdx.x;
    for (int y = blockIdx.y * tile + threadIdx.y; y < (blockIdx.y + 1) * tile; y += rows_a_block)
        if (x < width && y < height) out[x * height + y] = in[y * width + x];
}

// `columns` is the length of a row in shared memory: 32 puts a column into one bank, 33 into 32 banks.
template <int columns>
__global__ void tiled(const float* in, float* out, int height, int width) {
    __shared__ float held[tile][columns];
    const int x = blockIdx.x * tile + threadIdx.x, y = blockIdx.y * tile + threadIdx.y;
    for (int row = 0; row < tile; row += rows_a_block)
        if (x < width && y + row < height) held[threadIdx.y + row][threadIdx.x] = in[(y + row) * width + x];
    __syncthreads();
    const int to_x = blockIdx.y * tile + threadIdx.x, to_y = blockIdx.x * tile + threadIdx.y;
    for (int row = 0; row < tile; row += rows_a_block)
        if (to_x < height && to_y + row < width)
            out[(to_y + row) * height + to_x] = held[threadIdx.x][threadIdx.y + row];
}

// No padding: a word's column is turned with its row instead.
__global__ void swizzled(const float* in, float* out, int height, int width) {
    __shared__ float held[tile][tile];
    const int x = blockIdx.x * tile + threadIdx.x, y = blockIdx.y * tile + threadIdx.y;
    for (int row = threadIdx.y; row < tile; row += rows_a_block)
        if (x < width && y + row - static_cast<int>(threadIdx.y) < height)
            held[row][threadIdx.x ^ row] = in[(blockIdx.y * tile + row) * width + x];
    __syncthreads();
    const int to_x = blockIdx.y * tile + threadIdx.x;
    for (int row = threadIdx.y; row < tile; row += rows_a_block) {
        const int to_y = blockIdx.x * tile + row;
        if (to_x < height && to_y < width) out[to_y * height + to_x] = held[threadIdx.x][row ^ threadIdx.x];
    }
}

int main() {
    const int height = 100, width = 77;
    const std::vector<float> in = noise(height * width, 1);
    std::vector<float> wanted(height * width);
    for (int y = 0; y < height; ++y)
        for (int x = 0; x < width; ++x) wanted[x * height + y] = in[y * width + x];
    float *d_in = on_device(in), *d_out = nullptr;
    CHECK(cudaMalloc(&d_out, in.size() * sizeof(float)));

    const dim3 block(tile, rows_a_block), grid((width + tile - 1) / tile, (height + tile - 1) / tile);
    copy<<<grid, block>>>(d_in, d_out, height, width);
    expect(on_host(d_out, in.size()) == in, "copy");
    const struct {
        const char* name;
        void (*kernel)(const float*, float*, int, int);
    } ways[] = {{"naive", naive}, {"tiled", tiled<tile>}, {"padded", tiled<tile + 1>}, {"swizzled", swizzled}};
    for (const auto& way : ways) {
        CHECK(cudaMemset(d_out, 0, in.size() * sizeof(float)));
        way.kernel<<<grid, block>>>(d_in, d_out, height, width);
        CHECK(cudaGetLastError());
        expect(on_host(d_out, in.size()) == wanted, way.name);
    }

    CHECK(cudaFree(d_in));
    CHECK(cudaFree(d_out));
    return verdict();
}
