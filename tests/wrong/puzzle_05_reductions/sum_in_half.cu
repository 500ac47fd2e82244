// reduce_sum: the sums are kept in half
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <algorithm>

__global__ void reduce_sum_kernel(const float* x, float* out, int n) {
    half sum = __float2half(0.0f);
    for (unsigned i = blockIdx.x * 256 + threadIdx.x; i < n; i += 256 * gridDim.x)
        sum = __hadd(sum, __float2half(x[i]));
    for (unsigned offset = 16; offset > 0; offset /= 2) sum = __hadd(sum, __shfl_down_sync(0xffffffff, sum, offset));
    if (threadIdx.x % 32 == 0) atomicAdd(out, __half2float(sum));
}

extern "C" cudaError_t reduce_sum(const float* x, float* out, int n, cudaStream_t stream) {
    cudaMemsetAsync(out, 0, sizeof(float), stream);
    if (n == 0) return cudaGetLastError();
    reduce_sum_kernel<<<std::min((n + 255u) / 256, 1056u), 256, 0, stream>>>(x, out, n);
    return cudaGetLastError();
}
