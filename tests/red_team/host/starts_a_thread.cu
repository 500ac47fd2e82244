// Works beside the judge: a thread could change what is measured while it is measured.
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "honest.cuh"

static void* beside(void*) {
    close(open("mark", O_CREAT | O_WRONLY, 0600));
    return nullptr;
}

ENTRY(starts_a_thread) {
    pthread_t thread;
    if (pthread_create(&thread, nullptr, beside, nullptr) == 0) pthread_join(thread, nullptr);
    return add(a, b, out, n, stream);
}

// Uses the standard library, which has locks and thread-local variables, in its own thread.
ENTRY(starts_a_thread_twin) {
    std::vector<int> sizes = {n - n / 3, n / 3};
    std::sort(sizes.begin(), sizes.end());
    const cudaError_t first = add(a, b, out, sizes[0], stream);
    return first ? first : add(a + sizes[0], b + sizes[0], out + sizes[0], sizes[1], stream);
}
