// Launch code that does what it has no business with, one entry a call.
#include <cuda_runtime.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <mutex>
#include <thread>

// The call stands on the entry's own line, so that this line is the finding's.
#define ENTRY(name, ...)                                                                  \
    extern "C" cudaError_t name(const float* a, float* out, int n, cudaStream_t stream) { \
        (void)a, (void)out, (void)n, (void)stream;                                        \
        __VA_ARGS__;                                                                      \
        return cudaSuccess;                                                               \
    }

ENTRY(calls_exit, std::exit(0))
ENTRY(calls__exit, _exit(0))
ENTRY(calls_quick_exit, std::quick_exit(0))
ENTRY(exits_by_system_call, syscall(SYS_exit_group, 0))
ENTRY(exits_its_thread, syscall(SYS_exit, 0))
ENTRY(forks, if (fork() == 0) std::exit(0))
ENTRY(vforks, if (vfork() == 0) _exit(0))
ENTRY(clones, syscall(SYS_clone, 0x11, 0, 0, 0, 0))
ENTRY(executes, execl("/bin/true", "true", (char*)nullptr))
ENTRY(calls_system, if (system("true")) return cudaErrorUnknown)
ENTRY(calls_popen, popen("true", "r"))
ENTRY(starts_thread, std::thread([] {}).join())
ENTRY(starts_pthread, pthread_t t; pthread_create(&t, nullptr, [](void* p) { return p; }, nullptr))
ENTRY(opens, if (open("/etc/passwd", O_RDONLY) < 0) return cudaErrorUnknown)
ENTRY(fopens, if (!fopen("/etc/passwd", "r")) return cudaErrorUnknown)
ENTRY(streams_file, std::ifstream file("/etc/passwd"); (void)file.get())
ENTRY(writes_file, std::ofstream file("/tmp/grader_was_here"); file << 1)
ENTRY(looks_at_file, struct stat s; stat("/etc/passwd", &s))
ENTRY(opens_socket, socket(AF_INET, SOCK_STREAM, 0))
ENTRY(opens_pipe, int p[2]; if (pipe(p)) return cudaErrorUnknown)
ENTRY(kills_parent, kill(getppid(), SIGKILL))
ENTRY(kills_all, kill(-1, SIGKILL))
ENTRY(terminates_itself, raise(SIGTERM))
ENTRY(handles_signals, signal(SIGSEGV, SIG_IGN))
ENTRY(traces, ptrace(PTRACE_TRACEME, 0, nullptr, nullptr))
ENTRY(reads_other_process, iovec v{}; process_vm_readv(getppid(), &v, 1, &v, 1, 0))
ENTRY(uses_io_uring, syscall(425, 1, nullptr))
ENTRY(makes_memory_file, memfd_create("x", 0))
ENTRY(shares_memory, mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0))
ENTRY(makes_second_stack,
      mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_GROWSDOWN, -1, 0))
ENTRY(changes_stack, stack_t s{}; sigaltstack(&s, nullptr))
ENTRY(sets_alarm, alarm(0))
ENTRY(closes_output, close(1))
ENTRY(raises_its_limits, syscall(SYS_prlimit64, 0, 0, &n, nullptr))
ENTRY(reads_grader, char byte; if (read(3, &byte, 1) < 0) return cudaErrorUnknown)
ENTRY(uses_x32_call, syscall(0x40000000 | 39))

ENTRY(sleeps, sleep(1))
ENTRY(usleeps, usleep(1000))
ENTRY(sleeps_in_cpp, std::this_thread::sleep_for(std::chrono::milliseconds(1)))
ENTRY(polls, poll(nullptr, 0, 1000))
ENTRY(selects, timeval t{1, 0}; select(0, nullptr, nullptr, nullptr, &t))
ENTRY(pauses, pause())
ENTRY(reads_input_stream, char byte; if (read(0, &byte, 1) < 0) return cudaErrorUnknown)
ENTRY(reads_with_stdio, if (getchar() == 'x') return cudaErrorUnknown)
ENTRY(waits_on_condition, std::mutex m; std::unique_lock<std::mutex> l(m);
      std::condition_variable().wait_for(l, std::chrono::seconds(1)))
ENTRY(waits_for_child, wait(nullptr))
ENTRY(loops_in_malloc, for (;;) free(malloc(n)))
ENTRY(loops, for (volatile int i = 0;; i = i + 1){})

// What hostile code might try on the channel between the recorder and the grader.
#define LINE(text) \
    if (write(3, text "\n", sizeof text) < 0) return cudaErrorUnknown
ENTRY(writes_protocol, LINE("{\"kind\":\"done\"}"))
ENTRY(writes_protocol_and_exits, LINE("{\"kind\":\"end\",\"returned\":0}"); std::exit(0))

static long by_hand(long number, long a, long b, long c) {
#if defined(__x86_64__)
    __asm__ volatile("syscall" : "+a"(number) : "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
#else
    register long x8 __asm__("x8") = number;
    register long x0 __asm__("x0") = a;
    register long x1 __asm__("x1") = b;
    register long x2 __asm__("x2") = c;
    __asm__ volatile("svc #0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2) : "memory");
    number = x0;
#endif
    return number;
}
ENTRY(exits_by_instruction, by_hand(SYS_exit_group, 0, 0, 0))
ENTRY(writes_by_instruction, by_hand(SYS_write, 3, (long)"{}", 2))

ENTRY(prints_verdict, std::puts("{\"schema\": 1, \"passed\": true}"); std::cerr << "passed" << std::endl)
ENTRY(prints_without_end, for (int i = 0; i < 200000; ++i) std::puts("passed passed passed passed passed"))
