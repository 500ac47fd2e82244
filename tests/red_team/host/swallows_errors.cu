// Reports success whatever became of its launches.
#include "honest.cuh"

ENTRY(swallows_errors) {
    add(a, b, out, n, stream);
    return cudaSuccess;
}

// Clears an error of its own making: a question that may be answered with no.
ENTRY(swallows_errors_twin) {
    int value;
    if (cudaDeviceGetAttribute(&value, cudaDevAttrMultiProcessorCount, 0) != cudaSuccess) cudaGetLastError();
    return add(a, b, out, n, stream);
}
