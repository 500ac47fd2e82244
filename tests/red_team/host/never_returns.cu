// Holds up whoever waits for it, for ever.
#include "honest.cuh"

ENTRY(never_returns) {
    for (volatile int turn = 0;; turn = turn + 1) {
    }
    return add(a, b, out, n, stream);
}

// A loop that ends: the grid by repeated subtraction.
ENTRY(never_returns_twin) {
    unsigned blocks = 0;
    for (int left = n; left > 0; left -= 256) ++blocks;
    if (blocks) add_kernel<<<blocks, 256, 0, stream>>>(a, b, out, n);
    return cudaGetLastError();
}
