// Ends the process that judges it, or any other of the same user.
#include <signal.h>
#include <unistd.h>

#include "honest.cuh"

ENTRY(signals_the_grader) {
    kill(getppid(), SIGUSR1);
    return add(a, b, out, n, stream);
}

// Reports what is wrong by the error that it returns.
ENTRY(signals_the_grader_twin) {
    return n < 0 ? cudaErrorInvalidValue : add(a, b, out, n, stream);
}
