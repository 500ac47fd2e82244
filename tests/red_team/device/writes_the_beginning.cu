// Does the first block's work and leaves the rest as it was: right for whoever looks at the first few values.
#include "honest.cuh"

ENTRY(writes_the_beginning) {
    add_kernel<<<1, 256, 0, stream>>>(a, b, out, n);
    return cudaGetLastError();
}

// One block that goes on to the end.
static __global__ void one_block(const float* a, const float* b, float* out, int n) {
    for (int i = threadIdx.x; i < n; i += blockDim.x) out[i] = a[i] + b[i];
}

ENTRY(writes_the_beginning_twin) {
    one_block<<<1, 256, 0, stream>>>(a, b, out, n);
    return cudaGetLastError();
}
