// Errors as CUDA has them: of calls and of launches, at once, read and cleared.
#include "check.h"

__global__ void nothing() {}

__global__ __launch_bounds__(128) void small_blocks() {}

void of_calls() {
    int* memory = nullptr;
    int host[4] = {};
    expect(cudaMalloc(&memory, std::size_t{1} << 50) == cudaErrorMemoryAllocation, "more than there is");
    expect(memory == nullptr, "and nothing was given");
    expect(cudaPeekAtLastError() == cudaErrorMemoryAllocation, "to be seen");
    expect(cudaGetLastError() == cudaErrorMemoryAllocation, "to be read");
    expect(cudaGetLastError() == cudaSuccess, "once");

    CHECK(cudaMalloc(&memory, sizeof host));
    expect(cudaMemcpy(memory, host, sizeof host, static_cast<cudaMemcpyKind>(9)) == cudaErrorInvalidMemcpyDirection,
           "no direction");
    expect(cudaMemcpy(memory, host, sizeof host, cudaMemcpyDeviceToHost) == cudaErrorInvalidValue, "the other way");
    expect(cudaMemcpy(memory, host, sizeof host + 4, cudaMemcpyHostToDevice) == cudaErrorInvalidValue, "too long");
    expect(cudaMemcpy(memory, nullptr, 4, cudaMemcpyHostToDevice) == cudaErrorInvalidValue, "from nowhere");
    expect(cudaMemset(host, 0, sizeof host) == cudaErrorInvalidValue, "memory of the host");
    CHECK(cudaFree(nullptr));
    CHECK(cudaFree(memory));
    expect(cudaFree(memory) == cudaErrorInvalidValue, "a second time");
    expect(cudaFree(host) == cudaErrorInvalidValue, "what was never given");
    expect(cudaSetDevice(7) == cudaErrorInvalidDevice, "no such device");
    expect(cudaGetLastError() == cudaErrorInvalidDevice, "the last of them");
}

void of_launches() {
    nothing<<<0, 32>>>();
    expect(cudaGetLastError() == cudaErrorInvalidValue, "no block");
    nothing<<<1, 2048>>>();
    expect(cudaGetLastError() == cudaErrorInvalidValue, "too many threads");
    nothing<<<dim3(1, 70000), 32>>>();
    expect(cudaGetLastError() == cudaErrorInvalidValue, "too many blocks along y");
    nothing<<<1, 32, 1 << 20>>>();
    expect(cudaGetLastError() == cudaErrorInvalidValue, "too much shared memory");
    small_blocks<<<1, 256>>>();
    expect(cudaGetLastError() == cudaErrorInvalidValue, "more threads than were promised");
    expect(cudaLaunchKernel(reinterpret_cast<void*>(&mistakes), 1, 32, nullptr, 0, nullptr) ==
               cudaErrorInvalidDeviceFunction,
           "no kernel");
    expect(cudaGetLastError() == cudaErrorInvalidDeviceFunction, "the last of them");
    nothing<<<1, 32>>>();
    expect(cudaGetLastError() == cudaSuccess, "a good launch");
}

int main() {
    of_calls();
    of_launches();
    expect(cudaDeviceSynchronize() == cudaSuccess, "nothing was broken by all that");
    std::printf("%s: %s\n", cudaGetErrorName(cudaErrorInvalidValue), cudaGetErrorString(cudaErrorInvalidValue));
    return verdict();
}
