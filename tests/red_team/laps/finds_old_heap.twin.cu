// Has its memory from the launcher.
#include "honest.cuh"

ENTRY(finds_old_heap_twin) {
    float* copied;
    if (const cudaError_t error = cudaMallocAsync(&copied, sizeof(float) * n, stream)) return error;
    const cudaError_t copy = cudaMemcpyAsync(copied, b, sizeof(float) * n, cudaMemcpyDeviceToDevice, stream);
    const cudaError_t launched = add_slowly(a, copied, out, n, stream), freed = cudaFreeAsync(copied, stream);
    return copy ? copy : launched ? launched : freed;
}
