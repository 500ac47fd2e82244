// Works where nobody measures: the clock is on the given stream.
#include "honest.cuh"

ENTRY(works_on_another_stream) {
    UNUSED;
    add_kernel<<<blocks_for(n), 256>>>(a, b, out, n);
    return cudaGetLastError();
}

// Works on the given stream in four pieces.
ENTRY(works_on_another_stream_twin) {
    for (int begin = 0; begin < n; begin += n / 4 + 1) {
        const int count = min(n / 4 + 1, n - begin);
        if (const cudaError_t error = add(a + begin, b + begin, out + begin, count, stream)) return error;
    }
    return cudaSuccess;
}
