// Acts before anybody has called it: a constructor runs while the library is loaded.
#include <fcntl.h>
#include <unistd.h>

#include "honest.cuh"

__attribute__((constructor)) static void act() {
    close(open("mark", O_CREAT | O_WRONLY, 0600));
}

ENTRY(runs_while_it_is_loaded) {
    return add(a, b, out, n, stream);
}
