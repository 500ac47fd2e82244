// Finds the one system call that may write on the recorder's pipe, in the recorder's own code, and calls it: then no
// filter can tell who it was. The plan clears memory that is not the entry's.
#include <link.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstring>

#include "honest.cuh"

using Call = long (*)(long number, long first, long second, long third);

#if defined(__x86_64__)
static const unsigned char code[] = {0x48, 0x89, 0xf8, 0x48, 0x89, 0xf7, 0x48,
                                     0x89, 0xd6, 0x48, 0x89, 0xca, 0x0f, 0x05};
#else
static const unsigned char code[] = {0xe8, 0x03, 0x00, 0xaa, 0xe0, 0x03, 0x01, 0xaa, 0xe1, 0x03,
                                     0x02, 0xaa, 0xe2, 0x03, 0x03, 0xaa, 0x01, 0x00, 0x00, 0xd4};
#endif

static int find(dl_phdr_info* program, size_t, void* found) {
    for (int i = 0; i < program->dlpi_phnum; ++i) {
        const ElfW(Phdr) & segment = program->dlpi_phdr[i];
        if (segment.p_type != PT_LOAD || !(segment.p_flags & PF_X)) continue;
        void* const start = reinterpret_cast<void*>(program->dlpi_addr + segment.p_vaddr);
        *static_cast<void**>(found) = memmem(start, segment.p_memsz, code, sizeof code);
    }
    return 1;  // the program itself is the first
}

ENTRY(forges_by_the_recorders_hand) {
    UNUSED;
    void* found = nullptr;
    dl_iterate_phdr(find, &found);
    if (!found) return cudaErrorUnknown;
    const Call call = reinterpret_cast<Call>(found);
    const char lines[] =
        "{\"kind\":\"memset\",\"address\":123145302310912,\"value\":0,\"bytes\":4096,\"frames\":[]}\n"
        "{\"kind\":\"end\",\"returned\":0}\n{\"kind\":\"begin\"}\n"
        "{\"kind\":\"memset\",\"address\":123145302310912,\"value\":0,\"bytes\":4096,\"frames\":[]}\n"
        "{\"kind\":\"end\",\"returned\":0}\n{\"kind\":\"done\"}\n";
    call(SYS_write, 3, reinterpret_cast<long>(lines), sizeof lines - 1);
    call(SYS_exit_group, 0, 0, 0);
    return cudaSuccess;
}

// Copies within its own memory.
ENTRY(forges_by_the_recorders_hand_twin) {
    const cudaError_t copied = cudaMemcpyAsync(out, a, sizeof(float) * n, cudaMemcpyDeviceToDevice, stream);
    return copied ? copied : add(a, b, out, n, stream);
}
