// Remembers the buffers of the first call: right for as long as every call gets the same ones.
#include "honest.cuh"

static const float* kept = nullptr;

ENTRY(keeps_a_pointer) {
    if (!kept) kept = a;
    return add(kept, b, out, n, stream);
}

// Remembers a number.
static int largest = 0;

ENTRY(keeps_a_pointer_twin) {
    if (n > largest) largest = n;
    return add(a, b, out, n, stream);
}
