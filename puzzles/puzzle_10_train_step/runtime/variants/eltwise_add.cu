// EltwiseAdd of floats or halves: y = a + b, one element a thread.
#include <cuda_fp16.h>

#include "../registry.hpp"

namespace eltwise_add {

template <typename T>
__global__ void eltwise_add_kernel(const T* a, const T* b, T* y, long long n) {
    const long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i < n) y[i] = static_cast<T>(static_cast<float>(a[i]) + static_cast<float>(b[i]));  // rounded once
}

Supported can(const OpCall& call) {
    const TensorDesc &a = call.inputs[0], &b = call.inputs[1], &y = call.outputs[0];
    if (a.dtype != F32 && a.dtype != F16) return refused("a is neither f32 nor f16");
    if (b.dtype != a.dtype || y.dtype != a.dtype) return refused("a, b and y are not of one type");
    if (!contiguous(a) || !contiguous(b) || !contiguous(y)) return refused("a, b or y is not contiguous");
    return supported;
}

template <typename T>
cudaError_t launch_of(const OpCall& call, cudaStream_t stream) {
    const long long n = elements(call.outputs[0]);
    if (n == 0) return cudaSuccess;
    eltwise_add_kernel<<<(n + 255) / 256, 256, 0, stream>>>(static_cast<const T*>(call.inputs[0].data),
                                                            static_cast<const T*>(call.inputs[1].data),
                                                            static_cast<T*>(call.outputs[0].data), n);
    return cudaGetLastError();
}

cudaError_t launch(const OpCall& call, cudaStream_t stream) {
    return call.inputs[0].dtype == F32 ? launch_of<float>(call, stream) : launch_of<half>(call, stream);
}

static const Registration registration{{OpKind::EltwiseAdd, "eltwise_add_kernel", 10, can, launch}};

}  // namespace eltwise_add
