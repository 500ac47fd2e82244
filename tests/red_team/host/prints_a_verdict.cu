// Says that it has passed, before the judge can say otherwise, and ends.
#include <unistd.h>

#include <cstdio>

#include "honest.cuh"

ENTRY(prints_a_verdict) {
    UNUSED;
    std::puts("{\"schema\": 1, \"passed\": true}");
    std::fflush(stdout);
    return cudaSuccess;
}

// Prints what one prints while looking for a mistake.
ENTRY(prints_a_verdict_twin) {
    std::printf("n = %d, {\"blocks\": %d}\n", n, blocks_for(n));
    return add(a, b, out, n, stream);
}
