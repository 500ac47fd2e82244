// The state behind the exported functions: one device and one back end; errors and launches are each thread's own.
// A process has one of it, but where it calls built objects as functions on tensors (software/tensors.cpp): one of
// each.
#pragma once

#include <memory>
#include <unordered_map>
#include <vector>

#include "backend.hpp"

namespace grader {

struct CallConfiguration {
    dim3 grid, block;
    std::size_t shared;
    cudaStream_t stream;
    Place place;  // of the <<<>>>: the launch itself is called from code that nvcc made
};

class Runtime {
  public:
    static Runtime& get();
    // This thread's from now on; null: the process's own again.
    static void use(Runtime* runtime);

    // What a program that links to us is given before it runs: the device, its kernels, where work goes.
    void start(Backend* backend, const Device& device, std::vector<Kernel> kernels);
    bool started() const { return backend_ != nullptr; }
    Backend& backend() { return *backend_; }
    const Device& device() const { return device_; }

    void register_kernel(const void* host_function, const char* name);
    void register_variable(const void* host_variable, const char* name, std::size_t size);
    // By the address of the host stub or by the handle that __cudaGetKernel gave; null when it is neither.
    Kernel* kernel(const void* function);
    const Variable* variable(const void* host_variable) const;

    // Every exported function returns through here: an error stays readable until cudaGetLastError.
    cudaError_t finish(cudaError_t error);
    // The same for an error that no back end has heard of yet.
    cudaError_t fail(const char* function, cudaError_t error, const Place* place = nullptr);
    // First thing in a function that puts work on a stream.
    cudaError_t enter(const char* function, cudaStream_t stream, const Place* place = nullptr);
    cudaError_t unsupported(const char* function);
    cudaError_t take_last_error();
    cudaError_t last_error() const { return thread_.last_error; }

    // Configurations nest where an argument of a launch launches itself.
    void push(const CallConfiguration& configuration) { thread_.configurations.push_back(configuration); }
    bool pop(CallConfiguration* configuration);
    const Place& popped_place() const { return thread_.popped_place; }
    void forget_call();

  private:
    struct Thread {
        std::vector<CallConfiguration> configurations;
        Place popped_place;
        cudaError_t last_error = cudaSuccess;
    };
    static thread_local Thread thread_;
    static thread_local Runtime* used_;

    Backend* backend_ = nullptr;
    Device device_;
    std::vector<std::unique_ptr<Kernel>> kernels_;
    std::unordered_map<const void*, Kernel*> by_function_;
    std::unordered_map<const void*, Variable> variables_;
};

// Can the device run this block at all, and if not, what does CUDA answer? (launch.cpp)
cudaError_t judge(const Launch& launch, const Device& device);
// Blocks of this size that fit a multiprocessor together, by NVIDIA's cuda_occupancy.h; 0 when none does. (query.cpp)
int resident_blocks(const Kernel& kernel, const Device& device, int threads, std::size_t dynamic_shared);

// Bodies of generated stubs. (runtime.cpp)
extern "C" int grader_unsupported(const char* function);
extern "C" int grader_waits(const char* function);

}  // namespace grader
