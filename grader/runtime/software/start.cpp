// The beginning of a program: what the parent has prepared is read and loaded before any code of the program runs.
#include <signal.h>
#include <sys/prctl.h>
#include <ucontext.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "../facts.hpp"
#include "frames.hpp"
#include "software.hpp"

namespace grader {

namespace {

constexpr const char* variable = "GRADER_PROGRAM";

std::uintptr_t instruction_of(const void* context) {
    [[maybe_unused]] const auto& machine = static_cast<const ucontext_t*>(context)->uc_mcontext;
#if defined(__x86_64__)
    return static_cast<std::uintptr_t>(machine.gregs[REG_RIP]);
#elif defined(__aarch64__)
    return machine.pc;
#else
    return 0;
#endif
}

// The host follows a pointer of the device: noted, and then the program ends by the signal, as it would beside a GPU.
void crashed(int, siginfo_t* information, void* context) {
    const auto address = reinterpret_cast<std::uintptr_t>(information->si_addr);
    if (address < MemoryMap::first_device || address >= MemoryMap::first_host) return;
    const Allocation* found = Software::get().memory().find(information->si_addr);
    Line line(write_log, "crash");
    line.number("allocation", found ? found->id : 0);
    const Place place = frames_from(instruction_of(context));
    line.numbers("frames", place.frames.data(), place.count);
    line.end();
}

void watch_crashes() {
    struct sigaction action{};
    action.sa_sigaction = crashed;
    action.sa_flags = SA_SIGINFO | SA_RESETHAND;
    sigaction(SIGSEGV, &action, nullptr);
}

__attribute__((constructor)) void start() {
    const char* request = std::getenv(variable);
    if (!request) return;  // then there is no device, and every call says so
    const std::string path = request;
    unsetenv(variable);
    prctl(PR_SET_PDEATHSIG, SIGKILL);  // without its parent nobody would read what it finds
    std::ifstream request_file(path);
    if (!Software::get().start(request_file)) {
        std::fputs("grader: the software GPU cannot be started\n", stderr);
        _exit(3);
    }
    frames_watch(frames_find(nullptr));
    watch_crashes();
}

}  // namespace

bool Software::start(std::istream& request) {
    std::vector<Kernel> kernels;
    Device device;
    if (!read(request, &kernels, &device)) return false;
    if (!machine_.open(machine_path_, program_path_, workers_)) {
        Line line(write_log, "not_started");
        line.text("reason", machine_.why());
        line.end();
        return false;
    }
    Runtime::get().start(this, device, std::move(kernels));
    return true;
}

bool Software::read(std::istream& input, std::vector<Kernel>* kernels, Device* device) {
    std::string text, word;
    if (!std::getline(input, text) || text != "program 1") return false;
    while (std::getline(input, text)) {
        std::istringstream line(text);
        line >> word;
        if (word == "end") return true;
        bool understood = false;
        if (word == "machine") understood = static_cast<bool>(std::getline(line >> std::ws, machine_path_));
        if (word == "lowered") understood = static_cast<bool>(std::getline(line >> std::ws, program_path_));
        if (word == "workers") understood = static_cast<bool>(line >> workers_);
        if (word == "device") understood = read_device(line, device);
        if (word == "kernel") understood = read_kernel(line, &kernels->emplace_back());
        if (word == "log") {
            understood = static_cast<bool>(std::getline(line >> std::ws, word));
            open_log(word);
        }
        if (!understood) return false;
    }
    return false;
}

}  // namespace grader
