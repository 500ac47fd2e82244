#include "recorder_filter.hpp"

#include <asm/ioctls.h>
#include <asm/termbits.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <vector>

#include "recorder_channel.hpp"

namespace grader {

namespace {

#if defined(__x86_64__)
constexpr std::uint32_t architecture = AUDIT_ARCH_X86_64;
#else
constexpr std::uint32_t architecture = AUDIT_ARCH_AARCH64;
#endif

constexpr std::uint32_t low(std::size_t field) {
    return static_cast<std::uint32_t>(field);
}  // little-endian
constexpr std::uint32_t high(std::size_t field) {
    return static_cast<std::uint32_t>(field + 4);
}
constexpr std::size_t argument(int index) {
    return offsetof(seccomp_data, args) + static_cast<std::size_t>(index) * sizeof(std::uint64_t);
}

// Assembles the filter rule by rule; each rule tests one system call and, where it matches, returns.
class Program {
  public:
    Program() {
        load(offsetof(seccomp_data, arch));
        test(BPF_JEQ, architecture, 1, 0);
        give(SECCOMP_RET_KILL_PROCESS);
        load(offsetof(seccomp_data, nr));
#if defined(__x86_64__)
        test(BPF_JGE, 0x40000000, 0, 1);  // the x32 calls
        give(SECCOMP_RET_KILL_PROCESS);
#endif
    }

    void allow(std::initializer_list<long> calls) {
        for (const long call : calls) {
            only_for(call, 1);
            give(SECCOMP_RET_ALLOW);
        }
    }

    // Lets the call through when this argument's low half, masked, is one of the values.
    void allow_when(long call, int index, std::uint32_t mask, std::initializer_list<std::uint32_t> values) {
        only_for(call, 3 + 2 * values.size());
        load(argument(index));
        put(BPF_ALU | BPF_AND | BPF_K, mask);
        for (const std::uint32_t value : values) {
            test(BPF_JEQ, value, 0, 1);
            give(SECCOMP_RET_ALLOW);
        }
        give(SECCOMP_RET_TRAP);
    }

    // The same for output: the protocol's descriptor from our own code alone, the launcher's from anywhere.
    void allow_from_channel(long call, std::initializer_list<std::uint32_t> elsewhere) {
        const auto begin = reinterpret_cast<std::uint64_t>(grader_channel_begin);
        const auto end = reinterpret_cast<std::uint64_t>(grader_channel_end);
        constexpr std::size_t place = offsetof(seccomp_data, instruction_pointer);
        only_for(call, 8 + (elsewhere.size() ? 1 + 2 * elsewhere.size() : 0));
        if (elsewhere.size()) load(argument(0));
        for (const std::uint32_t descriptor : elsewhere) {
            test(BPF_JEQ, descriptor, 0, 1);
            give(SECCOMP_RET_ALLOW);
        }
        load(high(place));
        test(BPF_JEQ, static_cast<std::uint32_t>(begin >> 32), 1, 0);
        give(SECCOMP_RET_TRAP);
        load(low(place));
        test(BPF_JGE, static_cast<std::uint32_t>(begin), 0, 2);
        test(BPF_JGT, static_cast<std::uint32_t>(end), 1, 0);
        give(SECCOMP_RET_ALLOW);
        give(SECCOMP_RET_TRAP);
    }

    // Private memory, anonymous or from the learner's object; no second stack, which RLIMIT_DATA does not count.
    void allow_memory_map() {
        only_for(SYS_mmap, 8);
        load(argument(3));
        test(BPF_JSET, MAP_SHARED | MAP_GROWSDOWN, 4, 0);
        test(BPF_JSET, MAP_ANONYMOUS, 2, 0);
        load(argument(4));
        test(BPF_JEQ, library_descriptor, 0, 1);
        give(SECCOMP_RET_ALLOW);
        give(SECCOMP_RET_TRAP);
        give(SECCOMP_RET_TRAP);
    }

    bool install() {
        give(SECCOMP_RET_TRAP);
        const sock_fprog program{static_cast<unsigned short>(code_.size()), code_.data()};
        return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
               syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0;
    }

  private:
    void put(unsigned code, std::uint32_t value, std::uint8_t yes = 0, std::uint8_t no = 0) {
        code_.push_back({static_cast<std::uint16_t>(code), yes, no, value});
    }
    void load(std::size_t field) { put(BPF_LD | BPF_W | BPF_ABS, low(field)); }
    void test(unsigned how, std::uint32_t value, std::uint8_t yes, std::uint8_t no) {
        put(BPF_JMP | how | BPF_K, value, yes, no);
    }
    void give(std::uint32_t verdict) { put(BPF_RET | BPF_K, verdict); }
    void only_for(long call, std::size_t instructions) {
        test(BPF_JEQ, static_cast<std::uint32_t>(call), 0, static_cast<std::uint8_t>(instructions));
    }

    std::vector<sock_filter> code_;
};

bool set(__rlimit_resource resource, rlim_t soft, rlim_t hard) {
    const rlimit value{soft, hard};
    return setrlimit(resource, &value) == 0;
}

}  // namespace

const char* limit(const Limits& limits, std::size_t reserved_bytes) {
    constexpr rlim_t stack_bytes = 8 << 20, descriptors = 16;
    const auto cpu = static_cast<rlim_t>(limits.cpu_seconds);
    const rlim_t space = reserved_bytes + limits.memory_bytes;
    const bool done = set(RLIMIT_CPU, cpu + 1, cpu + 2) && set(RLIMIT_DATA, limits.memory_bytes, limits.memory_bytes) &&
                      set(RLIMIT_AS, space, space) && set(RLIMIT_FSIZE, 0, 0) && set(RLIMIT_CORE, 0, 0) &&
                      set(RLIMIT_NOFILE, descriptors, descriptors) && set(RLIMIT_STACK, stack_bytes, stack_bytes);
    return done ? nullptr : "limits on time and memory";
}

const char* install_filter() {
    Program program;
    program.allow({SYS_brk, SYS_munmap, SYS_mremap, SYS_mprotect, SYS_madvise, SYS_rt_sigreturn, SYS_restart_syscall});
    program.allow({SYS_clock_gettime, SYS_clock_getres, SYS_gettimeofday, SYS_getrandom, SYS_sysinfo, SYS_sched_yield});
    program.allow(
        {SYS_getpid, SYS_getppid, SYS_gettid, SYS_getuid, SYS_geteuid, SYS_getgid, SYS_getegid, SYS_fstat, SYS_lseek});
#if defined(__x86_64__)
    program.allow({SYS_time});
#endif
    program.allow_memory_map();
    program.allow_when(SYS_futex, 1, 0x7f, {FUTEX_WAKE});
    program.allow_when(SYS_ioctl, 1, 0xffffffff, {TCGETS});  // stdio asks whether it writes to a terminal
    for (const long call : {SYS_read, SYS_pread64, SYS_close}) {
        program.allow_when(call, 0, 0xffffffff, {library_descriptor});
    }
    program.allow_when(SYS_writev, 0, 0xffffffff, {STDOUT_FILENO, STDERR_FILENO});
    program.allow_from_channel(SYS_write, {STDOUT_FILENO, STDERR_FILENO});
    program.allow_from_channel(SYS_dup3, {});
    program.allow_from_channel(SYS_exit_group, {});
    return program.install() ? nullptr : "a seccomp filter";
}

}  // namespace grader
