// Prints until whoever keeps it has no memory left.
#include <cstdio>

#include "honest.cuh"

ENTRY(floods_the_output) {
    for (int line = 0; line < 150'000; ++line) std::puts("................................................");
    return add(a, b, out, n, stream);
}

// Prints a table of a hundred lines.
ENTRY(floods_the_output_twin) {
    for (int block = 0; block < 100; ++block) std::printf("block %d begins at %d\n", block, 256 * block);
    return add(a, b, out, n, stream);
}
