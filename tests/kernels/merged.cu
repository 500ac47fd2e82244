// What ptxas merges and what it leaves, one kernel each. The five first are measured examples; see test_merging.py.
#include <cuda_runtime.h>

__global__ void column(const float* in, float* out) {
    __shared__ float s[32][32];
    int t = threadIdx.x;
    for (int j = 0; j < 32; ++j) s[j][t] = in[j * 32 + t];
    __syncthreads();
    float sum = 0;
    for (int j = 0; j < 32; ++j) sum += s[t][j];  // column
    out[t] = sum;
}

__global__ void padded(const float* in, float* out) {
    __shared__ float s[32][33];
    int t = threadIdx.x;
    for (int j = 0; j < 32; ++j) s[j][t] = in[j * 32 + t];
    __syncthreads();
    float sum = 0;
    for (int j = 0; j < 32; ++j) sum += s[t][j];  // padded
    out[t] = sum;
}

template <int T>
__device__ void gemm(const float* a, const float* b, float* c, int n) {
    __shared__ float as[T][T], bs[T][T];
    int x = threadIdx.x, y = threadIdx.y, column = blockIdx.x * T + x, row = blockIdx.y * T + y;
    float sum = 0;
    for (int k = 0; k < n; k += T) {
        as[y][x] = a[row * n + k + x];
        bs[y][x] = b[(k + y) * n + column];
        __syncthreads();
        for (int i = 0; i < T; ++i) sum += as[y][i] * bs[i][x];  // gemm
        __syncthreads();
    }
    c[row * n + column] = sum;
}

__global__ void gemm16(const float* a, const float* b, float* c, int n) {
    gemm<16>(a, b, c, n);
}

__global__ void gemm32(const float* a, const float* b, float* c, int n) {
    gemm<32>(a, b, c, n);
}

__global__ void transpose(const float* in, float* out, int n) {
    __shared__ float s[32][32];
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 8) s[threadIdx.y + j][threadIdx.x] = in[(y + j) * n + x];
    __syncthreads();
    x = blockIdx.y * 32 + threadIdx.x, y = blockIdx.x * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 8) out[(y + j) * n + x] = s[threadIdx.x][threadIdx.y + j];  // transpose
}

__global__ void row_stores(const float* in, float* out) {
    __shared__ float s[32][32];
    int t = threadIdx.x;
    for (int j = 0; j < 32; ++j) s[t][j] = in[j * 32 + t];  // row stores
    __syncthreads();
    float sum = 0;
    for (int j = 0; j < 32; ++j) sum += s[j][t];
    out[t] = sum;
}

__global__ void backwards(const float* in, float* out) {
    __shared__ float s[32][32];
    int t = threadIdx.x;
    for (int j = 0; j < 32; ++j) s[j][t] = in[j * 32 + t];
    __syncthreads();
    float sum = 0;
    for (int j = 31; j >= 0; --j) sum = 2 * sum + s[t][j];  // backwards
    out[t] = sum;
}

__global__ void with_a_gap(const float* in, float* out) {
    __shared__ float s[64];
    int t = threadIdx.x;
    s[t] = in[t];
    s[t + 32] = in[t + 32];
    __syncthreads();
    const float* four = &s[4 * (t & 7)];
    out[t] = four[0] + 2 * four[1] + 3 * four[3];  // gap
}

__global__ void own_four(const float* in, float* out) {
    __shared__ float s[128];
    int t = threadIdx.x;
    for (int j = 0; j < 4; ++j) s[j * 32 + t] = in[j * 32 + t];
    __syncthreads();
    float sum = 0;
    for (int j = 0; j < 4; ++j) sum += s[4 * t + j];  // own four
    out[t] = sum;
}

__global__ void global_pairs(const float* in, float* out) {
    int t = threadIdx.x;
    out[t] = in[2 * t] + 2 * in[2 * t + 1];  // global pairs
}

__global__ void bytes(const unsigned char* in, unsigned char* out) {
    __shared__ unsigned char s[256];
    int t = threadIdx.x;
    for (int j = 0; j < 8; ++j) s[j * 32 + t] = in[j * 32 + t];
    __syncthreads();
    unsigned sum = 0;
    for (int j = 0; j < 8; ++j) sum = 3 * sum + s[t * 8 + j];  // bytes
    out[t] = sum;
}

__global__ void rolled(const float* in, float* out, int n) {
    __shared__ float s[1024];
    int t = threadIdx.x;
    for (int j = t; j < 1024; j += 32) s[j] = in[j];
    __syncthreads();
    float sum = 0;
    for (int j = 0; j < n; ++j) sum += s[t * 16 + j];  // rolled
    out[t] = sum;
}

__global__ void array_in_registers(const float* in, float* out, int n) {
    float x[16];
    for (int j = 0; j < 16; ++j) x[j] = in[j * 32 + threadIdx.x];
    float sum = x[n & 15];
    x[n & 15] = 1;
    for (int j = 0; j < 16; ++j) sum = sum * 3 + x[j];
    out[threadIdx.x] = sum;
}

__device__ __noinline__ float eight(const float* s, int t) {
    float sum = 0;
    for (int j = 0; j < 8; ++j) sum += s[t * 8 + j];  // called
    return sum;
}

__global__ void calls(const float* in, float* out) {
    __shared__ float s[256];
    int t = threadIdx.x;
    for (int j = 0; j < 8; ++j) s[j * 32 + t] = in[j * 32 + t];
    __syncthreads();
    out[t] = eight(s, t);
}
