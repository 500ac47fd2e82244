// Questions: errors, the device, a kernel's attributes and occupancy.
#include <cuda_occupancy.h>

#include <cstring>
#include <string>

#include "errors.hpp"
#include "runtime.hpp"

using grader::Device;
using grader::Kernel;
using grader::Runtime;

namespace {

constexpr int driver_version = 13000;

cudaError_t check_device(const char* function, int device) {
    Runtime& runtime = Runtime::get();
    if (!runtime.started()) return runtime.finish(cudaErrorNoDevice);
    return device == 0 ? cudaSuccess : runtime.fail(function, cudaErrorInvalidDevice);
}

cudaError_t looked(cudaError_t error) {
    Runtime& runtime = Runtime::get();
    if (error != cudaSuccess && runtime.started()) runtime.backend().looked(error);
    return error;
}

int register_limit(const Kernel& kernel, const Device& device) {
    for (int threads = kernel.max_threads; threads > 32; threads -= 32) {
        if (grader::resident_blocks(kernel, device, threads, 0) > 0) return threads;
    }
    return 32;
}

}  // namespace

int grader::resident_blocks(const Kernel& kernel, const Device& device, int threads, std::size_t dynamic_shared) {
    cudaOccDeviceProp properties;
    properties.computeMajor = device.major;
    properties.computeMinor = device.minor;
    properties.maxThreadsPerBlock = 1024;
    properties.maxThreadsPerMultiprocessor = device.threads_per_multiprocessor;
    properties.regsPerBlock = device.registers_per_multiprocessor;
    properties.regsPerMultiprocessor = device.registers_per_multiprocessor;
    properties.warpSize = 32;
    properties.sharedMemPerBlock = static_cast<std::size_t>(device.shared_per_block);
    properties.sharedMemPerMultiprocessor = static_cast<std::size_t>(device.shared_per_multiprocessor);
    properties.numSms = device.multiprocessors;
    properties.sharedMemPerBlockOptin = static_cast<std::size_t>(device.shared_per_block_optin);
    properties.reservedSharedMemPerBlock = static_cast<std::size_t>(device.shared_reserved);
    cudaOccFuncAttributes attributes;
    attributes.maxThreadsPerBlock = kernel.max_threads;
    attributes.numRegs = kernel.registers;
    attributes.sharedSizeBytes = static_cast<std::size_t>(kernel.static_shared);
    attributes.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN;
    attributes.maxDynamicSharedSizeBytes = static_cast<std::size_t>(kernel.max_dynamic_shared);
    attributes.numBlockBarriers = 1;
    cudaOccDeviceState state;
    state.carveoutConfig = kernel.carveout;
    cudaOccResult result;
    const cudaOccError error =
        cudaOccMaxActiveBlocksPerMultiprocessor(&result, &properties, &attributes, &state, threads, dynamic_shared);
    return error == CUDA_OCC_SUCCESS ? result.activeBlocksPerMultiprocessor : 0;
}

extern "C" {

cudaError_t cudaGetLastError(void) {
    Runtime& runtime = Runtime::get();
    return looked(runtime.take_last_error());
}
cudaError_t cudaPeekAtLastError(void) {
    return looked(Runtime::get().last_error());
}
const char* cudaGetErrorName(cudaError_t error) {
    return grader::error_name(error);
}
const char* cudaGetErrorString(cudaError_t error) {
    return grader::error_sentence(error);
}

cudaError_t cudaGetDeviceCount(int* count) {
    *count = 1;
    return check_device("cudaGetDeviceCount", 0);
}

cudaError_t cudaGetDevice(int* device) {
    *device = 0;
    return check_device("cudaGetDevice", 0);
}

cudaError_t cudaSetDevice(int device) {
    return check_device("cudaSetDevice", device);
}

cudaError_t cudaRuntimeGetVersion(int* version) {
    *version = CUDART_VERSION;
    return cudaSuccess;
}

cudaError_t cudaDriverGetVersion(int* version) {
    *version = driver_version;
    return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
    if (const cudaError_t error = check_device("cudaGetDeviceProperties", device)) return error;
    const Device& facts = Runtime::get().device();
    cudaDeviceProp p{};
    std::strncpy(p.name, facts.name.c_str(), sizeof p.name - 1);
    p.major = facts.major;
    p.minor = facts.minor;
    p.totalGlobalMem = facts.memory_bytes;
    p.multiProcessorCount = facts.multiprocessors;
    p.warpSize = 32;
    p.maxThreadsPerBlock = 1024;
    p.maxThreadsDim[0] = p.maxThreadsDim[1] = 1024;
    p.maxThreadsDim[2] = 64;
    p.maxGridSize[0] = 0x7fffffff;
    p.maxGridSize[1] = p.maxGridSize[2] = 65535;
    p.maxThreadsPerMultiProcessor = facts.threads_per_multiprocessor;
    p.maxBlocksPerMultiProcessor = facts.blocks_per_multiprocessor;
    p.regsPerBlock = p.regsPerMultiprocessor = facts.registers_per_multiprocessor;
    p.sharedMemPerBlock = static_cast<std::size_t>(facts.shared_per_block);
    p.sharedMemPerBlockOptin = static_cast<std::size_t>(facts.shared_per_block_optin);
    p.sharedMemPerMultiprocessor = static_cast<std::size_t>(facts.shared_per_multiprocessor);
    p.reservedSharedMemPerBlock = static_cast<std::size_t>(facts.shared_reserved);
    p.l2CacheSize = facts.l2_bytes;
    p.memoryBusWidth = facts.bus_bits;
    p.totalConstMem = 65536;
    p.memPitch = 0x7fffffff;
    p.textureAlignment = 512;
    p.concurrentKernels = p.unifiedAddressing = p.canMapHostMemory = p.managedMemory = 1;
    p.cooperativeLaunch = p.memoryPoolsSupported = p.streamPrioritiesSupported = 1;
    p.globalL1CacheSupported = p.localL1CacheSupported = 1;
    p.concurrentManagedAccess = p.hostRegisterSupported = p.computePreemptionSupported = 1;
    p.asyncEngineCount = 2;
    p.clusterLaunch = facts.major >= 9;
    *properties = p;
    return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
    if (const cudaError_t error = check_device("cudaDeviceGetAttribute", device)) return error;
    const Device& facts = Runtime::get().device();
    switch (attribute) {
        case cudaDevAttrMaxThreadsPerBlock:
        case cudaDevAttrMaxBlockDimX:
        case cudaDevAttrMaxBlockDimY:
            *value = 1024;
            break;
        case cudaDevAttrMaxBlockDimZ:
            *value = 64;
            break;
        case cudaDevAttrMaxGridDimX:
        case cudaDevAttrMaxPitch:
            *value = 0x7fffffff;
            break;
        case cudaDevAttrMaxGridDimY:
        case cudaDevAttrMaxGridDimZ:
            *value = 65535;
            break;
        case cudaDevAttrWarpSize:
            *value = 32;
            break;
        case cudaDevAttrTotalConstantMemory:
            *value = 65536;
            break;
        case cudaDevAttrMaxSharedMemoryPerBlock:
            *value = facts.shared_per_block;
            break;
        case cudaDevAttrMaxSharedMemoryPerBlockOptin:
            *value = facts.shared_per_block_optin;
            break;
        case cudaDevAttrMaxSharedMemoryPerMultiprocessor:
            *value = facts.shared_per_multiprocessor;
            break;
        case cudaDevAttrReservedSharedMemoryPerBlock:
            *value = facts.shared_reserved;
            break;
        case cudaDevAttrMaxRegistersPerBlock:
        case cudaDevAttrMaxRegistersPerMultiprocessor:
            *value = facts.registers_per_multiprocessor;
            break;
        case cudaDevAttrMultiProcessorCount:
            *value = facts.multiprocessors;
            break;
        case cudaDevAttrMaxThreadsPerMultiProcessor:
            *value = facts.threads_per_multiprocessor;
            break;
        case cudaDevAttrMaxBlocksPerMultiprocessor:
            *value = facts.blocks_per_multiprocessor;
            break;
        case cudaDevAttrClockRate:
            *value = facts.clock_khz;
            break;
        case cudaDevAttrMemoryClockRate:
            *value = facts.memory_khz;
            break;
        case cudaDevAttrGlobalMemoryBusWidth:
            *value = facts.bus_bits;
            break;
        case cudaDevAttrL2CacheSize:
            *value = facts.l2_bytes;
            break;
        case cudaDevAttrComputeCapabilityMajor:
            *value = facts.major;
            break;
        case cudaDevAttrComputeCapabilityMinor:
            *value = facts.minor;
            break;
        case cudaDevAttrConcurrentKernels:
        case cudaDevAttrUnifiedAddressing:
        case cudaDevAttrManagedMemory:
        case cudaDevAttrCanMapHostMemory:
        case cudaDevAttrGlobalL1CacheSupported:
        case cudaDevAttrLocalL1CacheSupported:
        case cudaDevAttrStreamPrioritiesSupported:
        case cudaDevAttrMemoryPoolsSupported:
        case cudaDevAttrCooperativeLaunch:
        case cudaDevAttrConcurrentManagedAccess:
        case cudaDevAttrComputePreemptionSupported:
        case cudaDevAttrHostRegisterSupported:
        case cudaDevAttrCanUseHostPointerForRegisteredMem:
        case cudaDevAttrGpuOverlap:
            *value = 1;
            break;
        case cudaDevAttrAsyncEngineCount:
            *value = 2;
            break;
        case cudaDevAttrClusterLaunch:
            *value = facts.major >= 9;
            break;
        case cudaDevAttrIntegrated:
        case cudaDevAttrComputeMode:
        case cudaDevAttrKernelExecTimeout:
        case cudaDevAttrEccEnabled:
        case cudaDevAttrTccDriver:
        case cudaDevAttrIsMultiGpuBoard:
        case cudaDevAttrPageableMemoryAccess:
        case cudaDevAttrPciBusId:
        case cudaDevAttrPciDeviceId:
        case cudaDevAttrPciDomainId:
            *value = 0;
            break;
        default:
            return Runtime::get().unsupported("cudaDeviceGetAttribute with this attribute");
    }
    return cudaSuccess;
}

cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void* function) {
    Runtime& runtime = Runtime::get();
    const Kernel* kernel = runtime.kernel(function);
    if (!kernel) return runtime.fail("cudaFuncGetAttributes", cudaErrorInvalidDeviceFunction);
    const int architecture = runtime.device().major * 10 + runtime.device().minor;
    *attributes = {};
    attributes->sharedSizeBytes = static_cast<std::size_t>(kernel->static_shared);
    attributes->localSizeBytes = static_cast<std::size_t>(kernel->local);
    attributes->maxThreadsPerBlock = register_limit(*kernel, runtime.device());
    attributes->numRegs = kernel->registers;
    attributes->ptxVersion = attributes->binaryVersion = architecture;
    attributes->maxDynamicSharedSizeBytes = kernel->max_dynamic_shared;
    attributes->preferredShmemCarveout = kernel->carveout;
    return cudaSuccess;
}

cudaError_t cudaFuncSetAttribute(const void* function, cudaFuncAttribute attribute, int value) {
    constexpr const char* name = "cudaFuncSetAttribute";
    Runtime& runtime = Runtime::get();
    Kernel* kernel = runtime.kernel(function);
    if (!kernel) return runtime.fail(name, cudaErrorInvalidDeviceFunction);
    if (attribute == cudaFuncAttributeMaxDynamicSharedMemorySize) {
        const int room = runtime.device().shared_per_block_optin - kernel->static_shared;
        if (value < 0 || value > room) return runtime.fail(name, cudaErrorInvalidValue);
        kernel->max_dynamic_shared = value;
        return cudaSuccess;
    }
    if (attribute == cudaFuncAttributePreferredSharedMemoryCarveout) {
        if (value < -1 || value > 100) return runtime.fail(name, cudaErrorInvalidValue);
        kernel->carveout = value;
        return cudaSuccess;
    }
    return runtime.unsupported("cudaFuncSetAttribute with this attribute");
}

cudaError_t cudaFuncSetCacheConfig(const void* function, cudaFuncCache) {
    Runtime& runtime = Runtime::get();
    return runtime.kernel(function) ? cudaSuccess
                                    : runtime.fail("cudaFuncSetCacheConfig", cudaErrorInvalidDeviceFunction);
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, const void* function, int threads,
                                                                   std::size_t dynamic_shared, unsigned) {
    Runtime& runtime = Runtime::get();
    const Kernel* kernel = runtime.kernel(function);
    if (!kernel) return runtime.fail("an occupancy query", cudaErrorInvalidDeviceFunction);
    if (threads <= 0) return runtime.fail("an occupancy query", cudaErrorInvalidValue);
    *blocks = grader::resident_blocks(*kernel, runtime.device(), threads, dynamic_shared);
    return cudaSuccess;
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* function, int threads,
                                                          std::size_t dynamic_shared) {
    return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, function, threads, dynamic_shared, 0);
}

cudaError_t cudaOccupancyAvailableDynamicSMemPerBlock(std::size_t* size, const void* function, int blocks,
                                                      int threads) {
    Runtime& runtime = Runtime::get();
    const Kernel* kernel = runtime.kernel(function);
    if (!kernel) return runtime.fail("an occupancy query", cudaErrorInvalidDeviceFunction);
    if (blocks <= 0 || threads <= 0) return runtime.fail("an occupancy query", cudaErrorInvalidValue);
    std::size_t low = 0, high = static_cast<std::size_t>(runtime.device().shared_per_block_optin);
    while (low < high) {
        const std::size_t middle = (low + high + 1) / 2;
        const bool fits = grader::resident_blocks(*kernel, runtime.device(), threads, middle) >= blocks;
        (fits ? low : high) = fits ? middle : middle - 1;
    }
    *size = low;
    return cudaSuccess;
}

cudaChannelFormatDesc cudaCreateChannelDesc(int x, int y, int z, int w, cudaChannelFormatKind kind) {
    return {x, y, z, w, kind};
}

}  // extern "C"
