// grader_occupancy: how many blocks of a kernel a multiprocessor holds at once, and which resource sets the limit, by
// NVIDIA's own cuda_occupancy.h. The structures are mirrored in grader/occupancy.py.
#include <cuda_occupancy.h>

#include <cstddef>

namespace {

struct Multiprocessor {
    int major, minor;
    int count;
    int threads, registers;
    int shared, shared_of_block, shared_of_block_optin, shared_reserved;  // bytes
};

struct Block {
    int threads, most_threads;
    int registers;                      // a thread's
    int static_shared, dynamic_shared;  // bytes
};

// The blocks that each resource allows; what can run is the least of them.
struct Limits {
    int warps, registers, shared, blocks, barriers;
};

cudaOccDeviceProp properties_of(const Multiprocessor& device) {
    cudaOccDeviceProp properties;
    properties.computeMajor = device.major;
    properties.computeMinor = device.minor;
    properties.maxThreadsPerBlock = 1024;
    properties.maxThreadsPerMultiprocessor = device.threads;
    properties.regsPerBlock = properties.regsPerMultiprocessor = device.registers;
    properties.warpSize = 32;
    properties.sharedMemPerBlock = static_cast<std::size_t>(device.shared_of_block);
    properties.sharedMemPerMultiprocessor = static_cast<std::size_t>(device.shared);
    properties.numSms = device.count;
    properties.sharedMemPerBlockOptin = static_cast<std::size_t>(device.shared_of_block_optin);
    properties.reservedSharedMemPerBlock = static_cast<std::size_t>(device.shared_reserved);
    return properties;
}

cudaOccFuncAttributes attributes_of(const Block& block) {
    cudaOccFuncAttributes attributes;
    attributes.maxThreadsPerBlock = block.most_threads;
    attributes.numRegs = block.registers;
    attributes.sharedSizeBytes = static_cast<std::size_t>(block.static_shared);
    attributes.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN;
    attributes.maxDynamicSharedSizeBytes = static_cast<std::size_t>(block.dynamic_shared);
    attributes.numBlockBarriers = 1;
    return attributes;
}

}  // namespace

// 0, or the header's cudaOccError; `limits` then stay as they are.
extern "C" int grader_occupancy(const Multiprocessor* device, const Block* block, Limits* limits) {
    const cudaOccDeviceProp properties = properties_of(*device);
    const cudaOccFuncAttributes attributes = attributes_of(*block);
    const cudaOccDeviceState state;
    cudaOccResult result;
    const cudaOccError error = cudaOccMaxActiveBlocksPerMultiprocessor(
        &result, &properties, &attributes, &state, block->threads, static_cast<std::size_t>(block->dynamic_shared));
    if (error == CUDA_OCC_SUCCESS) {
        *limits = {result.blockLimitWarps, result.blockLimitRegs, result.blockLimitSharedMem, result.blockLimitBlocks,
                   result.blockLimitBarriers};
    }
    return error;
}
