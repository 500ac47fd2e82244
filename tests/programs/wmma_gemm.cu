// C = A · B on tensor cores: half in, float out, a tile of 16 × 16 a warp. Two ways: fragments straight from global
// memory, and tiles of shared memory that four warps of a block use together.
#include <cuda_fp16.h>
#include <mma.h>

#include "check.h"

using namespace nvcuda;

constexpr int tile = 16;

__global__ void straight(const half* a, const half* b, float* c, int n, int k) {
    const int row = blockIdx.y * tile, column = blockIdx.x * tile;
    wmma::fragment<wmma::matrix_a, tile, tile, tile, half, wmma::row_major> left;
    wmma::fragment<wmma::matrix_b, tile, tile, tile, half, wmma::row_major> right;
    wmma::fragment<wmma::accumulator, tile, tile, tile, float> sum;
    wmma::fill_fragment(sum, 0.0f);
    for (int i = 0; i < k; i += tile) {
        wmma::load_matrix_sync(left, a + row * k + i, k);
        wmma::load_matrix_sync(right, b + i * n + column, n);
        wmma::mma_sync(sum, left, right, sum);
    }
    wmma::store_matrix_sync(c + row * n + column, sum, n, wmma::mem_row_major);
}

// A block computes 32 × 32: each of its four warps one of the four tiles.
constexpr int block_tile = 32, padded = block_tile + 8;

__global__ void shared_tiles(const half* a, const half* b, float* c, int n, int k) {
    __shared__ __align__(32) half left_tile[block_tile][padded];
    __shared__ __align__(32) half right_tile[block_tile][padded];
    const int row = blockIdx.y * block_tile, column = blockIdx.x * block_tile;
    const int warp = threadIdx.x / 32, down = warp / 2 * tile, across = warp % 2 * tile;
    wmma::fragment<wmma::matrix_a, tile, tile, tile, half, wmma::row_major> left;
    wmma::fragment<wmma::matrix_b, tile, tile, tile, half, wmma::row_major> right;
    wmma::fragment<wmma::accumulator, tile, tile, tile, float> sum;
    wmma::fill_fragment(sum, 0.0f);
    for (int start = 0; start < k; start += block_tile) {
        for (int i = threadIdx.x; i < block_tile * block_tile; i += blockDim.x) {
            const int y = i / block_tile, x = i % block_tile;
            left_tile[y][x] = a[(row + y) * k + start + x];
            right_tile[y][x] = b[(start + y) * n + column + x];
        }
        __syncthreads();
        for (int i = 0; i < block_tile; i += tile) {
            wmma::load_matrix_sync(left, &left_tile[down][i], padded);
            wmma::load_matrix_sync(right, &right_tile[i][across], padded);
            wmma::mma_sync(sum, left, right, sum);
        }
        __syncthreads();
    }
    wmma::store_matrix_sync(c + (row + down) * n + column + across, sum, n, wmma::mem_row_major);
}

std::vector<half> halves(const std::vector<float>& values) {
    std::vector<half> made(values.size());
    for (std::size_t i = 0; i < values.size(); ++i) made[i] = __float2half(values[i]);
    return made;
}

int main() {
    const int m = 64, n = 96, k = 128;
    const std::vector<half> a = halves(noise(m * k, 50)), b = halves(noise(k * n, 51));
    std::vector<double> wanted(m * n);
    for (int i = 0; i < m; ++i)
        for (int j = 0; j < n; ++j)
            for (int l = 0; l < k; ++l)
                wanted[i * n + j] += static_cast<double>(__half2float(a[i * k + l])) * __half2float(b[l * n + j]);
    half *d_a = on_device(a), *d_b = on_device(b);
    float* d_c = nullptr;
    CHECK(cudaMalloc(&d_c, wanted.size() * sizeof(float)));
    straight<<<dim3(n / tile, m / tile), 32>>>(d_a, d_b, d_c, n, k);
    CHECK(cudaGetLastError());
    expect(largest_difference(on_host(d_c, wanted.size()), wanted) < 1e-4, "fragments from global memory");
    CHECK(cudaMemset(d_c, 0, wanted.size() * sizeof(float)));
    shared_tiles<<<dim3(n / block_tile, m / block_tile), 128>>>(d_a, d_b, d_c, n, k);
    CHECK(cudaGetLastError());
    expect(largest_difference(on_host(d_c, wanted.size()), wanted) < 1e-4, "fragments from shared memory");
    CHECK(cudaFree(d_a));
    CHECK(cudaFree(d_b));
    CHECK(cudaFree(d_c));
    return verdict();
}
