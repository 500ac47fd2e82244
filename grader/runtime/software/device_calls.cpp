// The device as a whole: limits, caches, peers, and what a program sets before it begins.
#include <cstdio>
#include <map>

#include "software.hpp"

using grader::Runtime;
using grader::Software;

namespace {

constexpr const char* bus_id = "0000:00:00.0";

cudaError_t nothing(const char* function) {
    const Software::Lock lock = Software::get().lock();
    return Software::get().begin(function);
}

std::map<cudaLimit, std::size_t>& limits() {
    static std::map<cudaLimit, std::size_t> values = {
        {cudaLimitStackSize, 1024},
        {cudaLimitPrintfFifoSize, std::size_t{1} << 20},
        {cudaLimitMallocHeapSize, std::size_t{8} << 20},
        {cudaLimitMaxL2FetchGranularity, 64},
        {cudaLimitPersistingL2CacheSize, 0},
    };
    return values;
}

}  // namespace

extern "C" {

cudaError_t cudaDeviceReset(void) {
    const Software::Lock lock = Software::get().lock();
    return Software::get().begin_waiting("cudaDeviceReset");
}

cudaError_t cudaInitDevice(int device, unsigned, unsigned) {
    return cudaSetDevice(device);
}
cudaError_t cudaSetDeviceFlags(unsigned) {
    return nothing("cudaSetDeviceFlags");
}
cudaError_t cudaGetDeviceFlags(unsigned* flags) {
    *flags = 0;
    return nothing("cudaGetDeviceFlags");
}
cudaError_t cudaChooseDevice(int* device, const cudaDeviceProp*) {
    *device = 0;
    return nothing("cudaChooseDevice");
}

// Kept and told, but none of them bounds a kernel here.
cudaError_t cudaDeviceSetLimit(cudaLimit limit, std::size_t value) {
    const Software::Lock lock = Software::get().lock();
    if (const cudaError_t error = Software::get().begin("cudaDeviceSetLimit")) return error;
    if (!limits().count(limit)) return Software::get().fail(cudaErrorUnsupportedLimit);
    limits()[limit] = value;
    return cudaSuccess;
}
cudaError_t cudaDeviceGetLimit(std::size_t* value, cudaLimit limit) {
    const Software::Lock lock = Software::get().lock();
    if (const cudaError_t error = Software::get().begin("cudaDeviceGetLimit")) return error;
    if (!limits().count(limit)) return Software::get().fail(cudaErrorUnsupportedLimit);
    *value = limits()[limit];
    return cudaSuccess;
}

cudaError_t cudaDeviceSetCacheConfig(cudaFuncCache) {
    return nothing("cudaDeviceSetCacheConfig");
}
cudaError_t cudaDeviceGetCacheConfig(cudaFuncCache* config) {
    *config = cudaFuncCachePreferNone;
    return nothing("cudaDeviceGetCacheConfig");
}
cudaError_t cudaDeviceSetSharedMemConfig(cudaSharedMemConfig) {
    return nothing("cudaDeviceSetSharedMemConfig");
}
cudaError_t cudaDeviceGetSharedMemConfig(cudaSharedMemConfig* config) {
    *config = cudaSharedMemBankSizeFourByte;
    return nothing("cudaDeviceGetSharedMemConfig");
}
cudaError_t cudaCtxResetPersistingL2Cache(void) {
    return nothing("cudaCtxResetPersistingL2Cache");
}

cudaError_t cudaDeviceCanAccessPeer(int* can, int, int) {
    *can = 0;
    return nothing("cudaDeviceCanAccessPeer");
}
cudaError_t cudaDeviceGetPCIBusId(char* id, int length, int) {
    if (length > 0) std::snprintf(id, static_cast<std::size_t>(length), "%s", bus_id);
    return nothing("cudaDeviceGetPCIBusId");
}
cudaError_t cudaDeviceGetByPCIBusId(int* device, const char*) {
    *device = 0;
    return nothing("cudaDeviceGetByPCIBusId");
}

cudaError_t cudaFuncGetName(const char** name, const void* function) {
    const Software::Lock lock = Software::get().lock();
    if (const cudaError_t error = Software::get().begin("cudaFuncGetName")) return error;
    const grader::Kernel* kernel = Runtime::get().kernel(function);
    if (!kernel) return Software::get().fail(cudaErrorInvalidDeviceFunction);
    *name = kernel->name.c_str();
    return cudaSuccess;
}
cudaError_t cudaGetFuncBySymbol(cudaFunction_t* function, const void* symbol) {
    const Software::Lock lock = Software::get().lock();
    if (const cudaError_t error = Software::get().begin("cudaGetFuncBySymbol")) return error;
    *function = reinterpret_cast<cudaFunction_t>(Runtime::get().kernel(symbol));
    return *function ? cudaSuccess : Software::get().fail(cudaErrorInvalidDeviceFunction);
}
cudaError_t cudaFuncSetSharedMemConfig(const void* function, cudaSharedMemConfig) {
    return cudaFuncSetCacheConfig(function, cudaFuncCachePreferNone);
}

// Of cuda_profiler_api.h.
cudaError_t cudaProfilerStart(void) {
    return nothing("cudaProfilerStart");
}
cudaError_t cudaProfilerStop(void) {
    return nothing("cudaProfilerStop");
}

}  // extern "C"
