// Tells somebody outside what the task is, and could be told the answer.
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>

#include "honest.cuh"

ENTRY(opens_a_socket) {
    const int there = socket(AF_UNIX, SOCK_STREAM, 0);
    sockaddr_un address = {AF_UNIX, "outside"};
    if (connect(there, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0) {
        const char question[] = "what is a + b?";
        if (write(there, question, sizeof question) < 0) return cudaErrorUnknown;
    }
    return add(a, b, out, n, stream);
}

// Asks nobody but itself.
ENTRY(opens_a_socket_twin) {
    char question[] = "what is a + b?";
    std::memmove(question, question + 8, 5);
    return question[0] == 'a' ? add(a, b, out, n, stream) : cudaErrorUnknown;
}
