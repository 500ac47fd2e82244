// Counters, locks and flags that threads of several blocks share, with one thing wrong; beside each a near twin that is
// right (`…_ok`).
//
// `// -> kind` marks a line that a finding of that kind names (of several kinds, one is enough); every line that a
// finding names is marked. Every entry gets x[n] and out[n], n = 128, and sets out to zero first;
// tests/test_faulty_kernels.py runs them all.
#include <cuda_runtime.h>

#define ENTRY(kernel, blocks, threads)                                                          \
    extern "C" cudaError_t kernel##_entry(const int* x, int* out, int n, cudaStream_t stream) { \
        const cudaError_t error = cudaMemsetAsync(out, 0, n * sizeof(int), stream);             \
        if (error != cudaSuccess) return error;                                                 \
        kernel<<<blocks, threads, 0, stream>>>(x, out, n);                                      \
        return cudaGetLastError();                                                              \
    }

// ---- counters ------------------------------------------------------------------------------------------------------

__global__ void lost_updates(const int* x, int* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (x[i] > 50) out[0] += 1;  // -> data_race
}
ENTRY(lost_updates, 2, 64)

__global__ void no_update_lost_ok(const int* x, int* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (x[i] > 50) atomicAdd(&out[0], 1);
}
ENTRY(no_update_lost_ok, 2, 64)

// The sums of blocks are right; one thread of each adds them up, and the blocks meet.
__global__ void one_thread_of_each_block(const int* x, int* out, int n) {
    const int sum = __reduce_add_sync(0xffffffffu, x[blockIdx.x * 32 + threadIdx.x]);
    if (threadIdx.x == 0) out[0] = out[0] + sum;  // -> data_race
}
ENTRY(one_thread_of_each_block, 4, 32)

__global__ void one_atomic_of_each_block_ok(const int* x, int* out, int n) {
    const int sum = __reduce_add_sync(0xffffffffu, x[blockIdx.x * 32 + threadIdx.x]);
    if (threadIdx.x == 0) atomicAdd(out, sum);
}
ENTRY(one_atomic_of_each_block_ok, 4, 32)

// Block 0 clears what others may have added to already.
__global__ void cleared_by_a_block(const int* x, int* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i == 0) out[0] = -1;   // -> data_race
    atomicAdd(&out[0], x[i]);  // -> data_race
}
ENTRY(cleared_by_a_block, 2, 64)

__global__ void cleared_before_the_launch_ok(const int* x, int* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    atomicAdd(&out[0], x[i]);
}
ENTRY(cleared_before_the_launch_ok, 2, 64)

__global__ void cleared_without_a_barrier(const int* x, int* out, int n) {
    __shared__ int count;
    const int t = threadIdx.x;
    if (t == 0) count = 0;                // -> data_race
    if (x[t] > 50) atomicAdd(&count, 1);  // -> data_race
    __syncthreads();
    out[t] = count;
}
ENTRY(cleared_without_a_barrier, 1, 128)

__global__ void cleared_and_a_barrier_ok(const int* x, int* out, int n) {
    __shared__ int count;
    const int t = threadIdx.x;
    if (t == 0) count = 0;
    __syncthreads();
    if (x[t] > 50) atomicAdd(&count, 1);
    __syncthreads();
    out[t] = count;
}
ENTRY(cleared_and_a_barrier_ok, 1, 128)

__global__ void read_while_others_add(const int* x, int* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    atomicAdd(&out[0], x[i]);  // -> data_race
    __syncthreads();
    if (threadIdx.x == 1) out[1 + blockIdx.x] = out[0];  // -> data_race
}
ENTRY(read_while_others_add, 2, 64)

__global__ void read_by_what_the_atomic_gave_ok(const int* x, int* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const int before = atomicAdd(&out[0], x[i]);
    __syncthreads();
    if (threadIdx.x == 1) out[1 + blockIdx.x] = before >= 0;
}
ENTRY(read_by_what_the_atomic_gave_ok, 2, 64)

__global__ void counted_and_read_at_once(const int* x, int* out, int n) {
    __shared__ int count;
    const int t = threadIdx.x;
    if (t == 0) count = 0;
    __syncthreads();
    if (x[t] > 50) atomicAdd(&count, 1);  // -> data_race
    out[t] = count;                       // -> data_race
}
ENTRY(counted_and_read_at_once, 1, 128)

__global__ void counted_then_read_ok(const int* x, int* out, int n) {
    __shared__ int count;
    const int t = threadIdx.x;
    if (t == 0) count = 0;
    __syncthreads();
    if (x[t] > 50) atomicAdd(&count, 1);
    __syncthreads();
    out[t] = count;
}
ENTRY(counted_then_read_ok, 1, 128)

// An atomic for the block is none towards other blocks.
__global__ void atomic_for_the_block_only(const int* x, int* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    atomicAdd_block(&out[0], x[i]);  // -> data_race
}
ENTRY(atomic_for_the_block_only, 2, 64)

__global__ void atomic_for_the_block_ok(const int* x, int* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    atomicAdd_block(&out[blockIdx.x], x[i]);
}
ENTRY(atomic_for_the_block_ok, 2, 64)

// Between the look and the step somebody else may step.
__global__ void largest_by_look_and_store(const int* x, int* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (x[i] > out[0]) out[0] = x[i];  // -> data_race
}
ENTRY(largest_by_look_and_store, 2, 64)

__global__ void largest_by_atomic_ok(const int* x, int* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    atomicMax(&out[0], x[i]);
}
ENTRY(largest_by_atomic_ok, 2, 64)

// ---- locks ---------------------------------------------------------------------------------------------------------

__global__ void lock_without_fences(const int* x, int* out, int n) {
    if (threadIdx.x == 0) {
        while (atomicCAS(&out[0], 0, 1) != 0) {
        }
        out[1] += x[blockIdx.x];  // -> data_race
        atomicExch(&out[0], 0);
    }
}
ENTRY(lock_without_fences, 4, 32)

__global__ void lock_with_fences_ok(const int* x, int* out, int n) {
    if (threadIdx.x == 0) {
        while (atomicCAS(&out[0], 0, 1) != 0) {
        }
        __threadfence();
        out[1] += x[blockIdx.x];
        __threadfence();
        atomicExch(&out[0], 0);
    }
}
ENTRY(lock_with_fences_ok, 4, 32)

__global__ void lock_opened_by_a_plain_store(const int* x, int* out, int n) {
    if (threadIdx.x == 0) {
        while (atomicCAS(&out[0], 0, 1) != 0) {  // -> data_race
        }
        __threadfence();
        out[1] += x[blockIdx.x];  // -> data_race
        __threadfence();
        out[0] = 0;  // -> data_race
    }
}
ENTRY(lock_opened_by_a_plain_store, 4, 32)

__global__ void lock_opened_by_a_volatile_store_ok(const int* x, int* out, int n) {
    if (threadIdx.x == 0) {
        while (atomicCAS(&out[0], 0, 1) != 0) {
        }
        __threadfence();
        out[1] += x[blockIdx.x];
        __threadfence();
        *static_cast<volatile int*>(out) = 0;
    }
}
ENTRY(lock_opened_by_a_volatile_store_ok, 4, 32)

// Whoever finds nothing to do goes home with the key.
__global__ void lock_never_opened(const int* x, int* out, int n) {
    if (threadIdx.x == 0) {
        while (atomicCAS(&out[0], 0, 1) != 0) {  // -> endless_loop
        }
        __threadfence();
        out[1] += x[blockIdx.x];
        __threadfence();
        if (blockIdx.x == 7) atomicExch(&out[0], 0);
    }
}
ENTRY(lock_never_opened, 4, 32)

__global__ void lock_always_opened_ok(const int* x, int* out, int n) {
    if (threadIdx.x == 0) {
        while (atomicCAS(&out[0], 0, 1) != 0) {
        }
        __threadfence();
        out[1] += x[blockIdx.x];
        __threadfence();
        if (blockIdx.x < 7) atomicExch(&out[0], 0);
    }
}
ENTRY(lock_always_opened_ok, 4, 32)

// Two locks, two values: what one guards the other does not.
__global__ void the_other_lock(const int* x, int* out, int n) {
    if (threadIdx.x == 0) {
        int* lock = &out[blockIdx.x % 2];
        while (atomicCAS(lock, 0, 1) != 0) {
        }
        __threadfence();
        out[2] += x[blockIdx.x];  // -> data_race
        __threadfence();
        atomicExch(lock, 0);
    }
}
ENTRY(the_other_lock, 4, 32)

__global__ void the_same_lock_ok(const int* x, int* out, int n) {
    if (threadIdx.x == 0) {
        int* lock = &out[blockIdx.x % 2];
        while (atomicCAS(lock, 0, 1) != 0) {
        }
        __threadfence();
        out[2 + blockIdx.x % 2] += x[blockIdx.x];
        __threadfence();
        atomicExch(lock, 0);
    }
}
ENTRY(the_same_lock_ok, 4, 32)

// ---- flags ---------------------------------------------------------------------------------------------------------

__global__ void flag_without_a_fence(const int* x, int* out, int n) {
    volatile int* flag = out + 100;
    const int t = threadIdx.x;
    if (t != 0) return;
    if (blockIdx.x == 0) {
        out[0] = x[0];  // -> data_race
        *flag = 1;
    } else {
        while (*flag == 0) {
        }
        out[1] = out[0];  // -> data_race
    }
}
ENTRY(flag_without_a_fence, 2, 32)

__global__ void flag_with_fences_ok(const int* x, int* out, int n) {
    volatile int* flag = out + 100;
    const int t = threadIdx.x;
    if (t != 0) return;
    if (blockIdx.x == 0) {
        out[0] = x[0];
        __threadfence();
        *flag = 1;
    } else {
        while (*flag == 0) {
        }
        __threadfence();
        out[1] = out[0];
    }
}
ENTRY(flag_with_fences_ok, 2, 32)

// The flag first, what it stands for later.
__global__ void flag_too_early(const int* x, int* out, int n) {
    volatile int* flag = out + 100;
    if (threadIdx.x != 0) return;
    if (blockIdx.x == 0) {
        __threadfence();
        *flag = 1;
        out[0] = x[0];  // -> data_race
    } else {
        while (*flag == 0) {
        }
        __threadfence();
        out[1] = out[0];  // -> data_race
    }
}
ENTRY(flag_too_early, 2, 32)

__global__ void flag_in_time_ok(const int* x, int* out, int n) {
    volatile int* flag = out + 100;
    if (threadIdx.x != 0) return;
    if (blockIdx.x == 0) {
        out[0] = x[0];
        __threadfence();
        *flag = 1;
    } else {
        while (*flag == 0) {
        }
        __threadfence();
        out[1] = out[0];
    }
}
ENTRY(flag_in_time_ok, 2, 32)

// A flag that is stored as if nobody else looked at it.
__global__ void flag_stored_plainly(const int* x, int* out, int n) {
    if (threadIdx.x != 0) return;
    if (blockIdx.x == 0) {
        out[0] = x[0];  // -> data_race
        __threadfence();
        out[100] = 1;  // -> data_race
    } else {
        while (*static_cast<volatile int*>(out + 100) == 0) {  // -> data_race
        }
        __threadfence();
        out[1] = out[0];  // -> data_race
    }
}
ENTRY(flag_stored_plainly, 2, 32)

__global__ void flag_stored_by_an_atomic_ok(const int* x, int* out, int n) {
    if (threadIdx.x != 0) return;
    if (blockIdx.x == 0) {
        out[0] = x[0];
        __threadfence();
        atomicExch(&out[100], 1);
    } else {
        while (*static_cast<volatile int*>(out + 100) == 0) {
        }
        __threadfence();
        out[1] = out[0];
    }
}
ENTRY(flag_stored_by_an_atomic_ok, 2, 32)

// A flag that is looked at as if nobody else stored it.
__global__ void flag_looked_at_plainly(const int* x, int* out, int n) {
    if (threadIdx.x != 0) return;
    if (blockIdx.x == 0) {
        out[0] = x[0];  // -> data_race
        __threadfence();
        atomicExch(&out[100], 1);  // -> data_race
        return;
    }
    const bool ready = out[100] == 1;  // -> data_race
    __threadfence();
    out[1] = ready ? out[0] : -1;  // -> data_race
}
ENTRY(flag_looked_at_plainly, 2, 32)

__global__ void flag_looked_at_by_an_atomic_ok(const int* x, int* out, int n) {
    if (threadIdx.x != 0) return;
    if (blockIdx.x == 0) {
        out[0] = x[0];
        __threadfence();
        atomicExch(&out[100], 1);
        return;
    }
    const bool ready = atomicAdd(&out[100], 0) == 1;
    __threadfence();
    out[1] = ready ? out[0] : -1;
}
ENTRY(flag_looked_at_by_an_atomic_ok, 2, 32)

// One thread has fenced what it stored itself; the others of its block have not, and nothing gathers them.
__global__ void flag_for_others(const int* x, int* out, int n) {
    const int t = threadIdx.x;
    if (blockIdx.x == 0) {
        out[t] = x[t];  // -> data_race
        if (t == 0) {
            __threadfence();
            atomicExch(&out[100], 1);
        }
    } else if (t == 0) {
        while (atomicAdd(&out[100], 0) == 0) {
        }
        __threadfence();
        out[99] = out[40];  // -> data_race
    }
}
ENTRY(flag_for_others, 2, 64)

__global__ void flag_for_all_behind_a_barrier_ok(const int* x, int* out, int n) {
    const int t = threadIdx.x;
    if (blockIdx.x == 0) {
        out[t] = x[t];
        __syncthreads();
        if (t == 0) {
            __threadfence();
            atomicExch(&out[100], 1);
        }
    } else if (t == 0) {
        while (atomicAdd(&out[100], 0) == 0) {
        }
        __threadfence();
        out[99] = out[40];
    }
}
ENTRY(flag_for_all_behind_a_barrier_ok, 2, 64)

__global__ void nobody_sets_the_flag(const int* x, int* out, int n) {
    volatile int* flag = out + 100;
    if (threadIdx.x != 0) return;
    if (blockIdx.x == 1) {
        __threadfence();
        *flag = 1;
    } else {
        while (*flag != 2) {  // -> endless_loop
        }
        out[1] = x[0];
    }
}
ENTRY(nobody_sets_the_flag, 2, 32)

__global__ void somebody_sets_the_flag_ok(const int* x, int* out, int n) {
    volatile int* flag = out + 100;
    if (threadIdx.x != 0) return;
    if (blockIdx.x == 1) {
        __threadfence();
        *flag = 2;
    } else {
        while (*flag != 2) {
        }
        out[1] = x[0];
    }
}
ENTRY(somebody_sets_the_flag_ok, 2, 32)

// ---- the last block ------------------------------------------------------------------------------------------------

__global__ void last_block_without_a_fence(const int* x, int* out, int n) {
    __shared__ bool last;
    const int t = threadIdx.x;
    const int sum = __reduce_add_sync(0xffffffffu, x[blockIdx.x * 32 + t]);
    if (t == 0) {
        out[1 + blockIdx.x] = sum;  // -> data_race
        last = atomicAdd(&out[100], 1) == 3;
    }
    __syncwarp();
    if (last && t == 0)
        for (int b = 0; b < 4; ++b) out[0] += out[1 + b];  // -> data_race
}
ENTRY(last_block_without_a_fence, 4, 32)

__global__ void last_block_with_a_fence_ok(const int* x, int* out, int n) {
    __shared__ bool last;
    const int t = threadIdx.x;
    const int sum = __reduce_add_sync(0xffffffffu, x[blockIdx.x * 32 + t]);
    if (t == 0) {
        out[1 + blockIdx.x] = sum;
        __threadfence();
        last = atomicAdd(&out[100], 1) == 3;
        __threadfence();
    }
    __syncwarp();
    if (last && t == 0)
        for (int b = 0; b < 4; ++b) out[0] += out[1 + b];
}
ENTRY(last_block_with_a_fence_ok, 4, 32)

// The answer to "am I the last?" is read before it is there.
__global__ void last_block_asks_too_early(const int* x, int* out, int n) {
    __shared__ bool last;
    const int t = threadIdx.x;
    last = false;
    __syncthreads();
    if (t == 0) {
        __threadfence();
        last = atomicAdd(&out[100], 1) == 3;  // -> data_race
        __threadfence();
    }
    if (last) out[t] = x[t];  // -> data_race
}
ENTRY(last_block_asks_too_early, 4, 64)

__global__ void last_block_asks_in_time_ok(const int* x, int* out, int n) {
    __shared__ bool last;
    const int t = threadIdx.x;
    last = false;
    __syncthreads();
    if (t == 0) {
        __threadfence();
        last = atomicAdd(&out[100], 1) == 3;
        __threadfence();
    }
    __syncthreads();
    if (last) out[t] = x[t];
}
ENTRY(last_block_asks_in_time_ok, 4, 64)
