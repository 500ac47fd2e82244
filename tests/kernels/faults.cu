// Small kernels with one fault each, and beside each a near twin without it (`…_ok`).
//
// `// -> kind` marks a line that a finding of that kind must name (either line, for a race). Every entry gets
// in[n], out[n] and n = 100; tests/test_machine_findings.py runs them all.
#include <cuda_runtime.h>

#include <cassert>
#include <cstdio>

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

__global__ void all_read_what_one_writes(const float* in, float* out, int n) {
    __shared__ float first;
    const int i = threadIdx.x;
    if (i == 0) first = in[0];          // -> data_race
    if (i < n) out[i] = in[i] - first;  // -> data_race
}
ENTRY(all_read_what_one_writes, 1, 128)

__global__ void all_add_to_one_place(const float* in, float* out, int n) {
    const int i = threadIdx.x;
    if (i == 0) out[0] = 0.f;
    __syncthreads();
    if (i < n) *out += in[i];  // -> data_race
}
ENTRY(all_add_to_one_place, 1, 128)

__device__ float other_half(const float* tile) {
    return tile[(threadIdx.x + 64) % 128];  // -> data_race
}

__global__ void shared_without_barrier_in_a_function(const float* in, float* out, int n) {
    __shared__ float tile[128];
    const int i = threadIdx.x;
    tile[i] = i < n ? in[i] : 0.f;  // -> data_race
    if (i < n) out[i] = other_half(tile);
}
ENTRY(shared_without_barrier_in_a_function, 1, 128)

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

__global__ void endless_with_a_barrier(const float* in, float* out, int n) {
    while (n > 0) {                          // -> endless_loop
        out[threadIdx.x] = in[threadIdx.x];  // -> endless_loop
        __syncthreads();                     // -> endless_loop
    }
}
ENTRY(endless_with_a_barrier, 1, 64)

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

__device__ __noinline__ float twice(float x) {
    return x + x;
}
__device__ __noinline__ float power(float x, int n) {
    return n == 0 ? 1.f : x * power(x, n - 1);
}

// Lanes call from two places, and each as deep as it needs.
__global__ void calls_ok(const float* in, float* out, int n) {
    const int i = threadIdx.x;
    if (i >= n) return;
    float value = i % 2 ? twice(in[i]) : twice(in[i] + 1.f);
    out[i] = value + power(2.f, i % 7);
}
ENTRY(calls_ok, 1, 128)

typedef float (*Function)(float);
__device__ __noinline__ float thrice(float x) {
    return 3.f * x;
}
__device__ Function functions[2] = {twice, thrice};

__global__ void calls_through_a_table_ok(const float* in, float* out, int n) {
    const int i = threadIdx.x;
    if (i < n) out[i] = functions[i % 2](in[i]);
}
ENTRY(calls_through_a_table_ok, 1, 128)

__device__ int endless_depth(int n);

__global__ void too_deep(const float* in, float* out, int n) {
    out[threadIdx.x] = in[threadIdx.x] + static_cast<float>(endless_depth(n));  // -> device_trap
}
__device__ __noinline__ int endless_depth(int n) {
    if (n < 0) return n;
    return endless_depth(n + 1) * n + 1;  // -> device_trap
}
ENTRY(too_deep, 1, 32)

__global__ void local_array_ok(const float* in, float* out, int n) {
    float last[4];
    for (int k = 0; k < 4; ++k) last[k] = 0.f;
#pragma unroll 1
    for (int k = 0; k < n; ++k) last[k * 7 % 4] += in[k];
    if (threadIdx.x < 4) out[threadIdx.x] = last[threadIdx.x];
}
ENTRY(local_array_ok, 1, 32)

__global__ void local_array_half_filled(const float* in, float* out, int n) {
    float last[4];
#pragma unroll 1
    for (int k = 0; k < n; k += 2) last[k % 4] = in[k];
    if (threadIdx.x < 4) out[threadIdx.x] = last[threadIdx.x];  // -> uninitialised_read
}
ENTRY(local_array_half_filled, 1, 32)

__global__ void asserts(const float* in, float* out, int n) {
    const int i = threadIdx.x;
    assert(in[i] < 2.f);
    assert(i < n - 90);  // -> device_trap
    out[i] = in[i];
}
ENTRY(asserts, 1, 32)

__global__ void prints_ok(const float* in, float* out, int n) {
    const int i = threadIdx.x;
    if (i < n) out[i] = in[i];
    if (i < 2) printf("thread %d of %s: %5.2f|%-4u|%lld|%c|%%\n", i, "block", 1.5 + i, 7u, 1ll << 40, 'x');
}
ENTRY(prints_ok, 1, 128)

struct Shape {
    float scale[8];
    int order[3];
};
__global__ void structure_by_value_ok(Shape shape, const float* in, float* out, int n) {
    const int i = threadIdx.x;
    if (i < n) out[i] = in[i] * shape.scale[i % 8] + static_cast<float>(shape.order[i % 3]);
}
extern "C" cudaError_t structure_by_value_ok_entry(const float* in, float* out, int n, cudaStream_t stream) {
    Shape shape = {{1, 2, 3, 4, 5, 6, 7, 8}, {10, 20, 30}};
    structure_by_value_ok<<<1, 128, 0, stream>>>(shape, in, out, n);
    return cudaGetLastError();
}

__global__ void many_ways_ok(const float* in, float* out, int n) {
    const int i = threadIdx.x;
    if (i >= n) return;
    switch (i % 12) {
        case 0:
            out[i] = in[i] + 1.f;
            break;
        case 1:
            out[i] = in[i] * 3.f;
            break;
        case 2:
            out[i] = sqrtf(in[i]);
            break;
        case 3:
            out[i] = expf(in[i]);
            break;
        case 4:
            out[i] = in[i] / 7.f;
            break;
        case 5:
            out[i] = sinf(in[i] * 1000.f);
            break;
        case 6:
            out[i] = fmodf(in[i], 0.1f);
            break;
        case 7:
            out[i] = powf(in[i], 1.7f);
            break;
        case 8:
            out[i] = static_cast<float>(static_cast<int>(in[i] * 100.f) % 7);
            break;
        case 9:
            out[i] = tanhf(in[i]);
            break;
        case 10:
            out[i] = cosf(in[i]) + logf(in[i] + 1.f);
            break;
        default:
            out[i] = -in[i];
    }
}
ENTRY(many_ways_ok, 1, 128)

__global__ void idle_grid_ok(const float* in, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = in[i];
}
ENTRY(idle_grid_ok, 1 << 16, 32)

__constant__ unsigned char table[8192] = {1, 2, 3};

// Many blocks on several host threads read bytes of one table.
__global__ void bytes_of_a_constant_ok(const float* in, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = in[i % n];
    for (int k = 0; k < 16; ++k) sum += static_cast<float>(table[(i * 37 + k * 511) % 8192]);
    if (i < n) out[i] = sum;
}
ENTRY(bytes_of_a_constant_ok, 256, 256)

__global__ void all_do_everything_ok(const float* in, float* out, int n) {
#pragma unroll 1
    for (int i = 0; i < 30 * n; ++i) out[i % n] = in[i % n];
}
ENTRY(all_do_everything_ok, 8, 256)

__global__ void barriers_on_two_lines(const float* in, float* out, int n) {
    const int i = threadIdx.x;
    if (i < 64) {
        out[i] = in[i];
        __syncthreads();  // -> barrier_divergence
    } else {
        if (i < n) out[i] = 2.f * in[i];
        __syncthreads();  // -> barrier_divergence
    }
}
ENTRY(barriers_on_two_lines, 1, 128)

__global__ void barrier_for_some(const float* in, float* out, int n) {
    __shared__ float tile[128];
    const int i = threadIdx.x;
    tile[i] = i < n ? in[i] : 0.f;
    if (i < 48) __syncthreads();  // -> barrier_divergence
    if (i < n) out[i] = tile[i];
    __syncthreads();  // -> barrier_divergence
    if (i == 0) out[0] = 1.f;
}
ENTRY(barrier_for_some, 1, 128)

__global__ void barriers_in_a_loop_ok(const float* in, float* out, int n) {
    __shared__ float tile[128];
    const int i = threadIdx.x;
    if (i >= 120) return;  // those that have ended are not waited for
    for (int k = 0; k < 5; ++k) {
        tile[i] = i < n ? in[i] : 0.f;
        __syncthreads();
        const float other = tile[(i + k) % 120];
        __syncthreads();
        if (i < n) out[i] = other;
    }
}
ENTRY(barriers_in_a_loop_ok, 1, 128)

__device__ float many[16 << 20];

__global__ void large_variable_ok(const float* in, float* out, int n) {
    for (int i = threadIdx.x; i < (16 << 20); i += 1024) many[i] = in[0];
    if (threadIdx.x < n) out[threadIdx.x] = many[threadIdx.x];
}
ENTRY(large_variable_ok, 1, 1024)

__device__ int runs = 0;

__global__ void counts_its_runs_ok(const float* in, float* out, int n) {
    if (threadIdx.x == 0) runs += in[0] >= 0.f;
    __syncthreads();
    if (threadIdx.x < n) out[threadIdx.x] = static_cast<float>(runs);
}
ENTRY(counts_its_runs_ok, 1, 128)
