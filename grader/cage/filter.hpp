// Filter: a seccomp program, put together answer by answer. The first answer that fits a system call is given.
#pragma once

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/prctl.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <vector>

#if defined(__x86_64__)
inline constexpr uint32_t audit_architecture = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
inline constexpr uint32_t audit_architecture = AUDIT_ARCH_AARCH64;
#else
#error "the cage knows x86-64 and AArch64"
#endif

inline constexpr uint32_t allow_it = SECCOMP_RET_ALLOW;
inline constexpr uint32_t refuse = SECCOMP_RET_ERRNO | EPERM;
inline constexpr uint32_t is_missing = SECCOMP_RET_ERRNO | ENOSYS;

// clone3 keeps its flags in memory, where no filter can read them; `is_missing` makes the C library use clone. The
// number is the same on every architecture; older headers lack it.
inline constexpr uint32_t clone3 = 435;

inline constexpr uint32_t namespace_flags =
    CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET;

class Filter {
  public:
    Filter() {
        load(offsetof(seccomp_data, arch));
        statement(BPF_JMP | BPF_JEQ | BPF_K, audit_architecture, 1, 0);
        statement(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
        load(offsetof(seccomp_data, nr));
#if defined(__x86_64__)
        statement(BPF_JMP | BPF_JGE | BPF_K, 0x40000000U, 0, 1);  // the x32 numbers would go round the list
        statement(BPF_RET | BPF_K, refuse);
#endif
    }

    // An answer to one system call, whatever its arguments.
    void answer(uint32_t call, uint32_t verdict) {
        statement(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1);
        statement(BPF_RET | BPF_K, verdict);
    }

    // An answer to one system call whose argument has one of these bits in its low half.
    void answer_if_bits(uint32_t call, unsigned argument, uint32_t bits, uint32_t verdict) {
        answer_if(BPF_JSET, call, argument, bits, verdict);
    }

    // An answer to one system call whose argument has this low half.
    void answer_if_equal(uint32_t call, unsigned argument, uint32_t value, uint32_t verdict) {
        answer_if(BPF_JEQ, call, argument, value, verdict);
    }

    // From here on, for this thread and all it starts; `otherwise` goes to every call that no answer fits.
    bool install(uint32_t otherwise) {
        statement(BPF_RET | BPF_K, otherwise);
        sock_fprog program = {static_cast<unsigned short>(program_.size()), program_.data()};
        return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
    }

  private:
    // Behind it the next answer starts from the call's number again.
    void answer_if(unsigned test, uint32_t call, unsigned argument, uint32_t value, uint32_t verdict) {
        statement(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 4);
        load(offsetof(seccomp_data, args) + 8 * argument);  // low half: both architectures are little-endian
        statement(BPF_JMP | test | BPF_K, value, 0, 1);
        statement(BPF_RET | BPF_K, verdict);
        load(offsetof(seccomp_data, nr));
    }

    void load(size_t offset) { statement(BPF_LD | BPF_W | BPF_ABS, static_cast<uint32_t>(offset)); }

    void statement(unsigned code, uint32_t k, uint8_t if_true = 0, uint8_t if_false = 0) {
        program_.push_back(sock_filter{static_cast<uint16_t>(code), if_true, if_false, k});
    }

    std::vector<sock_filter> program_;
};
