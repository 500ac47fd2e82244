// Becomes another program.
#include <unistd.h>

#include "honest.cuh"

ENTRY(runs_a_program) {
    UNUSED;
    execl("/bin/sh", "sh", "-c", ": > mark", nullptr);
    return cudaErrorUnknown;
}

// Chooses a function by its address.
ENTRY(runs_a_program_twin) {
    cudaError_t (*const chosen)(const float*, const float*, float*, int, cudaStream_t) = add;
    return chosen(a, b, out, n, stream);
}
