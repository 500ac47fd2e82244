// cuda/barrier, cuda/latch, cuda/semaphore and cuda_awbarrier.h.
#include <cooperative_groups.h>
#include <cuda_awbarrier_primitives.h>

#include <cuda/barrier>
#include <cuda/latch>
#include <cuda/semaphore>
#include <cuda/std/chrono>

namespace cg = cooperative_groups;

struct Count {
    int* to;
    __device__ void operator()() const { ++*to; }
};

template <class Barrier>
__device__ void use(Barrier& barrier, int* out) {
    auto token = barrier.arrive();
    barrier.wait(std::move(token));
    barrier.arrive_and_wait();
    barrier.wait(barrier.arrive(2));
    barrier.wait_parity(false);
    barrier.arrive_and_drop();
}

__global__ void of_a_block(int* out) {
    __shared__ cuda::barrier<cuda::thread_scope_block> barrier;
    if (threadIdx.x == 0) init(&barrier, blockDim.x);
    __syncthreads();
    use(barrier, out);
    out[0] = barrier.try_wait_for(barrier.arrive(), cuda::std::chrono::nanoseconds(1000));
    out[1] = barrier.try_wait_parity_for(true, cuda::std::chrono::nanoseconds(1000));
    cuda::device::barrier_native_handle(barrier);
}

__global__ void of_a_device(cuda::barrier<cuda::thread_scope_device>* barrier, int* out) {
    use(*barrier, out);
}
__global__ void of_a_system(cuda::barrier<cuda::thread_scope_system>* barrier, int* out) {
    use(*barrier, out);
}

__global__ void with_a_function(int* out) {
    using Barrier = cuda::barrier<cuda::thread_scope_block, Count>;
    __shared__ alignas(Barrier) char room[sizeof(Barrier)];
    auto* barrier = reinterpret_cast<Barrier*>(room);
    if (threadIdx.x == 0) new (barrier) Barrier(blockDim.x, Count{out});
    __syncthreads();
    barrier->arrive_and_wait();
    barrier->arrive_and_drop();
}

__global__ void copies(const int* in, int* out, int count) {
    __shared__ alignas(16) int room[1024];
    __shared__ cuda::barrier<cuda::thread_scope_block> barrier;
    if (threadIdx.x == 0) init(&barrier, blockDim.x);
    const auto block = cg::this_thread_block();
    block.sync();
    cuda::memcpy_async(block, room, in, cuda::aligned_size_t<16>(4096), barrier);
    cuda::memcpy_async(block, room, in, count, barrier);
    cuda::memcpy_async(room + threadIdx.x, in + threadIdx.x, sizeof(int), barrier);
    cuda::memcpy_async(room, in, cuda::aligned_size_t<16>(16), barrier);
    barrier.arrive_and_wait();
    out[threadIdx.x] = room[threadIdx.x];
}

#if __CUDA_ARCH__ >= 900
__global__ void transactions(const int* in, int* out) {
    __shared__ alignas(16) int room[1024];
    __shared__ cuda::barrier<cuda::thread_scope_block> barrier;
    if (threadIdx.x == 0) {
        init(&barrier, blockDim.x);
        cuda::device::memcpy_async_tx(room, in, cuda::aligned_size_t<16>(4096), barrier);
        cuda::device::barrier_expect_tx(barrier, 4096);
    }
    barrier.wait(cuda::device::barrier_arrive_tx(barrier, 1, 0));
    out[threadIdx.x] = room[threadIdx.x];
}
#endif

__global__ void latches(cuda::latch<cuda::thread_scope_device>* latch, int* out) {
    latch->count_down();
    out[0] = latch->try_wait();
    latch->wait();
    latch->arrive_and_wait();
}

__global__ void semaphores(cuda::counting_semaphore<cuda::thread_scope_device, 4>* semaphore,
                           cuda::binary_semaphore<cuda::thread_scope_block>* binary, int* out) {
    semaphore->acquire();
    semaphore->release(2);
    out[0] = semaphore->try_acquire() + semaphore->try_acquire_for(cuda::std::chrono::nanoseconds(100));
    binary->acquire();
    binary->release();
}

#if __CUDA_ARCH__ >= 800
__global__ void primitives(int* out) {
    __shared__ __mbarrier_t barrier;
    __mbarrier_init(&barrier, blockDim.x);
    const __mbarrier_token_t token = __mbarrier_arrive(&barrier);
    out[0] = __mbarrier_test_wait(&barrier, token);
    const __mbarrier_token_t other = __mbarrier_arrive_and_drop(&barrier);
    out[1] = __mbarrier_token_pending_count(other) + __mbarrier_maximum_count();
#if __CUDA_ARCH__ >= 900
    out[2] = __mbarrier_try_wait(&barrier, token, 1000) + __mbarrier_try_wait_parity(&barrier, true, 1000);
    out[3] = __mbarrier_test_wait_parity(&barrier, true);
#endif
    __mbarrier_inval(&barrier);
}
#endif
