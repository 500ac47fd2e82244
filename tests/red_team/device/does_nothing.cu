// Launches a kernel that does nothing: right if the answer of an earlier run, or of somebody else, still lies there.
#include "honest.cuh"

static __global__ void nothing(const float*, const float*, float*, int) {}

ENTRY(does_nothing) {
    nothing<<<blocks_for(n), 256, 0, stream>>>(a, b, out, n);
    return cudaGetLastError();
}

// Does nothing where there is nothing to do, and all of it elsewhere.
ENTRY(does_nothing_twin) {
    return n == 0 ? cudaSuccess : add(a, b, out, n, stream);
}
