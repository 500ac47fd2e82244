// Threads that wait for each other by memory: locks, tickets, flags handed over between blocks and between warps.
//
// Every entry gets x[n] and writes out; what it makes stands in locks.py under the kernel's name.
#include <cuda_runtime.h>

#include <cuda/atomic>

#define ENTRY(kernel, blocks, threads)                                                          \
    extern "C" cudaError_t kernel##_entry(const int* x, int* out, int n, cudaStream_t stream) { \
        kernel<<<blocks, threads, 0, stream>>>(x, out, n);                                      \
        return cudaGetLastError();                                                              \
    }
// What is guarded, and the lock itself, start at zero.
#define ENTRY_FROM_ZERO(kernel, elements, blocks, threads)                                                     \
    extern "C" cudaError_t kernel##_entry(const int* x, int* out, void* scratch, int n, cudaStream_t stream) { \
        cudaError_t error = cudaMemsetAsync(out, 0, (elements) * sizeof(int), stream);                         \
        if (error == cudaSuccess) error = cudaMemsetAsync(scratch, 0, 256, stream);                            \
        if (error != cudaSuccess) return error;                                                                \
        kernel<<<blocks, threads, 0, stream>>>(x, out, static_cast<int*>(scratch), n);                         \
        return cudaGetLastError();                                                                             \
    }

// ---- locks ---------------------------------------------------------------------------------------------------------

// One thread of a block takes the lock for all of them.
__global__ void lock_for_a_block(const int* x, int* out, int* lock, int n) {
    const int t = threadIdx.x;
    if (t == 0) {
        while (atomicCAS(lock, 0, 1) != 0) {
        }
        __threadfence();
    }
    __syncthreads();
    out[t] += x[blockIdx.x * blockDim.x + t];
    __threadfence();
    __syncthreads();
    if (t == 0) atomicExch(lock, 0);
}
ENTRY_FROM_ZERO(lock_for_a_block, 64, 6, 64)

// The shape that needs no promise about lanes: who gets the lock works and gives it back within the same round.
__global__ void lock_for_a_thread(const int* x, int* out, int* lock, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    bool done = false;
    while (!done) {
        if (atomicCAS(lock, 0, 1) == 0) {
            __threadfence();
            out[0] += x[i];
            __threadfence();
            atomicExch(lock, 0);
            done = true;
        }
    }
}
ENTRY_FROM_ZERO(lock_for_a_thread, 1, 3, 64)

// Lanes have program counters of their own since Volta: one of a warp may hold the lock while the others ask for it.
__global__ void lock_asked_for_in_a_loop(const int* x, int* out, int* lock, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    while (atomicCAS(lock, 0, 1) != 0) {
    }
    __threadfence();
    volatile int* sum = out;
    *sum = *sum + x[i];
    __threadfence();
    atomicExch(lock, 0);
}
ENTRY_FROM_ZERO(lock_asked_for_in_a_loop, 1, 2, 64)

__global__ void lock_for_each_bucket(const int* x, int* out, int* locks, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const int bucket = x[i] % 7;
    for (bool done = false; !done;) {
        if (atomicExch(&locks[bucket], 1) == 0) {
            __threadfence();
            out[2 * bucket] += 1;
            out[2 * bucket + 1] += x[i];
            __threadfence();
            atomicExch(&locks[bucket], 0);
            done = true;
        }
    }
}
ENTRY_FROM_ZERO(lock_for_each_bucket, 14, 3, 64)

__global__ void lock_for_a_warp(const int* x, int* out, int* lock, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32;
    if (lane == 0) {
        while (atomicCAS(lock, 0, 1) != 0) __nanosleep(20);
        __threadfence();
    }
    __syncwarp();
    out[lane] = out[lane] + x[i];
    __threadfence();
    __syncwarp();
    if (lane == 0) atomicExch(lock, 0);
}
ENTRY_FROM_ZERO(lock_for_a_warp, 32, 2, 128)

// First come, first served: a number drawn, a number called.
__global__ void ticket_lock(const int* x, int* out, int* lock, int n) {
    const int t = threadIdx.x;
    volatile int* called = lock + 1;
    if (t == 0) {
        const int ticket = atomicAdd(lock, 1);
        while (*called != ticket) {
        }
        __threadfence();
    }
    __syncthreads();
    out[t] = out[t] * 2 + 1;
    __threadfence();
    __syncthreads();
    if (t == 0) *called = *called + 1;
}
ENTRY_FROM_ZERO(ticket_lock, 32, 7, 32)

__global__ void lock_acquired_and_released(const int* x, int* out, int* lock, int n) {
    cuda::atomic_ref<int, cuda::thread_scope_device> taken(*lock);
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    for (bool done = false; !done;) {
        if (taken.exchange(1, cuda::std::memory_order_acquire) == 0) {
            out[0] += x[i];
            out[1] = max(out[1], x[i]);
            taken.store(0, cuda::std::memory_order_release);
            done = true;
        }
    }
}
ENTRY_FROM_ZERO(lock_acquired_and_released, 2, 3, 64)

__global__ void lock_in_shared_memory(const int* x, int* out, int n) {
    __shared__ int lock, count, sum;
    const int t = threadIdx.x;
    if (t == 0) lock = count = sum = 0;
    __syncthreads();
    for (bool done = false; !done;) {
        if (atomicCAS(&lock, 0, 1) == 0) {
            __threadfence_block();
            count += 1;
            sum += x[t];
            __threadfence_block();
            atomicExch(&lock, 0);
            done = true;
        }
    }
    __syncthreads();
    if (t == 0) {
        out[0] = count;
        out[1] = sum;
    }
}
ENTRY(lock_in_shared_memory, 1, 128)

// ---- one block waits for another -----------------------------------------------------------------------------------

// Every block hands its row, one more than it got, to the next.
__global__ void row_from_block_to_block(const int* x, int* out, int* flags, int n) {
    const int t = threadIdx.x, b = blockIdx.x;
    volatile int* flag = flags;
    if (b > 0) {
        if (t == 0) {
            while (flag[b - 1] == 0) {
            }
            __threadfence();
        }
        __syncthreads();
    }
    out[b * 32 + t] = b == 0 ? x[t] : out[(b - 1) * 32 + t] + 1;
    __threadfence();
    __syncthreads();
    if (t == 0) flag[b] = 1;
}
ENTRY_FROM_ZERO(row_from_block_to_block, 32 * 6, 6, 32)

// Each thread writes a part and says so itself; each reader waits for the thread that it needs.
__global__ void thread_to_thread(const int* x, int* out, int* flags, int n) {
    const int t = threadIdx.x;
    volatile int* flag = flags;
    if (blockIdx.x == 0) {
        out[t] = 3 * x[t];
        __threadfence();
        flag[t] = 1;
    } else {
        const int other = 31 - t;
        while (flag[other] == 0) {
        }
        __threadfence();
        out[32 + t] = out[other] + 1;
    }
}
ENTRY_FROM_ZERO(thread_to_thread, 64, 2, 32)

__global__ void handed_over_by_atomics(const int* x, int* out, int* flag, int n) {
    const int t = threadIdx.x;
    if (blockIdx.x == 0) {
        out[t] = x[t] * x[t];
        __syncthreads();
        if (t == 0) {
            __threadfence();
            atomicExch(flag, 1);
        }
    } else {
        if (t == 0) {
            while (atomicAdd(flag, 0) == 0) {
            }
            __threadfence();
        }
        __syncthreads();
        out[64 + t] = out[63 - t];
    }
}
ENTRY_FROM_ZERO(handed_over_by_atomics, 128, 2, 64)

__global__ void handed_over_by_release(const int* x, int* out, int* flag, int n) {
    cuda::atomic_ref<int, cuda::thread_scope_device> ready(*flag);
    const int t = threadIdx.x;
    if (blockIdx.x == 0) {
        out[t] = -x[t];
        __syncthreads();
        if (t == 0) ready.store(1, cuda::std::memory_order_release);
    } else {
        while (ready.load(cuda::std::memory_order_acquire) == 0) {
        }
        out[64 + t] = out[63 - t];
    }
}
ENTRY_FROM_ZERO(handed_over_by_release, 128, 2, 64)

// Each arrival builds on the one before it, so that the last one sees what all of them stored.
__global__ void last_to_arrive_adds_up(const int* x, int* out, int* flag, int n) {
    cuda::atomic_ref<int, cuda::thread_scope_device> arrived(*flag);
    const int t = threadIdx.x;
    out[blockIdx.x * 32 + t] = x[blockIdx.x * 32 + t];
    __syncthreads();
    if (t == 0 && arrived.fetch_add(1, cuda::std::memory_order_acq_rel) == 3) {
        int sum = 0;
        for (int i = 0; i < n; ++i) sum += out[i];
        out[n] = sum;
    }
}
ENTRY_FROM_ZERO(last_to_arrive_adds_up, 129, 4, 32)

// A barrier for a grid that is small enough to be there as a whole.
__device__ void wait_for_all_blocks(int* arrived, int round) {
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        atomicAdd(arrived, 1);
        while (*static_cast<volatile int*>(arrived) < round * static_cast<int>(gridDim.x)) {
        }
        __threadfence();
    }
    __syncthreads();
}
__global__ void barrier_for_the_grid(const int* x, int* out, int* arrived, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    int value = x[i];
    for (int round = 1; round <= 3; ++round) {
        out[i] = value;
        wait_for_all_blocks(arrived, 2 * round - 1);
        value = out[(i + 33) % n] + 1;
        wait_for_all_blocks(arrived, 2 * round);
    }
    out[i] = value;
}
ENTRY_FROM_ZERO(barrier_for_the_grid, 128, 4, 32)

// ---- one warp waits for another ------------------------------------------------------------------------------------

__global__ void warp_to_warp(const int* x, int* out, int n) {
    __shared__ int tile[32];
    __shared__ volatile int ready;
    const int t = threadIdx.x, lane = t % 32;
    if (t == 0) ready = 0;
    __syncthreads();
    if (t < 32) {
        tile[lane] = x[lane] + 5;
        __threadfence_block();
        __syncwarp();
        if (lane == 0) ready = 1;
    } else {
        while (ready == 0) {
        }
        __threadfence_block();
        out[lane] = tile[31 - lane];
    }
}
ENTRY(warp_to_warp, 1, 64)

// A barrier with a number and a count: the writers only arrive, the readers wait.
__global__ void arrive_and_wait(const int* x, int* out, int n) {
    __shared__ int tile[32];
    const int t = threadIdx.x, lane = t % 32;
    for (int round = 0; round < 3; ++round) {
        if (t < 32) {
            if (round > 0) asm volatile("bar.sync 2, 64;" ::: "memory");
            tile[lane] = x[lane] * (round + 1);
            asm volatile("bar.arrive 1, 64;" ::: "memory");
        } else {
            asm volatile("bar.sync 1, 64;" ::: "memory");
            out[32 * round + lane] = tile[31 - lane];
            if (round < 2) asm volatile("bar.arrive 2, 64;" ::: "memory");
        }
    }
}
ENTRY(arrive_and_wait, 1, 64)

// Two pairs of warps, each with a barrier of its own and a number of rounds of its own.
__global__ void barriers_for_two_warps(const int* x, int* out, int n) {
    __shared__ int tile[128];
    const int t = threadIdx.x, half = t / 64;
    int value = x[t];
    for (int round = 0; round <= half; ++round) {
        tile[t] = value;
        asm volatile("bar.sync %0, 64;" ::"r"(1 + half) : "memory");
        value += tile[t ^ 63];
        asm volatile("bar.sync %0, 64;" ::"r"(1 + half) : "memory");
    }
    out[t] = value;
}
ENTRY(barriers_for_two_warps, 1, 128)
