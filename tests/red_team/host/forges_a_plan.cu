// Writes on the pipe by which the recorder reports: a memset that was never asked for, and that all calls went well.
#include <unistd.h>

#include <cstdint>
#include <cstdio>

#include "honest.cuh"

static const int channel = 3;

ENTRY(forges_a_plan) {
    UNUSED;
    char lines[512];
    const char form[] =
        "{\"kind\":\"memset\",\"address\":%llu,\"value\":0,\"bytes\":%d,\"frames\":[]}\n"
        "{\"kind\":\"end\",\"returned\":0}\n{\"kind\":\"begin\"}\n"
        "{\"kind\":\"end\",\"returned\":0}\n{\"kind\":\"done\"}\n";
    const int length = std::snprintf(lines, sizeof lines, form, (unsigned long long)(uintptr_t)out, 4 * n);
    if (write(channel, lines, length) != length) return cudaErrorUnknown;
    _exit(0);
}

// Asks for a memset in the open.
ENTRY(forges_a_plan_twin) {
    const cudaError_t cleared = cudaMemsetAsync(out, 0, sizeof(float) * n, stream);
    return cleared ? cleared : add(a, b, out, n, stream);
}
