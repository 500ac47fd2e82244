// Ends with status 0 before anybody has looked at a result.
#include <unistd.h>

#include "honest.cuh"

ENTRY(exits) {
    UNUSED;
    _exit(0);
}

// Leaves early where there is nothing to do.
ENTRY(exits_twin) {
    if (n == 0) return cudaSuccess;
    return add(a, b, out, n, stream);
}
