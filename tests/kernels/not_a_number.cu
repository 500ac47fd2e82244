// Kernels whose results are NaN: `// origin` stands where the NaN is made, which is not where it is written.
// Those without the mark make one that reaches no result, or get it with their input.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <mma.h>

// A row that is masked altogether: its maximum is -inf.
__global__ void masked_row(const float* x, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const float value = i / 32 == 2 ? -INFINITY : x[i];
    float most = value;
    for (int lanes = 16; lanes > 0; lanes /= 2) most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, lanes));
    const float power = expf(value - most);  // origin
    out[i] = 1.0f + 2.0f * power;
}

__global__ void nothing_by_nothing(const float* x, float* out, int n) {
    __shared__ float ratio[64];
    const int i = blockIdx.x * blockDim.x + threadIdx.x, t = threadIdx.x;
    const float zero = x[i] - x[i];
    ratio[t] = zero / (t == 5 ? zero : 1.0f);  // origin
    __syncthreads();
    out[i] = ratio[63 - t] + 1.0f;
}

__global__ void masked_by_zero(const float* x, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    float far = x[i] + 2.0f;
    for (int k = 0; k < 300; ++k) far *= 2.0f;
    const float kept = (i % 2) * far;  // origin
    out[i] = sqrtf(kept * kept);
}

__global__ void root_of_a_difference(const float* x, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const float below = (i == 40 ? -1.0f : 1.0f) * (x[i] + 1.0f);
    const float root = rsqrtf(below);  // origin
    out[i] = fabsf(-root);
}

__global__ void through_halves(const float* x, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const __half2 pair = __floats2half2_rn(x[i], 60000.0f);
    const __half2 twice = __hadd2(pair, pair);
    const __half2 lost = __hsub2(twice, twice);  // origin
    const __nv_bfloat16 kept = __float2bfloat16(__high2float(lost) + __low2float(lost));
    out[i] = __bfloat162float(kept) * 3.0f;
}

__global__ void by_an_atomic(const float* x, float* out, int n) {
    __shared__ float total;
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (threadIdx.x == 0) total = 0.0f;
    __syncthreads();
    atomicAdd(&total, threadIdx.x < 2 ? (threadIdx.x == 0 ? INFINITY : -INFINITY) : x[i]);  // origin
    __syncthreads();
    out[i] = total;
}

__global__ void added_later(const float* x, float* out, int n) {
    __shared__ float total;
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (threadIdx.x == 0) total = 0.0f;
    __syncthreads();
    const float far = x[i] > -100.0f ? INFINITY : 0.0f;
    atomicAdd(&total, threadIdx.x == 7 ? far - far : 1.0f);  // origin
    __syncthreads();
    out[i] = total;
}

__global__ void zero_rows(const float* x, float* out, int n) {
    __shared__ __align__(32) __half a[256], b[256];
    __shared__ __align__(32) float c[256];
    const int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    for (int k = t; k < 256; k += 64) {
        a[k] = __float2half(k / 16 == 3 ? INFINITY : 0.5f);
        b[k] = __float2half(k % 16 == 5 ? 0.0f : 1.0f);
    }
    __syncthreads();
    if (t < 32) {
        nvcuda::wmma::fragment<nvcuda::wmma::matrix_a, 16, 16, 16, __half, nvcuda::wmma::row_major> left;
        nvcuda::wmma::fragment<nvcuda::wmma::matrix_b, 16, 16, 16, __half, nvcuda::wmma::row_major> right;
        nvcuda::wmma::fragment<nvcuda::wmma::accumulator, 16, 16, 16, float> sum;
        nvcuda::wmma::fill_fragment(sum, 0.0f);
        nvcuda::wmma::load_matrix_sync(left, a, 16);
        nvcuda::wmma::load_matrix_sync(right, b, 16);
        nvcuda::wmma::mma_sync(sum, left, right, sum);  // origin
        nvcuda::wmma::store_matrix_sync(c, sum, 16, nvcuda::wmma::mem_row_major);
    }
    __syncthreads();
    out[i] = 2.0f * c[(3 + t / 48) * 16 + t % 16] + x[i];
}

__global__ void through_a_product(const float* x, float* out, int n) {
    __shared__ __align__(32) __half a[256], b[256];
    __shared__ __align__(32) float c[256];
    const int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    const float far = x[i] > -100.0f ? INFINITY : 0.0f;
    const float lost = far - far;  // origin
    for (int k = t; k < 256; k += 64) {
        a[k] = __float2half(k == 17 ? lost : 1.0f);
        b[k] = __float2half(1.0f);
    }
    __syncthreads();
    if (t < 32) {
        nvcuda::wmma::fragment<nvcuda::wmma::matrix_a, 16, 16, 16, __half, nvcuda::wmma::row_major> left;
        nvcuda::wmma::fragment<nvcuda::wmma::matrix_b, 16, 16, 16, __half, nvcuda::wmma::row_major> right;
        nvcuda::wmma::fragment<nvcuda::wmma::accumulator, 16, 16, 16, float> sum;
        nvcuda::wmma::fill_fragment(sum, 0.0f);
        nvcuda::wmma::load_matrix_sync(left, a, 16);
        nvcuda::wmma::load_matrix_sync(right, b, 16);
        for (int round = 0; round < 2; ++round) nvcuda::wmma::mma_sync(sum, left, right, sum);
        nvcuda::wmma::store_matrix_sync(c, sum, 16, nvcuda::wmma::mem_row_major);
    }
    __syncthreads();
    out[i] = c[t];
}

// The maximum drops what is no number, and another value never arrives anywhere.
__global__ void dropped(const float* x, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const float far = x[i] > -100.0f ? INFINITY : 0.0f, lost = far - far;
    out[i] = fmaxf(x[i], lost);
}

__global__ void given(const float* x, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = x[i] * 2.0f + (i == 3 ? __int_as_float(0x7fc00000) : 0.0f);
}

#define ENTRY(kernel)                                                                               \
    extern "C" cudaError_t kernel##_entry(const float* x, float* out, int n, cudaStream_t stream) { \
        kernel<<<n / 64, 64, 0, stream>>>(x, out, n);                                               \
        return cudaGetLastError();                                                                  \
    }
ENTRY(masked_row)
ENTRY(nothing_by_nothing)
ENTRY(masked_by_zero)
ENTRY(root_of_a_difference)
ENTRY(through_halves)
ENTRY(by_an_atomic)
ENTRY(added_later)
ENTRY(zero_rows)
ENTRY(through_a_product)
ENTRY(dropped)
ENTRY(given)
