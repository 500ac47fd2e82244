// Launch code that crashes, one entry a way.
#include <cuda_runtime.h>
#include <sys/mman.h>

#include <csignal>
#include <cstdlib>
#include <stdexcept>
#include <vector>

#define ENTRY(name) extern "C" cudaError_t name(const float* a, float* out, int n, cudaStream_t stream)
#define UNUSED (void)a, (void)out, (void)n, (void)stream

ENTRY(follows_null) {
    UNUSED;
    int* nothing = nullptr;
    *nothing = n;  // line of follows_null
    return cudaSuccess;
}

ENTRY(reads_input) {
    UNUSED;
    return a[1] > 0 ? cudaSuccess : cudaErrorUnknown;  // line of reads_input
}

ENTRY(writes_output) {
    UNUSED;
    for (int i = 0; i < n; ++i) out[i + 1000000] = 0;  // line of writes_output
    return cudaSuccess;
}

ENTRY(copies_with_libc) {
    UNUSED;
    float host[4];
    memcpy(host, a, sizeof host);  // line of copies_with_libc
    return host[0] > 0 ? cudaSuccess : cudaErrorUnknown;
}

ENTRY(uploads_from_device) {
    return cudaMemcpyToSymbolAsync(out, a, n, 0, cudaMemcpyHostToDevice, stream);
}

ENTRY(reads_stream) {
    UNUSED;
    return *(const int*)stream ? cudaSuccess : cudaErrorUnknown;  // line of reads_stream
}

ENTRY(aborts) {
    UNUSED;
    std::abort();  // line of aborts
}

ENTRY(throws) {
    UNUSED;
    throw std::runtime_error("nobody catches this");  // line of throws
}

ENTRY(throws_from_library) {
    UNUSED;
    return (cudaError_t)std::vector<int>(3).at(n);  // line of throws_from_library
}

static int calls_itself(volatile int depth) {  // line of overflows_stack
    char frame[1024];
    frame[depth % 1024] = 1;
    return calls_itself(depth + 1) + frame[0];
}

ENTRY(overflows_stack) {
    UNUSED;
    return (cudaError_t)calls_itself(n);
}

ENTRY(needs_too_much_stack) {
    UNUSED;
    volatile float tile[4 << 20];
    tile[2 << 20] = n;
    return tile[0] > 0 ? cudaSuccess : cudaErrorUnknown;
}

ENTRY(divides) {
    UNUSED;
    volatile int zero = 0;
    return (cudaError_t)(n / zero);  // line of divides
}

ENTRY(calls_null) {
    UNUSED;
    cudaError_t (*volatile function)() = nullptr;
    return function();  // line of calls_null
}

ENTRY(traps) {
    UNUSED;
    __builtin_trap();  // line of traps
}

ENTRY(raises) {
    UNUSED;
    std::raise(SIGSEGV);  // line of raises
    return cudaSuccess;
}

ENTRY(second_call) {
    UNUSED;
    static int* nothing = &n;
    *nothing = 0;  // line of second_call
    nothing = nullptr;
    return cudaSuccess;
}

ENTRY(corrupts_heap) {
    UNUSED;
    void* block = std::malloc(16);
    std::free(block);
    std::free(block);  // line of corrupts_heap
    return cudaSuccess;
}

ENTRY(takes_all_memory) {
    UNUSED;
    std::vector<char> all(4ull << 30);  // line of takes_all_memory
    return all[0] ? cudaErrorUnknown : cudaSuccess;
}

// Memory that is never written, so that none is used yet.
ENTRY(takes_all_addresses) {
    UNUSED;
    void* const all = mmap(nullptr, 2ull << 30, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (all == MAP_FAILED) std::abort();  // line of takes_all_addresses
    return cudaSuccess;
}
