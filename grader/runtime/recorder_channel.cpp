#include "recorder_channel.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <initializer_list>

#if defined(__x86_64__)
__asm__(R"(
    .text
    .globl grader_channel_begin, grader_channel_end, grader_channel_call
grader_channel_begin:
grader_channel_call:
    mov %rdi, %rax
    mov %rsi, %rdi
    mov %rdx, %rsi
    mov %rcx, %rdx
    syscall
    ret
grader_channel_end:
)");
#elif defined(__aarch64__)
__asm__(R"(
    .text
    .globl grader_channel_begin, grader_channel_end, grader_channel_call
grader_channel_begin:
grader_channel_call:
    mov x8, x0
    mov x0, x1
    mov x1, x2
    mov x2, x3
    svc #0
    ret
grader_channel_end:
)");
#else
#error "the recorder knows x86-64 and aarch64"
#endif

extern "C" long grader_channel_call(long number, long first, long second, long third);

namespace grader {

void emit(const char* bytes, std::size_t count) {
    while (count > 0) {
        const long written = grader_channel_call(SYS_write, protocol_descriptor, reinterpret_cast<long>(bytes),
                                                 static_cast<long>(count));
        if (written == -EINTR) continue;
        if (written <= 0) leave(2);  // nobody listens
        bytes += written;
        count -= static_cast<std::size_t>(written);
    }
}

void mute_launcher() {
    for (const int descriptor : {STDOUT_FILENO, STDERR_FILENO}) {
        grader_channel_call(SYS_dup3, STDIN_FILENO, descriptor, 0);  // which is /dev/null
    }
}

void leave(int status) {
    for (;;) grader_channel_call(SYS_exit_group, status, 0, 0);
}

}  // namespace grader
