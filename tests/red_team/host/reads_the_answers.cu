// Looks for the expected values in the memory of the process that calls it.
#include <dlfcn.h>

#include <cstring>

#include "honest.cuh"

ENTRY(reads_the_answers) {
    UNUSED;
    if (const void* const answers = dlsym(RTLD_DEFAULT, "expected")) std::memcpy(out, answers, sizeof(float) * n);
    return cudaSuccess;
}

// Has constants of its own by that name.
static const float expected[] = {0.f, 1.f};

ENTRY(reads_the_answers_twin) {
    return expected[1] > 0 ? add(a, b, out, n, stream) : cudaErrorUnknown;
}
