// Small kernels with one fault each, and beside each a near twin without it (`…_ok`).
//
// `// -> kind` marks a line that a finding of that kind must name (either line, for a race). Every entry gets
// in[n], out[n] and n = 100; tests/test_machine_findings.py runs them all.
#include <cuda_runtime.h>

#define ENTRY(kernel, blocks, threads)                                                               \
    extern "C" cudaError_t kernel##_entry(const float* in, float* out, int n, cudaStream_t stream) { \
        kernel<<<blocks, threads, 0, stream>>>(in, out, n);                                          \
        return cudaGetLastError();                                                                   \
    }

__global__ void past_the_end(const float* in, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i <= n) out[i] = 1.f;  // -> out_of_bounds_write
    if (i == 0 && in[0] < 0.f) out[n - 1] = 1.f;
}
ENTRY(past_the_end, 4, 32)

__global__ void past_the_end_ok(const float* in, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = in[i];
}
ENTRY(past_the_end_ok, 4, 32)

__global__ void before_the_start(const float* in, float* out, int n) {
    const int i = threadIdx.x;
    if (i < n) out[i] = in[i - 1];  // -> out_of_bounds_read
}
ENTRY(before_the_start, 1, 128)

__global__ void before_the_start_ok(const float* in, float* out, int n) {
    const int i = threadIdx.x;
    if (i < n) out[i] = i > 0 ? in[i - 1] : 0.f;
}
ENTRY(before_the_start_ok, 1, 128)

__global__ void far_away(const float* in, float* out, int n) {
    const int i = threadIdx.x;
    if (i < n) out[i] = in[static_cast<long long>(i) << 24];  // -> out_of_bounds_read
}
ENTRY(far_away, 1, 128)

__global__ void null_pointer(const float* in, float* out, int n) {
    const auto* nowhere = reinterpret_cast<const float*>(static_cast<size_t>(n / 1000)) + (in == out);
    out[threadIdx.x] = nowhere[threadIdx.x];  // -> out_of_bounds_read
}
ENTRY(null_pointer, 1, 100)

__global__ void misaligned(const float* in, float* out, int n) {
    const int i = threadIdx.x;
    if (2 * i + 2 < n) {
        const float2 pair = *reinterpret_cast<const float2*>(in + 2 * i + 1);  // -> misaligned_access
        out[i] = pair.x + pair.y;
    }
}
ENTRY(misaligned, 1, 32)

__global__ void misaligned_ok(const float* in, float* out, int n) {
    const int i = threadIdx.x;
    if (2 * i + 1 < n) {
        const float2 pair = *reinterpret_cast<const float2*>(in + 2 * i);
        out[i] = pair.x + pair.y;
    }
}
ENTRY(misaligned_ok, 1, 32)

__global__ void writes_an_input(const float* in, float* out, int n) {
    const int i = threadIdx.x;
    if (i < n) const_cast<float*>(in)[i] = 2.f;  // -> read_only_violation
    out[0] = 1.f;
}
ENTRY(writes_an_input, 1, 128)

__global__ void reads_fresh_memory(const float* in, float* out, int n) {
    const int i = threadIdx.x;
    if (i < n) out[i] += in[i];  // -> uninitialised_read
}
ENTRY(reads_fresh_memory, 1, 128)

__global__ void reads_fresh_memory_ok(const float* in, float* out, int n) {
    const int i = threadIdx.x;
    if (i < n) {
        out[i] = in[i];
        *static_cast<volatile float*>(out + i) += in[i];  // its own element, written before
    }
}
ENTRY(reads_fresh_memory_ok, 1, 128)

__global__ void no_start_value(const float* in, float* out, int n) {
    const int i = threadIdx.x;
    float sum;
#pragma unroll 1
    for (int k = 0; k < n; ++k) {
        sum = fmaf(in[k], 2.f, sum);  // -> uninitialised_read
    }
    if (i < n) out[i] = sum;  // -> uninitialised_read
}
ENTRY(no_start_value, 1, 32)

__global__ void no_start_value_ok(const float* in, float* out, int n) {
    const int i = threadIdx.x;
    float sum = 0.f;
#pragma unroll 1
    for (int k = 0; k < n; ++k) {
        sum = fmaf(in[k], 2.f, sum);
    }
    if (i < n) out[i] = sum;
}
ENTRY(no_start_value_ok, 1, 32)

// Assigned in exactly the lanes that use it.
__global__ void partly_assigned_ok(const float* in, float* out, int n) {
    const int i = threadIdx.x;
    float value;
    const bool mine = i < n && in[i] < 1e30f;
    if (mine) value = in[i] * 2.f;
    __syncwarp();
    if (mine) out[i] = value;
}
ENTRY(partly_assigned_ok, 1, 128)

__global__ void same_element_two_threads(const float* in, float* out, int n) {
    const int i = threadIdx.x;
    if (i < n) out[i / 2] = in[i];  // -> data_race
}
ENTRY(same_element_two_threads, 1, 100)

__global__ void same_element_same_value_ok(const float* in, float* out, int n) {
    const int i = threadIdx.x;
    if (i < n && in[i] < 1e30f) out[0] = 1.f;  // whoever wins, the result is the same
}
ENTRY(same_element_same_value_ok, 1, 100)

__global__ void same_element_two_blocks(const float* in, float* out, int n) {
    const int i = threadIdx.x;
    if (i < n) out[i] = in[i] + static_cast<float>(blockIdx.x);  // -> data_race
}
ENTRY(same_element_two_blocks, 3, 100)

__global__ void neighbour_in_the_warp(const float* in, float* out, int n) {
    const int i = threadIdx.x;
    if (i >= n) return;
    out[i] = in[i];                                                                                // -> data_race
    if (i > 0) *static_cast<volatile float*>(out + i) = static_cast<volatile float*>(out)[i - 1];  // -> data_race
}
ENTRY(neighbour_in_the_warp, 1, 32)

__global__ void neighbour_in_the_warp_ok(const float* in, float* out, int n) {
    const int i = threadIdx.x;
    out[i] = in[i];
    __syncwarp();
    const float left = i > 0 ? static_cast<volatile float*>(out)[i - 1] : 0.f;
    __syncwarp();
    if (i < n) out[i] = left;
}
ENTRY(neighbour_in_the_warp_ok, 1, 32)

__global__ void neighbour_in_the_block(const float* in, float* out, int n) {
    const int i = threadIdx.x;
    if (i < n) out[i] = in[i];                                           // -> data_race
    if (i + 50 < n) out[i] = static_cast<volatile float*>(out)[i + 50];  // -> data_race
}
ENTRY(neighbour_in_the_block, 1, 128)

__global__ void neighbour_in_the_block_ok(const float* in, float* out, int n) {
    const int i = threadIdx.x;
    if (i < n) out[i] = in[i];
    __syncthreads();
    float other = 0.f;
    if (i + 50 < n) other = static_cast<volatile float*>(out)[i + 50];
    __syncthreads();
    if (i < 50) out[i] = other;
}
ENTRY(neighbour_in_the_block_ok, 1, 128)

__global__ void shared_without_barrier(const float* in, float* out, int n) {
    __shared__ float tile[128];
    const int i = threadIdx.x;
    tile[i] = i < n ? in[i] : 0.f;             // -> data_race
    if (i < n) out[i] = tile[(i + 64) % 128];  // -> data_race
}
ENTRY(shared_without_barrier, 1, 128)

__global__ void shared_without_barrier_ok(const float* in, float* out, int n) {
    __shared__ float tile[128];
    const int i = threadIdx.x;
    tile[i] = i < n ? in[i] : 0.f;
    __syncthreads();
    if (i < n) out[i] = tile[(i + 64) % 128];
}
ENTRY(shared_without_barrier_ok, 1, 128)

__global__ void endless(const float* in, float* out, int n) {
    int i = threadIdx.x;
    while (i < n) {      // -> endless_loop
        out[i] = in[i];  // -> endless_loop
        i += n < 0;      // -> endless_loop
    }
}
ENTRY(endless, 1, 32)

__global__ void long_loop_ok(const float* in, float* out, int n) {
    float sum = 0.f;
#pragma unroll 1
    for (int k = 0; k < 200000; ++k) sum = fmaf(sum, 0.5f, in[k % n]);
    out[threadIdx.x] = sum;
}
ENTRY(long_loop_ok, 1, 32)

__global__ void traps(const float* in, float* out, int n) {
    out[threadIdx.x] = in[threadIdx.x];
    if (threadIdx.x == 5 && n > 0) __trap();  // -> device_trap
}
ENTRY(traps, 1, 32)

__global__ void wraps_at_32_bits(const float* in, float* out, int n) {
    const int i = threadIdx.x;
    const int far = (i + n) * 30000000;  // fits in 32 bits for no thread with i + n > 71
    if (i < n) out[i] = in[far];         // -> out_of_bounds_read
}
ENTRY(wraps_at_32_bits, 1, 100)
