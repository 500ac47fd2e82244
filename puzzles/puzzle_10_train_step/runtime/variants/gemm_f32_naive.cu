// Gemm of floats with any strides, turned or not: one element of C a thread, as in 2.1. For what nobody faster takes.
#include "../gemm.hpp"

namespace gemm_f32_naive {

constexpr unsigned side = 16;

__global__ void gemm_f32_naive_kernel(const float* A, const float* B, float* C, Product size) {
    const long long across = (size.N + side - 1) / side;
    const long long row = blockIdx.x / across * side + threadIdx.y, col = blockIdx.x % across * side + threadIdx.x;
    if (row >= size.M || col >= size.N) return;
    float sum = 0.0f;
    for (long long k = 0; k < size.K; ++k)
        sum += A[row * size.a.row + k * size.a.col] * B[k * size.b.row + col * size.b.col];
    C[row * size.c.row + col * size.c.col] = sum;
}

Supported can(const OpCall& call) {
    return all_are(call, F32) ? supported : refused("not all tensors are f32");
}

cudaError_t launch(const OpCall& call, cudaStream_t stream) {
    const Product size = product(call);
    if (size.M == 0 || size.N == 0) return cudaSuccess;
    const unsigned blocks = blocks_of(size.M, side) * blocks_of(size.N, side);
    gemm_f32_naive_kernel<<<blocks, dim3(side, side), 0, stream>>>(
        data<const float>(call.inputs[0]), data<const float>(call.inputs[1]), data<float>(call.outputs[0]), size);
    return cudaGetLastError();
}

static Registration registration{{OpKind::Gemm, "gemm_f32_naive_kernel", 0, can, launch}};

}  // namespace gemm_f32_naive
