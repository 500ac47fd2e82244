// cuda/pipeline and cuda_pipeline.h: copies of every size and alignment, by threads, blocks and with roles.
#include <cooperative_groups.h>
#include <cuda_pipeline.h>

#include <cuda/pipeline>
#include <cuda/std/chrono>

namespace cg = cooperative_groups;

template <class Pipeline>
__device__ void through(Pipeline& pipe, char* room, const char* in, int count) {
    const auto block = cg::this_thread_block();
    pipe.producer_acquire();
    cuda::memcpy_async(block, room, in, cuda::aligned_size_t<16>(1024), pipe);
    cuda::memcpy_async(block, room, in, count, pipe);
    cuda::memcpy_async(room + 16 * threadIdx.x, in + 16 * threadIdx.x, cuda::aligned_size_t<16>(16), pipe);
    cuda::memcpy_async(room + 8 * threadIdx.x, in + 8 * threadIdx.x, cuda::aligned_size_t<8>(8), pipe);
    cuda::memcpy_async(room + 4 * threadIdx.x, in + 4 * threadIdx.x, cuda::aligned_size_t<4>(4), pipe);
    cuda::memcpy_async(reinterpret_cast<int4*>(room), reinterpret_cast<const int4*>(in), sizeof(int4), pipe);
    cuda::memcpy_async(room, in, 3, pipe);
    pipe.producer_commit();
    pipe.consumer_wait();
    pipe.consumer_release();
    pipe.consumer_wait_for(cuda::std::chrono::nanoseconds(100));
    pipe.quit();
}

__global__ void of_a_thread(const char* in, char* out, int count) {
    __shared__ alignas(16) char room[4096];
    auto pipe = cuda::make_pipeline();
    through(pipe, room, in, count);
    pipe.producer_acquire();
    pipe.producer_commit();
    cuda::pipeline_consumer_wait_prior<0>(pipe);
    cuda::pipeline_consumer_wait_prior<2>(pipe);
    out[threadIdx.x] = room[threadIdx.x];
}

__global__ void of_a_block(const char* in, char* out, int count) {
    __shared__ alignas(16) char room[4096];
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
    auto pipe = cuda::make_pipeline(cg::this_thread_block(), &state);
    through(pipe, room, in, count);
    out[threadIdx.x] = room[threadIdx.x];
}

__global__ void with_roles(const char* in, char* out, int count) {
    __shared__ alignas(16) char room[4096];
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 3> state;
    const auto role = threadIdx.x < 32 ? cuda::pipeline_role::producer : cuda::pipeline_role::consumer;
    auto pipe = cuda::make_pipeline(cg::this_thread_block(), &state, role);
    through(pipe, room, in, count);
    auto counted = cuda::make_pipeline(cg::this_thread_block(), &state, 32);
    through(counted, room, in, count);
    out[threadIdx.x] = room[threadIdx.x];
}

__global__ void primitives(const char* in, char* out) {
    __shared__ alignas(16) char room[4096];
    __shared__ __mbarrier_t barrier;
    __pipeline_memcpy_async(room, in, 4);
    __pipeline_memcpy_async(room + 8, in + 8, 8);
    __pipeline_memcpy_async(room + 16, in + 16, 16);
    __pipeline_memcpy_async(room + 32, in + 32, 4, 2);
    __pipeline_memcpy_async(room + 40, in + 40, 8, 3);
    __pipeline_memcpy_async(room + 48, in + 48, 16, 12);
    __pipeline_commit();
    __pipeline_arrive_on(&barrier);
    __pipeline_wait_prior(0);
    __pipeline_wait_prior(3);
    out[threadIdx.x] = room[threadIdx.x];
}
