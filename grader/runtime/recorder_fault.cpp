#include "recorder_fault.hpp"

#include <cxxabi.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <ucontext.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <exception>
#include <string_view>

#include "line.hpp"
#include "recorder_channel.hpp"
#include "recorder_frames.hpp"

#ifndef SYS_SECCOMP
#define SYS_SECCOMP 1
#endif

namespace grader {

namespace {

constexpr int exit_status = 3;
constexpr std::size_t text_limit = 160;  // of a path or a message that the launcher chose

const char* library = nullptr;  // while it is being loaded
bool library_opened = false;
std::uintptr_t loader_first = 0, loader_last = 0;
std::uintptr_t stack_top = 0;  // the launcher's frames lie below
volatile sig_atomic_t reports = 0;
const char* first_signal = nullptr;  // the one being told

struct Registers {
    explicit Registers(ucontext_t* context) : context_(*context) {}
#if defined(__x86_64__)
    std::uintptr_t program_counter() const { return reg(REG_RIP); }
    std::uintptr_t stack_pointer() const { return reg(REG_RSP); }
    // Where a call through a bad pointer came from: the return address is still on top of the stack.
    std::uintptr_t caller() const { return *reinterpret_cast<const std::uintptr_t*>(stack_pointer()); }
    std::uint64_t argument(int index) const {
        constexpr int order[] = {REG_RDI, REG_RSI, REG_RDX, REG_R10};
        return reg(order[index]);
    }
    void answer(long value) { context_.uc_mcontext.gregs[REG_RAX] = value; }

  private:
    std::uintptr_t reg(int index) const { return static_cast<std::uintptr_t>(context_.uc_mcontext.gregs[index]); }
#else
    std::uintptr_t program_counter() const { return context_.uc_mcontext.pc; }
    std::uintptr_t stack_pointer() const { return context_.uc_mcontext.sp; }
    std::uintptr_t caller() const { return context_.uc_mcontext.regs[30]; }
    std::uint64_t argument(int index) const { return context_.uc_mcontext.regs[index]; }
    void answer(long value) { context_.uc_mcontext.regs[0] = static_cast<std::uint64_t>(value); }

  private:
#endif
    ucontext_t& context_;
};

std::string_view clip(const char* text) {
    return {text, strnlen(text, text_limit)};
}

const char* name_of(int signal) {
    switch (signal) {
        case SIGSEGV:
            return "SEGV";
        case SIGBUS:
            return "BUS";
        case SIGFPE:
            return "FPE";
        case SIGILL:
            return "ILL";
        case SIGABRT:
            return "ABRT";
        case SIGTRAP:
            return "TRAP";
        default:
            return "time";
    }
}

const char* name_of_call(int number) {
    struct Name {
        long number;
        const char* name;
    };
#define GRADER_CALL(call) \
    {                     \
        SYS_##call, #call \
    }
    static constexpr Name names[] = {
        GRADER_CALL(openat),
        GRADER_CALL(execve),
        GRADER_CALL(execveat),
        GRADER_CALL(clone),
        GRADER_CALL(clone3),
        GRADER_CALL(exit),
        GRADER_CALL(exit_group),
        GRADER_CALL(kill),
        GRADER_CALL(tkill),
        GRADER_CALL(tgkill),
        GRADER_CALL(rt_sigaction),
        GRADER_CALL(sigaltstack),
        GRADER_CALL(ptrace),
        GRADER_CALL(socket),
        GRADER_CALL(socketpair),
        GRADER_CALL(pipe2),
        GRADER_CALL(dup),
        GRADER_CALL(dup3),
        GRADER_CALL(close),
        GRADER_CALL(mmap),
        GRADER_CALL(memfd_create),
        GRADER_CALL(write),
        GRADER_CALL(writev),
        GRADER_CALL(pwrite64),
        GRADER_CALL(process_vm_readv),
        GRADER_CALL(process_vm_writev),
        GRADER_CALL(prctl),
        GRADER_CALL(seccomp),
        GRADER_CALL(newfstatat),
        GRADER_CALL(statx),
        GRADER_CALL(faccessat),
        GRADER_CALL(readlinkat),
        GRADER_CALL(getcwd),
        GRADER_CALL(unlinkat),
        GRADER_CALL(mkdirat),
        GRADER_CALL(renameat2),
        GRADER_CALL(ioctl),
        GRADER_CALL(setitimer),
        GRADER_CALL(timer_create),
        GRADER_CALL(sched_getaffinity),
        GRADER_CALL(uname),
        GRADER_CALL(prlimit64),
        GRADER_CALL(bpf),
        GRADER_CALL(userfaultfd),
        GRADER_CALL(perf_event_open),
        // These wait, for time or for somebody.
        GRADER_CALL(nanosleep),
        GRADER_CALL(clock_nanosleep),
        GRADER_CALL(pselect6),
        GRADER_CALL(ppoll),
        GRADER_CALL(epoll_pwait),
        GRADER_CALL(rt_sigtimedwait),
        GRADER_CALL(rt_sigsuspend),
        GRADER_CALL(futex),
        GRADER_CALL(read),
        GRADER_CALL(readv),
        GRADER_CALL(pread64),
        GRADER_CALL(wait4),
        GRADER_CALL(waitid),
#if defined(__x86_64__)
        GRADER_CALL(open),
        GRADER_CALL(creat),
        GRADER_CALL(fork),
        GRADER_CALL(vfork),
        GRADER_CALL(pipe),
        GRADER_CALL(dup2),
        GRADER_CALL(stat),
        GRADER_CALL(lstat),
        GRADER_CALL(access),
        GRADER_CALL(readlink),
        GRADER_CALL(unlink),
        GRADER_CALL(mkdir),
        GRADER_CALL(rename),
        GRADER_CALL(alarm),
        GRADER_CALL(getrlimit),
        GRADER_CALL(arch_prctl),
        GRADER_CALL(select),
        GRADER_CALL(poll),
        GRADER_CALL(epoll_wait),
        GRADER_CALL(pause),
#endif
#ifdef SYS_io_uring_setup
        GRADER_CALL(io_uring_setup),
#endif
    };
#undef GRADER_CALL
    for (const Name& entry : names) {
        if (entry.number == number) return entry.name;
    }
    return "other";
}

const char* path_argument(int call, const Registers& registers) {
    switch (call) {
        case SYS_openat:
        case SYS_newfstatat:
        case SYS_faccessat:
        case SYS_readlinkat:
        case SYS_unlinkat:
            return reinterpret_cast<const char*>(registers.argument(1));
        case SYS_execve:
#if defined(__x86_64__)
        case SYS_open:
        case SYS_stat:
        case SYS_access:
        case SYS_readlink:
        case SYS_unlink:
#endif
            return reinterpret_cast<const char*>(registers.argument(0));
        default:
            return nullptr;
    }
}

// The stack from where the signal struck: without the handler's own frames.
struct Interrupted {
    explicit Interrupted(const Registers& registers) : stack(walk()) {
        const auto struck = reinterpret_cast<void*>(registers.program_counter());
        while (first < stack.count && stack.addresses[first] != struck) ++first;
        if (first == stack.count) first = 0;
    }
    Stack stack;
    std::size_t first = 0;
};

// A function's name as it is written, cut at the parameters by whoever reads it.
void tell_function(Line& line, const void* inside) {
    Dl_info function{};
    if (!dladdr(inside, &function) || !function.dli_sname) return;
    char* plain = abi::__cxa_demangle(function.dli_sname, nullptr, nullptr, nullptr);
    line.text("function", clip(plain ? plain : function.dli_sname));
}

// Every frame in the learner's object; with_function, also what the innermost of them had called. That allocates
// memory, which only a launcher stopped at a system call can be trusted to stand.
void tell_place(Line& line, const Registers& registers, bool with_function) {
    const Interrupted at(registers);
    std::uint64_t offsets[16];
    std::size_t count = 0;
    const char* called = nullptr;
    for (std::size_t i = at.first; i < at.stack.count && count < std::size(offsets); ++i) {
        void* address = at.stack.addresses[i];
        if (!offset_of(address, offsets + count)) continue;
        // The instruction that was struck is the place itself, not the one after a call.
        if (address == reinterpret_cast<void*>(registers.program_counter())) ++offsets[count];
        if (count == 0 && i > at.first) {
            const auto* inside = static_cast<const char*>(at.stack.addresses[i - 1]);
            called = i - 1 == at.first ? inside : inside - 1;  // the call may be a function's last instruction
        }
        ++count;
    }
    if (with_function && called) tell_function(line, called);
    line.numbers("frames", offsets, count);
}

// A fault while a fault is told ends the process with what can be said without looking at anything.
void enter_report(const char* signal) {
    emit("\n", 1);
    reports = reports + 1;
    if (reports < 2) {
        first_signal = signal;
        return;
    }
    if (reports == 2) {
        Line line(emit, "fault");
        line.text("signal", first_signal);
        line.numbers("frames", static_cast<std::uint64_t*>(nullptr), 0);
        line.end();
    }
    leave(exit_status);
}

[[noreturn]] void on_fault(int signal, siginfo_t* info, void* context) {
    enter_report(name_of(signal));
    const Registers registers(static_cast<ucontext_t*>(context));
    const auto address = reinterpret_cast<std::uintptr_t>(info->si_addr);
    Line line(emit, "fault");
    line.text("signal", name_of(signal));
    if (signal == SIGSEGV || signal == SIGBUS) {
        constexpr std::uintptr_t near = 1 << 16;
        line.number("address", address);
        line.flag("known", info->si_code != SI_KERNEL);
        line.flag("stack", address + near >= registers.stack_pointer() && address < stack_top);
    }
    if (registers.program_counter() == address && (signal == SIGSEGV || signal == SIGBUS)) {
        std::uint64_t offset;  // a call through a bad pointer: the unwinder cannot start there
        line.numbers("frames", &offset, offset_of(reinterpret_cast<void*>(registers.caller()), &offset));
    } else {
        tell_place(line, registers, false);
    }
    line.end();
    leave(exit_status);
}

// Calls that libc makes on its own account are answered here; true when this was one.
bool answer(int call, Registers& registers) {
    const bool from_loader = registers.program_counter() - loader_first < loader_last - loader_first;
    const char* path = path_argument(call, registers);
    if (call == SYS_newfstatat && path && *path == '\0') {  // fstat by another name
        const int descriptor = static_cast<int>(registers.argument(0));
        const long failed = syscall(SYS_fstat, descriptor, registers.argument(2));
        registers.answer(failed ? -EBADF : 0);
        return true;
    }
    if (library && from_loader && path) {
        const bool ours = call == SYS_openat && !library_opened && std::strcmp(path, library) == 0;
        library_opened |= ours;
        registers.answer(ours ? library_descriptor : -ENOENT);
        return true;
    }
    if (call == SYS_rt_sigprocmask) {  // raise and abort block signals around theirs; ours must stay deliverable
        if (const std::uint64_t old = registers.argument(2)) {
            std::memset(reinterpret_cast<void*>(old), 0, registers.argument(3) & 0xff);
        }
        registers.answer(0);
        return true;
    }
    return false;
}

void on_call(int, siginfo_t* info, void* context) {
    Registers registers(static_cast<ucontext_t*>(context));
    if (info->si_code == SYS_SECCOMP && answer(info->si_syscall, registers)) return;
    enter_report("SYS");
    Line line(emit, "fault");
    line.text("signal", "SYS");
    line.text("call", name_of_call(info->si_syscall));
    line.integer("number", info->si_syscall);
    // A signal sent to itself is told apart from one sent to somebody else.
    if (info->si_syscall == SYS_tgkill && static_cast<pid_t>(registers.argument(0)) == getpid()) {
        line.integer("raised", static_cast<int>(registers.argument(2)));
    }
    if (const char* path = path_argument(info->si_syscall, registers)) line.text("path", clip(path));
    tell_place(line, registers, true);
    line.end();
    leave(exit_status);
}

// With no handler anywhere up the stack, the stack still holds the throw when this runs.
[[noreturn]] void on_terminate() {
    const std::type_info* type = abi::__cxa_current_exception_type();
    if (!type) abort();
    enter_report("exception");
    Line line(emit, "fault");
    line.text("signal", "exception");
    char* plain = abi::__cxa_demangle(type->name(), nullptr, nullptr, nullptr);
    line.text("type", clip(plain ? plain : type->name()));
    std::uint64_t offsets[16];
    line.numbers("frames", offsets, frames(offsets, std::size(offsets)));
    line.end();
    leave(exit_status);
}

int find_loader(dl_phdr_info* info, std::size_t, void*) {
    if (!info->dlpi_name || !std::strstr(info->dlpi_name, "/ld-")) return 0;
    for (int i = 0; i < info->dlpi_phnum; ++i) {
        const ElfW(Phdr) & segment = info->dlpi_phdr[i];
        if (segment.p_type != PT_LOAD || !(segment.p_flags & PF_X)) continue;
        loader_first = info->dlpi_addr + segment.p_vaddr;
        loader_last = loader_first + segment.p_memsz;
    }
    return 1;
}

bool handle(int signal, void (*handler)(int, siginfo_t*, void*)) {
    struct sigaction action{};
    action.sa_sigaction = handler;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
    return sigaction(signal, &action, nullptr) == 0;
}

bool start_clock(__itimer_which which, long milliseconds) {
    const itimerval value{{1, 0}, {milliseconds / 1000, milliseconds % 1000 * 1000}};
    return setitimer(which, &value, nullptr) == 0;
}

}  // namespace

const char* watch_faults(const Times& times) {
    alignas(64) static char alternate[256 << 10];
    const stack_t stack{alternate, 0, sizeof alternate};
    bool done = sigaltstack(&stack, nullptr) == 0 && handle(SIGSYS, on_call);
    for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGALRM, SIGPROF, SIGXCPU}) {
        done = done && handle(signal, on_fault);
    }
    stack_top = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
    std::set_terminate(on_terminate);
    dl_iterate_phdr(find_loader, nullptr);
    done =
        done && start_clock(ITIMER_PROF, times.cpu_milliseconds) && start_clock(ITIMER_REAL, times.wall_milliseconds);
    return done ? nullptr : "signal handlers and timers";
}

void loading(const char* path) {
    library = path;
}
void loaded() {
    library = nullptr;
}

}  // namespace grader
