// Asynchronous copies that are used before they have come, and barriers in memory that order too little; beside each a
// near twin that is right (`…_ok`).
//
// `// -> kind` marks a line that a finding of that kind names (of several kinds, one is enough); every line that a
// finding names is marked. Every entry gets x[n] and out[n], n = 128; tests/test_faulty_kernels.py runs them all.
#include <cuda_pipeline.h>
#include <cuda_runtime.h>

#include <cuda/barrier>

#pragma nv_diag_suppress static_var_with_dynamic_init
using Barrier = cuda::barrier<cuda::thread_scope_block>;

#define ENTRY(kernel, blocks, threads)                                                          \
    extern "C" cudaError_t kernel##_entry(const int* x, int* out, int n, cudaStream_t stream) { \
        kernel<<<blocks, threads, 0, stream>>>(x, out, n);                                      \
        return cudaGetLastError();                                                              \
    }

// ---- bytes in flight -----------------------------------------------------------------------------------------------

__global__ void no_wait(const int* x, int* out, int n) {
    __shared__ int tile[128];
    const int t = threadIdx.x;
    __pipeline_memcpy_async(&tile[t], &x[t], sizeof(int));  // -> data_race
    __pipeline_commit();
    out[t] = tile[t];  // -> data_race
    __pipeline_wait_prior(0);
}
ENTRY(no_wait, 1, 128)

__global__ void barrier_and_no_wait(const int* x, int* out, int n) {
    __shared__ int tile[128];
    const int t = threadIdx.x;
    __pipeline_memcpy_async(&tile[t], &x[t], sizeof(int));  // -> data_race
    __pipeline_commit();
    __syncthreads();
    out[t] = tile[127 - t];  // -> data_race
}
ENTRY(barrier_and_no_wait, 1, 128)

__global__ void wait_and_barrier_ok(const int* x, int* out, int n) {
    __shared__ int tile[128];
    const int t = threadIdx.x;
    __pipeline_memcpy_async(&tile[t], &x[t], sizeof(int));
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncthreads();
    out[t] = tile[127 - t];
}
ENTRY(wait_and_barrier_ok, 1, 128)

__global__ void wait_and_no_barrier(const int* x, int* out, int n) {
    __shared__ int tile[128];
    const int t = threadIdx.x;
    __pipeline_memcpy_async(&tile[t], &x[t], sizeof(int));  // -> data_race
    __pipeline_commit();
    __pipeline_wait_prior(0);
    out[t] = tile[127 - t];  // -> data_race
}
ENTRY(wait_and_no_barrier, 1, 128)

__global__ void wait_for_ones_own_ok(const int* x, int* out, int n) {
    __shared__ int tile[128];
    const int t = threadIdx.x;
    __pipeline_memcpy_async(&tile[t], &x[t], sizeof(int));
    __pipeline_commit();
    __pipeline_wait_prior(0);
    out[t] = tile[t];
}
ENTRY(wait_for_ones_own_ok, 1, 128)

__global__ void one_group_too_few(const int* x, int* out, int n) {
    __shared__ int first[64], second[64];
    const int t = threadIdx.x;
    __pipeline_memcpy_async(&first[t], &x[t], sizeof(int));
    __pipeline_commit();
    __pipeline_memcpy_async(&second[t], &x[64 + t], sizeof(int));  // -> data_race
    __pipeline_commit();
    __pipeline_wait_prior(1);
    __syncthreads();
    out[t] = first[63 - t];
    out[64 + t] = second[63 - t];  // -> data_race
}
ENTRY(one_group_too_few, 1, 64)

__global__ void one_group_after_the_other_ok(const int* x, int* out, int n) {
    __shared__ int first[64], second[64];
    const int t = threadIdx.x;
    __pipeline_memcpy_async(&first[t], &x[t], sizeof(int));
    __pipeline_commit();
    __pipeline_memcpy_async(&second[t], &x[64 + t], sizeof(int));
    __pipeline_commit();
    __pipeline_wait_prior(1);
    __syncthreads();
    out[t] = first[63 - t];
    __pipeline_wait_prior(0);
    __syncthreads();
    out[64 + t] = second[63 - t];
}
ENTRY(one_group_after_the_other_ok, 1, 64)

__global__ void store_over_a_copy(const int* x, int* out, int n) {
    __shared__ int tile[128];
    const int t = threadIdx.x;
    __pipeline_memcpy_async(&tile[t], &x[t], sizeof(int));  // -> data_race
    tile[t] = 0;                                            // -> data_race
    __pipeline_commit();
    __pipeline_wait_prior(0);
    out[t] = tile[t];
}
ENTRY(store_over_a_copy, 1, 128)

__global__ void store_before_a_copy_ok(const int* x, int* out, int n) {
    __shared__ int tile[128];
    const int t = threadIdx.x;
    tile[t] = 0;
    __pipeline_memcpy_async(&tile[t], &x[t], sizeof(int));
    __pipeline_commit();
    __pipeline_wait_prior(0);
    out[t] = tile[t];
}
ENTRY(store_before_a_copy_ok, 1, 128)

// Who is still reading the stage is not waited for.
__global__ void copy_over_what_is_read(const int* x, int* out, int n) {
    __shared__ int stage[2][64];
    const int t = threadIdx.x;
    __pipeline_memcpy_async(&stage[0][t], &x[t], sizeof(int));
    __pipeline_commit();
    int sum = 0;
    for (int i = 0; i < 4; ++i) {
        if (i < 3) __pipeline_memcpy_async(&stage[(i + 1) % 2][t], &x[16 * i + t], sizeof(int));  // -> data_race
        __pipeline_commit();
        __pipeline_wait_prior(1);
        __syncthreads();
        sum += stage[i % 2][63 - t];  // -> data_race
    }
    out[t] = sum;
}
ENTRY(copy_over_what_is_read, 1, 64)

__global__ void copy_when_all_have_read_ok(const int* x, int* out, int n) {
    __shared__ int stage[2][64];
    const int t = threadIdx.x;
    __pipeline_memcpy_async(&stage[0][t], &x[t], sizeof(int));
    __pipeline_commit();
    int sum = 0;
    for (int i = 0; i < 4; ++i) {
        if (i < 3) __pipeline_memcpy_async(&stage[(i + 1) % 2][t], &x[16 * i + t], sizeof(int));
        __pipeline_commit();
        __pipeline_wait_prior(1);
        __syncthreads();
        sum += stage[i % 2][63 - t];
        __syncthreads();
    }
    out[t] = sum;
}
ENTRY(copy_when_all_have_read_ok, 1, 64)

// ---- the source ----------------------------------------------------------------------------------------------------

__global__ void source_changed_meanwhile(const int* x, int* out, int n) {
    __shared__ int tile[128];
    const int t = threadIdx.x;
    out[t] = x[t];
    __pipeline_memcpy_async(&tile[t], &out[t], sizeof(int));  // -> data_race
    __pipeline_commit();
    __syncthreads();
    out[127 - t] = -5;  // -> data_race
    __syncthreads();
    __pipeline_wait_prior(0);
    out[t] = tile[t];
}
ENTRY(source_changed_meanwhile, 1, 128)

__global__ void source_changed_by_its_reader(const int* x, int* out, int n) {
    __shared__ int tile[128];
    const int t = threadIdx.x;
    out[t] = x[t];
    __pipeline_memcpy_async(&tile[t], &out[t], sizeof(int));  // -> data_race
    __pipeline_commit();
    out[t] = -5;  // -> data_race
    __pipeline_wait_prior(0);
    out[t] = tile[t];
}
ENTRY(source_changed_by_its_reader, 1, 128)

__global__ void source_changed_afterwards_ok(const int* x, int* out, int n) {
    __shared__ int tile[128];
    const int t = threadIdx.x;
    out[t] = x[t];
    __pipeline_memcpy_async(&tile[t], &out[t], sizeof(int));
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncthreads();
    out[127 - t] = -5;
    __syncthreads();
    out[t] = tile[t];
}
ENTRY(source_changed_afterwards_ok, 1, 128)

// ---- places --------------------------------------------------------------------------------------------------------

__global__ void copy_past_the_end(const int* x, int* out, int n) {
    __shared__ int4 tile[33];
    const int t = threadIdx.x;
    __pipeline_memcpy_async(&tile[t], reinterpret_cast<const int4*>(x) + t + 1, 16);  // -> out_of_bounds_read
    __pipeline_commit();
    __pipeline_wait_prior(0);
    if (t < 31) out[t] = tile[t].x;
}
ENTRY(copy_past_the_end, 1, 32)

__global__ void copy_to_the_end_ok(const int* x, int* out, int n) {
    __shared__ int4 tile[33];
    const int t = threadIdx.x;
    __pipeline_memcpy_async(&tile[t], reinterpret_cast<const int4*>(x) + t, 16, t == 31 ? 16 : 0);
    __pipeline_commit();
    __pipeline_wait_prior(0);
    if (t < 31) out[t] = tile[t].x;
}
ENTRY(copy_to_the_end_ok, 1, 32)

__global__ void copy_past_the_array(const int* x, int* out, int n) {
    __shared__ int tile[127];
    const int t = threadIdx.x;
    __pipeline_memcpy_async(&tile[t], &x[t], sizeof(int));  // -> out_of_bounds_write
    __pipeline_commit();
    __pipeline_wait_prior(0);
    if (t < 127) out[t] = tile[t];
}
ENTRY(copy_past_the_array, 1, 128)

__global__ void copy_from_an_odd_place(const int* x, int* out, int n) {
    __shared__ int4 tile[8];
    const int t = threadIdx.x;
    __pipeline_memcpy_async(&tile[t], &x[4 * t + 1], 16);  // -> misaligned_access
    __pipeline_commit();
    __pipeline_wait_prior(0);
    if (n == 0) out[t] = tile[t].x;
}
ENTRY(copy_from_an_odd_place, 1, 8)

__global__ void copy_into_the_array_ok(const int* x, int* out, int n) {
    __shared__ int tile[128];
    const int t = threadIdx.x;
    __pipeline_memcpy_async(&tile[t], &x[t], sizeof(int));
    __pipeline_commit();
    __pipeline_wait_prior(0);
    out[t] = tile[t];
}
ENTRY(copy_into_the_array_ok, 1, 128)

// ---- barriers in memory --------------------------------------------------------------------------------------------

__global__ void arrived_and_not_waited(const int* x, int* out, int n) {
    __shared__ int tile[128];
    __shared__ Barrier barrier;
    const int t = threadIdx.x;
    if (t == 0) init(&barrier, blockDim.x);
    __syncthreads();
    tile[t] = x[t];  // -> data_race
    (void)barrier.arrive();
    out[t] = tile[127 - t];  // -> data_race
}
ENTRY(arrived_and_not_waited, 1, 128)

__global__ void arrived_and_waited_ok(const int* x, int* out, int n) {
    __shared__ int tile[128];
    __shared__ Barrier barrier;
    const int t = threadIdx.x;
    if (t == 0) init(&barrier, blockDim.x);
    __syncthreads();
    tile[t] = x[t];
    barrier.wait(barrier.arrive());
    out[t] = tile[127 - t];
}
ENTRY(arrived_and_waited_ok, 1, 128)

__global__ void stored_after_arriving(const int* x, int* out, int n) {
    __shared__ int tile[128];
    __shared__ Barrier barrier;
    const int t = threadIdx.x;
    if (t == 0) init(&barrier, blockDim.x);
    __syncthreads();
    auto token = barrier.arrive();
    tile[t] = x[t];  // -> data_race
    barrier.wait(std::move(token));
    out[t] = tile[127 - t];  // -> data_race
}
ENTRY(stored_after_arriving, 1, 128)

__global__ void stored_before_arriving_ok(const int* x, int* out, int n) {
    __shared__ int tile[128];
    __shared__ Barrier barrier;
    const int t = threadIdx.x;
    if (t == 0) init(&barrier, blockDim.x);
    __syncthreads();
    tile[t] = x[t];
    auto token = barrier.arrive();
    barrier.wait(std::move(token));
    out[t] = tile[127 - t];
}
ENTRY(stored_before_arriving_ok, 1, 128)

// The barrier is made by one thread; the others have to know that it is there.
#define MAKE(barrier, count) asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(barrier), "r"(count) : "memory")
#define COME(barrier) asm volatile("{ .reg .b64 t; mbarrier.arrive.shared.b64 t, [%0]; }" ::"r"(barrier) : "memory")
#define END(barrier) asm volatile("mbarrier.inval.shared.b64 [%0];" ::"r"(barrier) : "memory")
__global__ void used_before_it_is_made(const int* x, int* out, int n) {
    __shared__ unsigned long long barrier;
    const unsigned at = static_cast<unsigned>(__cvta_generic_to_shared(&barrier));
    if (threadIdx.x == 40) MAKE(at, 64);  // -> data_race
    COME(at);                             // -> data_race, uninitialised_read
    out[threadIdx.x] = x[threadIdx.x];
}
ENTRY(used_before_it_is_made, 1, 64)

__global__ void never_made(const int* x, int* out, int n) {
    __shared__ unsigned long long barrier;
    const unsigned at = static_cast<unsigned>(__cvta_generic_to_shared(&barrier));
    COME(at);  // -> uninitialised_read
    out[threadIdx.x] = x[threadIdx.x];
}
ENTRY(never_made, 1, 64)

__global__ void used_when_it_is_made_ok(const int* x, int* out, int n) {
    __shared__ unsigned long long barrier;
    const unsigned at = static_cast<unsigned>(__cvta_generic_to_shared(&barrier));
    if (threadIdx.x == 40) MAKE(at, 64);
    __syncthreads();
    COME(at);
    out[threadIdx.x] = x[threadIdx.x];
}
ENTRY(used_when_it_is_made_ok, 1, 64)

__global__ void used_after_its_end(const int* x, int* out, int n) {
    __shared__ unsigned long long barrier;
    const unsigned at = static_cast<unsigned>(__cvta_generic_to_shared(&barrier));
    if (threadIdx.x == 0) {
        MAKE(at, 64);
        END(at);
    }
    __syncthreads();
    COME(at);  // -> uninitialised_read
    out[threadIdx.x] = x[threadIdx.x];
}
ENTRY(used_after_its_end, 1, 64)

__global__ void made_again_ok(const int* x, int* out, int n) {
    __shared__ unsigned long long barrier;
    const unsigned at = static_cast<unsigned>(__cvta_generic_to_shared(&barrier));
    if (threadIdx.x == 0) {
        MAKE(at, 64);
        END(at);
        MAKE(at, 64);
    }
    __syncthreads();
    COME(at);
    out[threadIdx.x] = x[threadIdx.x];
}
ENTRY(made_again_ok, 1, 64)
