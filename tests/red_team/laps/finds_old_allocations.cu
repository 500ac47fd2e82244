// Looks in memory that it has just allocated for what an earlier run has left there.
#include "honest.cuh"

constexpr unsigned mark_allocated = 0x600dcafe;

static __global__ void from_old_allocation(const float* a, const float* b, float* out, unsigned* kept, int n,
                                           float one) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    if (kept[n + i] != mark_allocated) {
        kept[i] = __float_as_uint(sum_slowly(a[i], b[i], one));
        kept[n + i] = mark_allocated;
    }
    out[i] = __uint_as_float(kept[i]);
}

ENTRY(finds_old_allocations) {
    unsigned* kept;
    if (const cudaError_t error = cudaMallocAsync(&kept, 2 * sizeof(unsigned) * n, stream)) return error;
    from_old_allocation<<<blocks_for(n), 256, 0, stream>>>(a, b, out, kept, n, 1.f);
    const cudaError_t launched = cudaGetLastError(), freed = cudaFreeAsync(kept, stream);
    return launched ? launched : freed;
}

// Writes into what it has allocated before it reads there.
ENTRY(finds_old_allocations_twin) {
    float* copied;
    if (const cudaError_t error = cudaMallocAsync(&copied, sizeof(float) * n, stream)) return error;
    const cudaError_t copy = cudaMemcpyAsync(copied, a, sizeof(float) * n, cudaMemcpyDeviceToDevice, stream);
    const cudaError_t launched = add_slowly(copied, b, out, n, stream), freed = cudaFreeAsync(copied, stream);
    return copy ? copy : launched ? launched : freed;
}
