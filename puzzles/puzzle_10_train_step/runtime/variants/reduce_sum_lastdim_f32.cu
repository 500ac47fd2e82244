// ReduceSum of contiguous floats along their last dimension: a warp a row, as in 5.5.
#include "../operands.hpp"

namespace reduce_sum_lastdim_f32 {

constexpr int warp = 32, threads = 256;

__global__ void reduce_sum_lastdim_f32_kernel(const float* x, float* out, long long rows, long long cols) {
    const long long row = static_cast<long long>(blockIdx.x) * (threads / warp) + threadIdx.x / warp;
    if (row >= rows) return;  // all lanes of the warp
    float sum = 0.0f;
    for (long long col = threadIdx.x % warp; col < cols; col += warp) sum += x[row * cols + col];
    for (int offset = warp / 2; offset > 0; offset /= 2) sum += __shfl_down_sync(0xffffffff, sum, offset);
    if (threadIdx.x % warp == 0) out[row] = sum;
}

Supported can(const OpCall& call) {
    if (!all_are(call, F32)) return refused("not all tensors are f32");
    if (call.attrs[0] != call.inputs[0].ndim - 1) return refused("the axis is not the last");
    return all_contiguous(call) ? supported : refused("a tensor is not contiguous");
}

cudaError_t launch(const OpCall& call, cudaStream_t stream) {
    const TensorDesc &x = call.inputs[0], &out = call.outputs[0];
    const long long rows = elements(out), cols = x.shape[x.ndim - 1];
    if (rows == 0) return cudaSuccess;
    reduce_sum_lastdim_f32_kernel<<<blocks_of(rows, threads / warp), threads, 0, stream>>>(
        data<const float>(x), data<float>(out), rows, cols);
    return cudaGetLastError();
}

static Registration registration{{OpKind::ReduceSum, "reduce_sum_lastdim_f32_kernel", 20, can, launch}};

}  // namespace reduce_sum_lastdim_f32
