// Takes what lies on the machine: a solution, another learner's file, a password.
#include <cstdio>

#include "honest.cuh"

ENTRY(reads_a_file) {
    UNUSED;
    char line[256];
    FILE* const file = std::fopen("/etc/passwd", "r");
    while (file && std::fgets(line, sizeof line, file)) std::fputs(line, stdout);
    return cudaSuccess;
}

// Has its table in the source.
ENTRY(reads_a_file_twin) {
    static const int threads[] = {64, 128, 256};
    const int chosen = threads[n % 3];
    if (n > 0) add_kernel<<<(n + chosen - 1) / chosen, chosen, 0, stream>>>(a, b, out, n);
    return cudaGetLastError();
}
