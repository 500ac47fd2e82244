// Leaves something on the machine: a solution for the next attempt, a line in somebody's profile.
#include <cstdio>

#include "honest.cuh"

ENTRY(writes_a_file) {
    if (FILE* const file = std::fopen("mark", "w")) std::fclose(file);
    return add(a, b, out, n, stream);
}

// Writes into memory of its own.
ENTRY(writes_a_file_twin) {
    char line[64];
    const int length = std::snprintf(line, sizeof line, "%d elements", n);
    return length > 0 ? add(a, b, out, n, stream) : cudaErrorUnknown;
}
