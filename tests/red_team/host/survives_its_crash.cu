// Puts its own handler in the place of the one that tells of crashes, and so reads where it may not, and goes on.
#include <setjmp.h>
#include <signal.h>

#include <cstdio>

#include "honest.cuh"

static sigjmp_buf before;

static void back(int) {
    siglongjmp(before, 1);
}

ENTRY(survives_its_crash) {
    struct sigaction own = {};
    own.sa_handler = back;
    sigaction(SIGSEGV, &own, nullptr);
    if (sigsetjmp(before, 1) == 0) return a[0] > 0 ? cudaSuccess : cudaErrorUnknown;
    std::puts("still here");
    return add(a, b, out, n, stream);
}

// Throws and catches.
ENTRY(survives_its_crash_twin) {
    try {
        if (n >= 0) throw n;
    } catch (int caught) {
        return add(a, b, out, caught, stream);
    }
    return cudaErrorInvalidValue;
}
