// What a program asks of the device before it chooses its launch.
#include "check.h"

__global__ void work(float* values, int n) {
    extern __shared__ float held[];
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    held[threadIdx.x] = values[i];
    values[i] = 2.0f * held[threadIdx.x];
}

int main() {
    int devices = 0, device = -1, attribute = 0, blocks = 0, threads = 0, resident = 0, version = 0;
    CHECK(cudaGetDeviceCount(&devices));
    CHECK(cudaSetDevice(0));
    CHECK(cudaGetDevice(&device));
    expect(devices == 1 && device == 0, "one device");
    CHECK(cudaRuntimeGetVersion(&version));
    expect(version == CUDART_VERSION, "the version that the headers have");

    cudaDeviceProp properties{};
    CHECK(cudaGetDeviceProperties(&properties, 0));
    std::printf("%s, %d.%d, %d multiprocessors\n", properties.name, properties.major, properties.minor,
                properties.multiProcessorCount);
    expect(properties.warpSize == 32 && properties.maxThreadsPerBlock == 1024, "properties");
    CHECK(cudaDeviceGetAttribute(&attribute, cudaDevAttrMultiProcessorCount, 0));
    expect(attribute == properties.multiProcessorCount, "an attribute agrees with the properties");

    cudaFuncAttributes attributes{};
    CHECK(cudaFuncGetAttributes(&attributes, work));
    expect(attributes.numRegs > 0 && attributes.maxThreadsPerBlock == 1024, "a kernel's attributes");
    CHECK(cudaFuncSetAttribute(work, cudaFuncAttributeMaxDynamicSharedMemorySize, 64 << 10));
    CHECK(cudaOccupancyMaxPotentialBlockSize(&blocks, &threads, work));
    expect(threads >= 32 && threads <= 1024 && blocks >= properties.multiProcessorCount, "a size of blocks");
    CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, work, 256, 64 << 10));
    expect(resident >= 1 && resident <= 8, "blocks that fit together");

    std::size_t free_before = 0, free_after = 0, total = 0, limit = 0;
    CHECK(cudaMemGetInfo(&free_before, &total));
    float* values = nullptr;
    CHECK(cudaMalloc(&values, 1 << 20));
    CHECK(cudaMemGetInfo(&free_after, &total));
    expect(free_before - free_after == 1 << 20 && free_before <= total, "how much is free");
    CHECK(cudaDeviceSetLimit(cudaLimitMallocHeapSize, 32 << 20));
    CHECK(cudaDeviceGetLimit(&limit, cudaLimitMallocHeapSize));
    expect(limit == 32 << 20, "a limit");

    CHECK(cudaMemset(values, 0, 1 << 20));
    cudaLaunchConfig_t config{};
    config.gridDim = 2;
    config.blockDim = 256;
    config.dynamicSmemBytes = 60 << 10;  // more than 48 KiB has to be asked for, as was done above
    CHECK(cudaLaunchKernelEx(&config, work, values, 500));
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFree(values));
    CHECK(cudaDeviceReset());
    return verdict();
}
