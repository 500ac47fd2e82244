// Has the stream call a function of the launcher's, long after the launcher has been judged.
#include "honest.cuh"

extern "C" {
int called_back = 0;
}

static void later(void*) {
    ++called_back;
}

ENTRY(calls_the_host_later) {
    const cudaError_t error = add(a, b, out, n, stream);
    return error ? error : cudaLaunchHostFunc(stream, later, nullptr);
}

// Calls a function of its own at once.
static int once(int count) {
    return count + 1;
}

ENTRY(calls_the_host_later_twin) {
    return once(n) > n ? add(a, b, out, n, stream) : cudaErrorUnknown;
}
