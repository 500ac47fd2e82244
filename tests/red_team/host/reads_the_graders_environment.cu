// Looks at the process that judges it: keys in its environment, the seed in its memory.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "honest.cuh"

ENTRY(reads_the_graders_environment) {
    UNUSED;
    char path[64], line[4096];
    std::snprintf(path, sizeof path, "/proc/%d/environ", getppid());
    if (FILE* const file = std::fopen(path, "r")) {
        const size_t count = std::fread(line, 1, sizeof line, file);
        std::fwrite(line, 1, count, stdout);
    }
    return cudaSuccess;
}

// Asks for a variable that may not be there.
ENTRY(reads_the_graders_environment_twin) {
    return std::getenv("BLOCKS") ? cudaErrorUnknown : add(a, b, out, n, stream);
}
