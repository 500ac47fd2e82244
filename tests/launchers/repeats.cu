// Entries whose second call is not like the first.
#include <cuda_runtime.h>
#include <unistd.h>

#include <cstdint>
#include <random>

__global__ void kernel(const float* a, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = a[i];
}
__global__ void value_kernel(float* out, std::uint64_t value) {
    out[0] = value;
}

#define ENTRY(name, ...)                                                                  \
    extern "C" cudaError_t name(const float* a, float* out, int n, cudaStream_t stream) { \
        (void)a, (void)out, (void)n, (void)stream;                                        \
        __VA_ARGS__;                                                                      \
        return cudaGetLastError();                                                        \
    }
#define LAUNCH(pointer, count) kernel<<<1, 32, 0, stream>>>(pointer, out, count)

ENTRY(first_call_only, static bool done = false; if (!done) LAUNCH(a, n); done = true)
ENTRY(second_call_only, static int calls = 0; if (++calls > 1) LAUNCH(a, n))
ENTRY(keeps_pointer, static const float* kept = a; LAUNCH(kept, n))
ENTRY(counts_calls, static int calls = 0; LAUNCH(a, ++calls))
ENTRY(grid_grows, static int blocks = 0; kernel<<<++blocks, 32, 0, stream>>>(a, out, n))
ENTRY(branches_on_address, if ((std::uintptr_t)a >> 8 & 1) LAUNCH(a, n); else LAUNCH(out, n))
ENTRY(passes_half_an_address, value_kernel<<<1, 1, 0, stream>>>(out, (std::uint32_t)(std::uintptr_t)a))
ENTRY(mixes_addresses, value_kernel<<<1, 1, 0, stream>>>(out, (std::uintptr_t)a ^ (std::uintptr_t)out))
ENTRY(passes_host_address, static char* block = new char[8];
      value_kernel<<<1, 1, 0, stream>>>(out, (std::uintptr_t)(block = new char[64])))
ENTRY(draws_lots, LAUNCH(a, (int)std::random_device()()))
ENTRY(memset_grows, static int bytes = 0; cudaMemsetAsync(out, 0, bytes += 4, stream))
ENTRY(uploads_count, static int calls = 0; ++calls; cudaMemcpyAsync(out, &calls, 4, cudaMemcpyHostToDevice, stream))
ENTRY(fills_kept_pointer, static float* kept = out; cudaMemsetAsync(kept, 0, 4, stream))
ENTRY(fails_later, static int calls = 0; if (++calls > 1) return cudaErrorUnknown; LAUNCH(a, n))
ENTRY(other_kernel, static int calls = 0; if (++calls > 1) LAUNCH(a, n); else value_kernel<<<1, 1, 0, stream>>>(out, 1))

// These look at addresses in ways that change nothing.
ENTRY(looks_at_alignment, if ((std::uintptr_t)a % 16 == 0) LAUNCH(a, n))
ENTRY(offsets_pointer, kernel<<<1, 32, 0, stream>>>(a + 5, out + n / 2, n))
