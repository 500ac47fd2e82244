// Has the stream call a function of the launcher's, long after the launcher has been judged.
#include "honest.cuh"

static void later(void* told) {
    *static_cast<int*>(told) = 1;
}

ENTRY(calls_the_host_later) {
    static int told = 0;
    const cudaError_t error = add(a, b, out, n, stream);
    return error ? error : cudaLaunchHostFunc(stream, later, &told);
}

// Calls a function of its own at once.
ENTRY(calls_the_host_later_twin) {
    int told = 0;
    later(&told);
    return told ? add(a, b, out, n, stream) : cudaErrorUnknown;
}
