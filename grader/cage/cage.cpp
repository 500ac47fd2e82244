// cage: limits what a program may do, then becomes that program.
//
//     cage [--read PATH]... [--write PATH]... [--fd TARGET=SOURCE]... [--limit NAME=VALUE]... [--no-fork]
//          [--report FD] -- PROGRAM ARGUMENT...
//     cage --probe
//
// Its own small program, because a Python program that has threads cannot run code safely between fork and exec, and
// because an interpreter would cost twenty times its start. Nothing here depends on being root; everything here also
// holds for root.
//
// Files     Landlock: --read may be read and executed, --write may be written and read but not executed. A kernel
//           without Landlock gives no protection here, which the report says ("landlock=0").
// Calls     a seccomp filter: no sockets, no tracing, no namespaces, no mounts, no new session or process group (the
//           whole group can be killed as one), with --no-fork no new process either. They fail with EPERM.
// Power     no capabilities but those over file permissions, no new privileges, no core files, rlimits.
// The report is one line, "landlock=7 seccomp=1 ...", on the given descriptor, or "error ..." with exit code 125.
#include <fcntl.h>
#include <linux/capability.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "filter.hpp"

namespace {

constexpr int exit_code_of_failure = 125;

// ---- the request
// -----------------------------------------------------------------------------------------------------

struct Limit {
    int resource;
    rlim_t value;
};

struct Redirection {
    int target;
    int source;
};

struct Request {
    std::vector<const char*> read;
    std::vector<const char*> write;
    std::vector<Redirection> redirections;
    std::vector<Limit> limits;
    bool may_fork = true;
    int report = -1;
    char** command = nullptr;
};

int report_descriptor = -1;

[[noreturn]] void fail(const std::string& what, int error) {
    const std::string line =
        "error " + what + (error != 0 ? std::string(": ") + strerror(error) : std::string()) + "\n";
    const int descriptor = report_descriptor >= 0 ? report_descriptor : STDERR_FILENO;
    if (write(descriptor, line.data(), line.size()) < 0) _exit(exit_code_of_failure);
    _exit(exit_code_of_failure);
}

unsigned long long number(const char* text) {
    char* end = nullptr;
    errno = 0;
    const unsigned long long value = strtoull(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0') fail(std::string("not a number: ") + text, 0);
    return value;
}

Limit parse_limit(const std::string& text) {
    struct Name {
        const char* name;
        int resource;
    };
    static constexpr Name names[] = {{"cpu", RLIMIT_CPU},
                                     {"file", RLIMIT_FSIZE},
                                     {"memory", RLIMIT_AS},
                                     {"files", RLIMIT_NOFILE},
                                     {"stack", RLIMIT_STACK}};
    const size_t equals = text.find('=');
    if (equals != std::string::npos) {
        for (const Name& known : names) {
            if (text.compare(0, equals, known.name) == 0) {
                return {known.resource, static_cast<rlim_t>(number(text.c_str() + equals + 1))};
            }
        }
    }
    fail("no such limit: " + text, 0);
}

Redirection parse_redirection(const std::string& text) {
    const size_t equals = text.find('=');
    if (equals == std::string::npos) fail("--fd wants TARGET=SOURCE, not " + text, 0);
    return {static_cast<int>(number(text.substr(0, equals).c_str())),
            static_cast<int>(number(text.c_str() + equals + 1))};
}

Request parse(int argc, char** argv) {
    Request request;
    int i = 1;
    for (; i < argc && strcmp(argv[i], "--") != 0; ++i) {
        const std::string option = argv[i];
        if (option == "--no-fork") {
            request.may_fork = false;
            continue;
        }
        if (i + 1 >= argc) fail("option without a value: " + option, 0);
        const char* value = argv[++i];
        if (option == "--read") {
            request.read.push_back(value);
        } else if (option == "--write") {
            request.write.push_back(value);
        } else if (option == "--fd") {
            request.redirections.push_back(parse_redirection(value));
        } else if (option == "--limit") {
            request.limits.push_back(parse_limit(value));
        } else if (option == "--report") {
            request.report = report_descriptor = static_cast<int>(number(value));
        } else {
            fail("no such option: " + option, 0);
        }
    }
    if (i + 1 >= argc) fail("no program to run", 0);
    request.command = argv + i + 1;
    return request;
}

// ---- files: Landlock
// ------------------------------------------------------------------------------------------------- The numbers are the
// kernel's (include/uapi/linux/landlock.h), written out because older headers lack the newer ones.

constexpr long landlock_create_ruleset = 444;
constexpr long landlock_add_rule = 445;
constexpr long landlock_restrict_self = 446;

constexpr uint64_t fs_execute = 1ULL << 0;
constexpr uint64_t fs_write_file = 1ULL << 1;
constexpr uint64_t fs_read_file = 1ULL << 2;
constexpr uint64_t fs_read_dir = 1ULL << 3;
constexpr uint64_t fs_remove_dir = 1ULL << 4;
constexpr uint64_t fs_remove_file = 1ULL << 5;
constexpr uint64_t fs_make_dir = 1ULL << 7;
constexpr uint64_t fs_make_regular = 1ULL << 8;
constexpr uint64_t fs_all_of_abi_1 = (1ULL << 13) - 1;
constexpr uint64_t fs_refer = 1ULL << 13;      // ABI 2
constexpr uint64_t fs_truncate = 1ULL << 14;   // ABI 3
constexpr uint64_t fs_ioctl_dev = 1ULL << 15;  // ABI 5
constexpr uint64_t net_all = 3;                // ABI 4: bind and connect of TCP
constexpr uint64_t scope_all = 3;              // ABI 6: abstract Unix sockets and signals stay inside

struct RulesetAttributes {
    uint64_t filesystem;
    uint64_t network;
    uint64_t scoped;
};

struct [[gnu::packed]] PathBeneath {
    uint64_t allowed;
    int32_t parent;
};

int landlock_abi() {
    const long abi = syscall(landlock_create_ruleset, nullptr, 0, 1 /* ask for the version */);
    return abi > 0 ? static_cast<int>(abi) : 0;
}

uint64_t handled_filesystem(int abi) {
    uint64_t handled = fs_all_of_abi_1;
    if (abi >= 2) handled |= fs_refer;
    if (abi >= 3) handled |= fs_truncate;
    if (abi >= 5) handled |= fs_ioctl_dev;
    return handled;
}

void allow(int ruleset, const char* path, uint64_t access) {
    const int descriptor = open(path, O_PATH | O_CLOEXEC);
    if (descriptor < 0) {
        if (errno == ENOENT || errno == ENOTDIR) return;  // a path that is not there needs no permission
        fail(std::string("open ") + path, errno);
    }
    struct stat status = {};
    if (fstat(descriptor, &status) != 0) fail(std::string("stat ") + path, errno);
    if (!S_ISDIR(status.st_mode)) access &= fs_execute | fs_write_file | fs_read_file | fs_truncate | fs_ioctl_dev;
    PathBeneath rule = {access, descriptor};
    if (syscall(landlock_add_rule, ruleset, 1 /* path beneath */, &rule, 0) != 0) {
        fail(std::string("landlock rule for ") + path, errno);
    }
    close(descriptor);
}

void confine_files(const Request& request, int abi) {
    const uint64_t handled = handled_filesystem(abi);
    RulesetAttributes attributes = {handled, abi >= 4 ? net_all : 0, abi >= 6 ? scope_all : 0};
    const size_t size = abi >= 6 ? 24 : abi >= 4 ? 16 : 8;  // an old kernel refuses what it does not know
    const long made = syscall(landlock_create_ruleset, &attributes, size, 0);
    if (made < 0) fail("landlock_create_ruleset", errno);
    const int ruleset = static_cast<int>(made);
    const uint64_t reading = fs_execute | fs_read_file | fs_read_dir;
    const uint64_t writing = (fs_read_file | fs_read_dir | fs_write_file | fs_remove_dir | fs_remove_file |
                              fs_make_dir | fs_make_regular | fs_refer | fs_truncate) &
                             handled;
    for (const char* path : request.read) allow(ruleset, path, reading);
    for (const char* path : request.write) allow(ruleset, path, writing);
    if (syscall(landlock_restrict_self, ruleset, 0) != 0) fail("landlock_restrict_self", errno);
    close(ruleset);
}

// ---- calls: seccomp
// --------------------------------------------------------------------------------------------------

// The same on every architecture; older headers lack them.
constexpr uint32_t io_uring_setup = 425;
constexpr uint32_t io_uring_enter = 426;
constexpr uint32_t io_uring_register = 427;

// What neither a compiler nor a launcher needs and what would open a way out.
constexpr uint32_t forbidden_calls[] = {
    // the network, and programs that are not its children
    SYS_socket, SYS_socketpair, SYS_ptrace, SYS_process_vm_readv, SYS_process_vm_writev,
    // out of the group that is killed as one
    SYS_setsid, SYS_setpgid,
    // other views of the file system
    SYS_unshare, SYS_setns, SYS_mount, SYS_umount2, SYS_pivot_root, SYS_chroot, SYS_mknodat, SYS_open_by_handle_at,
    SYS_name_to_handle_at, SYS_fanotify_init, SYS_quotactl,
    // wide doors into the kernel
    io_uring_setup, io_uring_enter, io_uring_register, SYS_bpf, SYS_userfaultfd, SYS_perf_event_open, SYS_add_key,
    SYS_request_key, SYS_keyctl,
    // the machine itself
    SYS_init_module, SYS_finit_module, SYS_delete_module, SYS_kexec_load, SYS_reboot, SYS_swapon, SYS_swapoff, SYS_acct,
    SYS_settimeofday, SYS_clock_settime, SYS_sethostname, SYS_setdomainname, SYS_syslog, SYS_personality};

bool confine_calls(bool may_fork) {
    Filter filter;
#if defined(__x86_64__)
    filter.answer(SYS_mknod, refuse);
    if (!may_fork) {
        filter.answer(SYS_fork, refuse);
        filter.answer(SYS_vfork, refuse);
    }
#endif
    filter.answer(clone3, is_missing);
    if (may_fork) {
        filter.answer_if_bits(SYS_clone, 0, namespace_flags, refuse);
    } else {
        filter.answer(SYS_clone, refuse);
    }
    for (const uint32_t call : forbidden_calls) filter.answer(call, refuse);
    return filter.install(allow_it);
}

// ---- power and limits
// ------------------------------------------------------------------------------------------------

// Root keeps its way past file permissions (its toolchain may lie in another user's directory), and loses all else.
void drop_capabilities() {
    __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
    __user_cap_data_struct data[2] = {};
    if (syscall(SYS_capget, &header, data) != 0) return;
    const uint32_t kept = (1U << CAP_DAC_OVERRIDE) | (1U << CAP_DAC_READ_SEARCH);
    data[0].effective &= kept;
    data[0].permitted &= kept;
    data[0].inheritable = 0;
    data[1] = {};
    if (syscall(SYS_capset, &header, data) != 0) fail("capset", errno);
}

void apply_limits(const Request& request) {
    const rlimit no_core = {0, 0};
    setrlimit(RLIMIT_CORE, &no_core);
    for (const Limit& limit : request.limits) {
        rlimit old = {};
        getrlimit(limit.resource, &old);
        // One second more until the kernel kills, so that a program that handles SIGXCPU can still say where it was.
        const rlim_t grace = limit.resource == RLIMIT_CPU ? 1 : 0;
        rlimit wanted = {limit.value, limit.value + grace};
        if (old.rlim_max != RLIM_INFINITY && old.rlim_max < wanted.rlim_max) wanted.rlim_max = old.rlim_max;
        if (wanted.rlim_cur > wanted.rlim_max) wanted.rlim_cur = wanted.rlim_max;
        if (setrlimit(limit.resource, &wanted) != 0) fail("setrlimit", errno);
    }
}

// Sources may be each other's targets, so all are first moved out of the way.
void redirect(const Request& request) {
    std::vector<Redirection> moved;
    for (const Redirection& wanted : request.redirections) {
        const int high = fcntl(wanted.source, F_DUPFD_CLOEXEC, 64);
        if (high < 0) fail("descriptor " + std::to_string(wanted.source), errno);
        close(wanted.source);
        moved.push_back({wanted.target, high});
    }
    for (const Redirection& ready : moved) {
        if (dup2(ready.source, ready.target) < 0) fail("descriptor " + std::to_string(ready.target), errno);
    }
}

void say(const std::string& line) {
    if (report_descriptor >= 0 && write(report_descriptor, line.data(), line.size()) < 0) _exit(exit_code_of_failure);
}

int probe() {
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    const int abi = landlock_abi();
    printf("landlock=%d seccomp=%d\n", abi, confine_calls(true) ? 1 : 0);
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc == 2 && strcmp(argv[1], "--probe") == 0) return probe();
    const Request request = parse(argc, argv);
    if (report_descriptor >= 0) {
        report_descriptor = fcntl(report_descriptor, F_DUPFD_CLOEXEC, 96);
        if (report_descriptor < 0) _exit(exit_code_of_failure);
        close(request.report);
    }
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    redirect(request);
    apply_limits(request);
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) fail("no_new_privs", errno);
    const int abi = landlock_abi();
    if (abi > 0) confine_files(request, abi);
    drop_capabilities();
    const bool filtered = confine_calls(request.may_fork);
    say("landlock=" + std::to_string(abi) + " seccomp=" + (filtered ? "1" : "0") + "\n");
    execv(request.command[0], request.command);
    fail(std::string("exec ") + request.command[0], errno);
}
