// Memory at once: allocations of all kinds, and questions about pointers.
#include <cstring>

#include "software.hpp"

using grader::Allocation;
using grader::MemoryKind;
using grader::Runtime;
using grader::Software;

namespace {

constexpr std::size_t pitch_alignment = 512;

std::size_t pitch_of(std::size_t width) {
    return (width + pitch_alignment - 1) / pitch_alignment * pitch_alignment;
}

// Nothing was asked for: CUDA gives no address, and no error either.
cudaError_t give_nothing(void** address) {
    if (address) *address = nullptr;
    return cudaSuccess;
}

cudaError_t make(const char* function, MemoryKind kind, void** address, std::size_t bytes, unsigned flags = 0) {
    Software& software = Software::get();
    const Software::Lock lock = software.lock();
    if (const cudaError_t error = software.begin_blocking(function)) return error;
    if (bytes == 0) return kind == MemoryKind::managed ? software.fail(cudaErrorInvalidValue) : give_nothing(address);
    return software.make(kind, bytes, flags, address);
}

cudaError_t give_back(const char* function, void* address, MemoryKind kind, MemoryKind other) {
    Software& software = Software::get();
    const Software::Lock lock = software.lock();
    if (const cudaError_t error = software.begin_waiting(function)) return error;  // CUDA waits before it frees
    return address ? software.free(address, kind, other) : cudaSuccess;
}

cudaMemoryType type_of(const Allocation* found) {
    if (!found) return cudaMemoryTypeUnregistered;
    if (found->kind == MemoryKind::managed) return cudaMemoryTypeManaged;
    return found->on_host() ? cudaMemoryTypeHost : cudaMemoryTypeDevice;
}

}  // namespace

extern "C" {

cudaError_t cudaMalloc(void** address, std::size_t bytes) {
    return make("cudaMalloc", MemoryKind::device, address, bytes);
}

cudaError_t cudaMallocManaged(void** address, std::size_t bytes, unsigned flags) {
    return make("cudaMallocManaged", MemoryKind::managed, address, bytes, flags);
}

cudaError_t cudaMallocHost(void** address, std::size_t bytes) {
    return make("cudaMallocHost", MemoryKind::pinned, address, bytes);
}

cudaError_t cudaHostAlloc(void** address, std::size_t bytes, unsigned flags) {
    return make("cudaHostAlloc", MemoryKind::pinned, address, bytes, flags);
}

cudaError_t cudaMallocPitch(void** address, std::size_t* pitch, std::size_t width, std::size_t height) {
    *pitch = pitch_of(width);
    return make("cudaMallocPitch", MemoryKind::device, address, *pitch * height);
}

cudaError_t cudaMalloc3D(cudaPitchedPtr* memory, cudaExtent extent) {
    const std::size_t pitch = pitch_of(extent.width);
    *memory = {nullptr, pitch, extent.width, extent.height};
    return make("cudaMalloc3D", MemoryKind::device, &memory->ptr, pitch * extent.height * extent.depth);
}

cudaError_t cudaFree(void* address) {
    return give_back("cudaFree", address, MemoryKind::device, MemoryKind::managed);
}

cudaError_t cudaFreeHost(void* address) {
    return give_back("cudaFreeHost", address, MemoryKind::pinned, MemoryKind::pinned);
}

cudaError_t cudaHostRegister(void* memory, std::size_t bytes, unsigned flags) {
    Software& software = Software::get();
    const Software::Lock lock = software.lock();
    if (const cudaError_t error = software.begin_blocking("cudaHostRegister")) return error;
    if (!memory || bytes == 0) return software.fail(cudaErrorInvalidValue, {"null"});
    if (software.memory().find(memory)) return software.fail(cudaErrorHostMemoryAlreadyRegistered);
    const Allocation* adopted = software.memory().adopt(memory, bytes, flags);
    if (!adopted) return software.fail(cudaErrorInvalidValue);
    software.note_allocation(*adopted);
    return cudaSuccess;
}

cudaError_t cudaHostUnregister(void* memory) {
    Software& software = Software::get();
    const Software::Lock lock = software.lock();
    if (const cudaError_t error = software.begin_waiting("cudaHostUnregister")) return error;
    const Allocation* found = software.memory().find(memory);
    if (!found || found->kind != MemoryKind::registered) return software.fail(cudaErrorHostMemoryNotRegistered);
    software.memory().release(found->address);
    return cudaSuccess;
}

cudaError_t cudaHostGetDevicePointer(void** device, void* host, unsigned) {
    Software& software = Software::get();
    const Software::Lock lock = software.lock();
    if (const cudaError_t error = software.begin("cudaHostGetDevicePointer")) return error;
    const Allocation* found = software.memory().find(host);
    if (!found || !found->on_host()) return software.fail(cudaErrorInvalidValue);
    *device = host;
    return cudaSuccess;
}

cudaError_t cudaHostGetFlags(unsigned* flags, void* host) {
    Software& software = Software::get();
    const Software::Lock lock = software.lock();
    if (const cudaError_t error = software.begin("cudaHostGetFlags")) return error;
    const Allocation* found = software.memory().find(host);
    if (!found || !found->on_host()) return software.fail(cudaErrorInvalidValue);
    *flags = found->flags | cudaHostAllocMapped;
    return cudaSuccess;
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* pointer) {
    Software& software = Software::get();
    const Software::Lock lock = software.lock();
    if (const cudaError_t error = software.begin("cudaPointerGetAttributes")) return error;
    const Allocation* found = software.memory().find(pointer);
    *attributes = {};
    attributes->type = type_of(found);
    attributes->device = found ? 0 : -1;
    if (found) attributes->devicePointer = const_cast<void*>(pointer);
    if (!found || found->on_host()) attributes->hostPointer = const_cast<void*>(pointer);
    return cudaSuccess;
}

cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total) {
    Software& software = Software::get();
    const Software::Lock lock = software.lock();
    if (const cudaError_t error = software.begin("cudaMemGetInfo")) return error;
    if (total) *total = Runtime::get().device().memory_bytes;
    if (free) *free = Runtime::get().device().memory_bytes - software.memory().used();
    return cudaSuccess;
}

// Managed memory is one memory here: hints about where it lies change nothing, but have to be about some.
cudaError_t cudaMemAdvise(const void* pointer, std::size_t bytes, cudaMemoryAdvise, cudaMemLocation) {
    Software& software = Software::get();
    const Software::Lock lock = software.lock();
    if (const cudaError_t error = software.begin("cudaMemAdvise")) return error;
    const Allocation* found = software.memory().find(pointer);
    const bool within = found && found->holds(reinterpret_cast<std::uintptr_t>(pointer), bytes);
    return within && found->kind == MemoryKind::managed ? cudaSuccess : software.fail(cudaErrorInvalidValue);
}

cudaError_t cudaMemPrefetchAsync(const void* pointer, std::size_t bytes, cudaMemLocation, unsigned,
                                 cudaStream_t stream) {
    Software& software = Software::get();
    const Software::Lock lock = software.lock();
    if (const cudaError_t error = software.enter("cudaMemPrefetchAsync", stream, nullptr)) return error;
    const Allocation* found = software.memory().find(pointer);
    const bool within = found && found->holds(reinterpret_cast<std::uintptr_t>(pointer), bytes);
    return within && found->kind == MemoryKind::managed ? cudaSuccess : software.fail(cudaErrorInvalidValue);
}

}  // extern "C"
