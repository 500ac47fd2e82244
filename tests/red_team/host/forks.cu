// Leaves a process behind, which goes on when the launcher has long been judged.
#include <fcntl.h>
#include <unistd.h>

#include "honest.cuh"

ENTRY(forks) {
    if (fork() == 0) {
        close(open("mark", O_CREAT | O_WRONLY, 0600));
        _exit(0);
    }
    return add(a, b, out, n, stream);
}

// Two halves, one launch each.
ENTRY(forks_twin) {
    const int half = n / 2;
    const cudaError_t first = add(a, b, out, half, stream);
    return first ? first : add(a + half, b + half, out + half, n - half, stream);
}
