// Built objects as functions on tensors: each has a device of its own, whose kernels run on memory that is lent to it
// for one call. For grader/op/library.py, which calls these functions, one call of all at a time.
#include <sstream>

#include "frames.hpp"
#include "software.hpp"

namespace {

using grader::MemoryMap;
using grader::Runtime;
using grader::Software;

struct Device {
    Software software;
    Runtime runtime;
    grader::Watched code;
    std::vector<std::uintptr_t> lent;
};

void enter(Device* device) {
    Software::use(device ? &device->software : nullptr);
    Runtime::use(device ? &device->runtime : nullptr);
    grader::frames_watch_here(device ? &device->code : nullptr);
}

}  // namespace

extern "C" {

// The device of the object that was loaded from `library`; null where the machine cannot load its program, and then the
// log says why. Its kernels are registered while this thread is in it.
void* grader_device_open(const char* library, const char* request) {
    auto* device = new Device;  // as long as the process
    device->code = grader::frames_find(library);
    enter(device);
    std::istringstream text(request);
    const bool started = device->software.start(text);
    enter(nullptr);
    return started ? device : nullptr;
}

// What this thread asks of CUDA goes to the device from now on, until `grader_device_leave`.
void grader_device_enter(void* handle) {
    auto* device = static_cast<Device*>(handle);
    enter(device);
    device->software.forgive();
}

// 0, or 1 where it lies across memory that has been lent already.
int grader_device_lend(void* handle, const char* name, void* memory, std::size_t bytes, int initialised, int writable) {
    auto* device = static_cast<Device*>(handle);
    if (!device->software.memory().lend(name, memory, bytes, initialised != 0, writable != 0)) return 1;
    device->lent.push_back(reinterpret_cast<std::uintptr_t>(memory));
    return 0;
}

void grader_device_leave(void* handle) {
    auto* device = static_cast<Device*>(handle);
    for (const std::uintptr_t address : device->lent) device->software.memory().release(address);
    device->lent.clear();
    enter(nullptr);
}

}  // extern "C"
