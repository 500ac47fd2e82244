// The caged child: loads the learner's object against our runtime, calls its entry, and lets the runtime write down
// what the entry asks of the device. It executes nothing on any device and holds no input and no expected value.
//
// A request comes on standard input, lines go to descriptor 3, standard output and error belong to the launcher.
// Exit status: 0 all calls returned; 2 this machine or the request would not do; 3 the launcher ended early, with a
// line.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <iostream>

#include "line.hpp"
#include "record.hpp"
#include "recorder_channel.hpp"
#include "recorder_fault.hpp"
#include "recorder_filter.hpp"
#include "recorder_frames.hpp"
#include "recorder_request.hpp"

namespace grader {

namespace {

constexpr std::size_t max_integers = 24, max_floats = 8;

// One signature for all entries. Integers and pointers fill their registers in order, then the stack, one word each;
// floats fill registers of their own: the same words reach the same places as with the entry's own signature, by the
// System V ABI of x86-64 and by AAPCS64.
using U = std::uint64_t;
using D = double;
using Entry = int (*)(U, U, U, U, U, U, U, U, U, U, U, U, U, U, U, U, U, U, U, U, U, U, U, U, D, D, D, D, D, D, D, D);

int invoke(Entry entry, const Call& call) {
    U i[max_integers] = {};
    D d[max_floats] = {};
    std::copy(call.integers.begin(), call.integers.end(), i);
    std::copy(call.floats.begin(), call.floats.end(), d);
    return entry(i[0], i[1], i[2], i[3], i[4], i[5], i[6], i[7], i[8], i[9], i[10], i[11], i[12], i[13], i[14], i[15],
                 i[16], i[17], i[18], i[19], i[20], i[21], i[22], i[23], d[0], d[1], d[2], d[3], d[4], d[5], d[6],
                 d[7]);
}

// Variables that an entry forgets to set are the same in every call then, and not the leavings of the one before.
__attribute__((noinline)) void clear_stack() {
    constexpr std::size_t bytes = 128 << 10;
    char below[bytes];
    std::memset(below, 0, bytes);
    __asm__ volatile("" : : "r"(below) : "memory");
}

[[noreturn]] void give_up(const char* what) {
    Line line(emit, "unavailable");
    line.text("what", what);
    line.end();
    leave(2);
}

// Keeps everything else out of the ranges; the bytes that they have together.
std::size_t reserve(const std::vector<Range>& ranges) {
    std::size_t total = 0;
    constexpr int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE;
    for (const Range& range : ranges) {
        void* const wanted = reinterpret_cast<void*>(range.address);
        if (mmap(wanted, range.bytes, PROT_NONE, flags, -1, 0) != wanted) give_up("address space for the buffers");
        total += range.bytes;
    }
    return total;
}

constexpr std::size_t max_host_bytes = 1 << 16;

// Memory that the entry of this call fills: its end is the end of a page, and behind that nothing can be touched. What
// the entry does not fill shows, because the two calls find different bytes there.
void give_host_memory(Call* call, bool second) {
    if (call->host_bytes == 0) return;
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    const std::size_t open = (call->host_bytes + page - 1) / page * page;
    void* const mapped = mmap(nullptr, open + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED) give_up("host memory for the entry");
    auto* const first = static_cast<unsigned char*>(mapped);
    if (mprotect(first + open, page, PROT_NONE) != 0) give_up("host memory for the entry");
    std::memset(first, second ? 0x5a : 0xa5, open);
    call->integers[call->host_argument] = reinterpret_cast<std::uintptr_t>(first + open - call->host_bytes);
}

void tell_host_memory(const Call& call) {
    Line line(emit, "host");
    line.base64("payload", reinterpret_cast<const void*>(call.integers[call.host_argument]), call.host_bytes);
    line.end();
}

void arrange_descriptors(const std::string& library) {
    const int object = open(library.c_str(), O_RDONLY | O_CLOEXEC);
    const int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (object < 0 || nothing < 0) give_up("the built library");
    dup2(nothing, STDIN_FILENO);
    if (object != library_descriptor) dup2(object, library_descriptor);
#ifdef SYS_close_range
    syscall(SYS_close_range, library_descriptor + 1, ~0u, 0);
#endif
}

void* load(const Request& request) {
    loading(request.library.c_str());
    void* const object = dlopen(request.library.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
    loaded();
    if (object) return object;
    Line line(emit, "not_loaded");
    const char* why = dlerror();
    line.text("why", why ? why : "");
    line.end();
    leave(3);
}

Entry find_entry(void* object, const Request& request) {
    if (void* const entry = dlsym(object, request.entry.c_str())) return reinterpret_cast<Entry>(entry);
    Line line(emit, "no_entry");
    line.end();
    leave(3);
}

constexpr std::size_t max_refusal = 4096;

// Why the entry returned an error, in its own words, where the object has a function for that (docs/tensor-desc.md).
void tell_refusal(Line* line, void* object) {
    using Refusal = const char* (*)();
    const auto refusal = reinterpret_cast<Refusal>(dlsym(object, "op_refusal"));
    const char* const words = refusal ? refusal() : nullptr;
    if (words && *words) line->base64("refusal", words, strnlen(words, max_refusal));
}

void say(const char* kind) {
    Line line(emit, kind);
    line.end();
}

void run(Request& request) {
    grader_record_start({emit, frames}, request.device, request.kernels,
                        reinterpret_cast<cudaStream_t>(request.stream));
    grader_record_call(request.calls.front().record);

    static char line_buffer[BUFSIZ];
    std::setvbuf(stdout, line_buffer, _IOLBF, sizeof line_buffer);
    frames_watch(request.library.c_str());
    frames_prepare();
    const std::size_t reserved = reserve(request.reserved);
    for (std::size_t i = 0; i < request.calls.size(); ++i) give_host_memory(&request.calls[i], i > 0);
    arrange_descriptors(request.library);
    if (const char* refused = watch_faults(request.times)) give_up(refused);
    if (const char* refused = limit(request.limits, reserved)) give_up(refused);
    if (const char* refused = install_filter()) give_up(refused);

    say("armed");
    void* const object = load(request);
    const Entry entry = find_entry(object, request);
    for (const Call& call : request.calls) {
        grader_record_call(call.record);
        say("begin");
        clear_stack();
        // An entry that fills host memory returns nothing: what stands in the register then means nothing.
        const int left = invoke(entry, call), returned = call.host_bytes ? 0 : left;
        if (call.host_bytes) tell_host_memory(call);
        Line line(emit, "end");
        line.integer("returned", returned);
        if (returned != cudaSuccess) tell_refusal(&line, object);
        line.end();
        std::fflush(stdout);
        mute_launcher();  // the learner reads what the entry prints once
    }
    say("done");
    leave(0);
}

bool sensible(const Request& request) {
    for (const Call& call : request.calls) {
        if (call.integers.size() > max_integers || call.floats.size() > max_floats) return false;
        if (call.host_bytes > max_host_bytes) return false;
    }
    return true;
}

}  // namespace

}  // namespace grader

int main() {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    grader::Request request;
    if (!grader::read_request(std::cin, &request) || !grader::sensible(request)) grader::give_up("the request");
    grader::run(request);
}
