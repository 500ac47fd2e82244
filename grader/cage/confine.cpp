// grader_confine: a process that has all it will ever need locks itself in.
//
// For the process of the software GPU (grader/simt/serve.py), before the first program of a learner reaches it. What is
// left: memory of its own, threads, the time, and reading and writing what is open already. It opens no file and no
// socket, starts no process, signals nobody else, makes no memory executable, and ends with its parent.
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "filter.hpp"

namespace {

constexpr uint32_t rseq =  // since Linux 4.18; older headers lack it
#if defined(__x86_64__)
    334;
#else
    293;
#endif

constexpr uint32_t harmless_calls[] = {
    // what is open
    SYS_read, SYS_write, SYS_readv, SYS_writev, SYS_lseek, SYS_fstat, SYS_close,
    // memory of its own
    SYS_brk, SYS_munmap, SYS_mremap, SYS_madvise,
    // threads
    SYS_futex, SYS_set_robust_list, rseq, SYS_gettid, SYS_getpid, SYS_sched_yield, SYS_sched_getaffinity, SYS_exit,
    SYS_exit_group, SYS_sigaltstack, SYS_rt_sigprocmask, SYS_rt_sigaction, SYS_rt_sigreturn, SYS_restart_syscall,
    // time and chance
    SYS_clock_gettime, SYS_clock_nanosleep, SYS_gettimeofday, SYS_getrandom, SYS_getrusage};

bool filter_calls() {
    Filter filter;
    for (const uint32_t call : harmless_calls) filter.answer(call, allow_it);
    filter.answer_if_bits(SYS_mmap, 2, PROT_EXEC, refuse);
    filter.answer_if_bits(SYS_mmap, 3, MAP_SHARED, refuse);
    filter.answer(SYS_mmap, allow_it);
    filter.answer_if_bits(SYS_mprotect, 2, PROT_EXEC, refuse);
    filter.answer(SYS_mprotect, allow_it);
    filter.answer(clone3, is_missing);
    filter.answer_if_bits(SYS_clone, 0, namespace_flags, refuse);
    filter.answer_if_bits(SYS_clone, 0, CLONE_THREAD, allow_it);
    // So that an abort is an abort; the id stays its own, since the process ends with its last thread.
    filter.answer_if_equal(SYS_tgkill, 0, static_cast<uint32_t>(getpid()), allow_it);
    return filter.install(refuse);
}

bool limit(__rlimit_resource resource, rlim_t value) {
    const rlimit both = {value, value};
    return setrlimit(resource, &both) == 0;
}

}  // namespace

// Null, or in a few words what the machine refused.
extern "C" const char* grader_confine() {
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) return "an end with its parent";
    if (!limit(RLIMIT_CORE, 0) || !limit(RLIMIT_FSIZE, 0) || !limit(RLIMIT_NOFILE, 0)) return "limits on files";
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return "to give up new privileges";
    return filter_calls() ? nullptr : "a seccomp filter";
}
