// Writes zeros: right for inputs that are zeros, or within a wide tolerance of them.
#include "honest.cuh"

static __global__ void zeros(float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = 0.f;
}

ENTRY(writes_zeros) {
    UNUSED;
    zeros<<<blocks_for(n), 256, 0, stream>>>(out, n);
    return cudaGetLastError();
}

// Writes zeros first, and then the sums.
ENTRY(writes_zeros_twin) {
    zeros<<<blocks_for(n), 256, 0, stream>>>(out, n);
    return add(a, b, out, n, stream);
}
