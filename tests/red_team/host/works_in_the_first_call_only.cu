// Does its work while it is looked at, and nothing in later calls, which are the timed ones.
#include "honest.cuh"

static int calls = 0;

ENTRY(works_in_the_first_call_only) {
    return calls++ ? cudaSuccess : add(a, b, out, n, stream);
}

// Prepares its kernel in the first call only.
static bool ready = false;

ENTRY(works_in_the_first_call_only_twin) {
    if (!ready) {
        const cudaError_t set = cudaFuncSetAttribute(add_kernel, cudaFuncAttributePreferredSharedMemoryCarveout, 0);
        if (set != cudaSuccess) return set;
        ready = true;
    }
    return add(a, b, out, n, stream);
}
