// The loads from shared memory that puzzle 3.1 asks about: one warp each, lane i takes element stride * i.
//
// Where a lane found its element, in bytes from the start of the array, and what it found go to `where` and `out`.
#include <cuda_runtime.h>

template <typename T, unsigned stride>
__global__ void read_kernel(unsigned* where, float* out) {
    constexpr unsigned elements = stride == 0 ? 1 : 32 * stride;
    __shared__ alignas(128) T array[elements];
    for (unsigned i = threadIdx.x; i < elements; i += 32) array[i] = T{};
    __syncthreads();
    const T element = array[stride * threadIdx.x];
    where[threadIdx.x] = stride * threadIdx.x * sizeof(T);
    reinterpret_cast<T*>(out)[threadIdx.x] = element;
}

extern "C" cudaError_t bank_reads(unsigned* where, float* out, cudaStream_t stream) {
    read_kernel<float, 1><<<1, 32, 0, stream>>>(where, out);
    read_kernel<float, 2><<<1, 32, 0, stream>>>(where + 32, out);
    read_kernel<float, 3><<<1, 32, 0, stream>>>(where + 64, out);
    read_kernel<float, 32><<<1, 32, 0, stream>>>(where + 96, out);
    read_kernel<float, 33><<<1, 32, 0, stream>>>(where + 128, out);
    read_kernel<float, 0><<<1, 32, 0, stream>>>(where + 160, out);
    read_kernel<float2, 1><<<1, 32, 0, stream>>>(where + 192, out);
    read_kernel<float4, 1><<<1, 32, 0, stream>>>(where + 224, out);
    return cudaGetLastError();
}
