// Launches: the <<<>>> expression in its two halves, and the functions that spell it out.
#include "runtime.hpp"

namespace grader {

namespace {

constexpr unsigned max_threads = 1024, max_block_z = 64;
constexpr unsigned max_grid_x = 0x7fffffff, max_grid_yz = 65535;

bool shape_fits(const dim3& grid, const dim3& block) {
    if (grid.x == 0 || grid.y == 0 || grid.z == 0 || block.x == 0 || block.y == 0 || block.z == 0) return false;
    if (grid.x > max_grid_x || grid.y > max_grid_yz || grid.z > max_grid_yz) return false;
    if (block.x > max_threads || block.y > max_threads || block.z > max_block_z) return false;
    return std::uint64_t{block.x} * block.y * block.z <= max_threads;
}

cudaError_t launch(const char* function, const void* handle, dim3 grid, dim3 block, void** arguments,
                   std::size_t shared, cudaStream_t stream, bool cooperative, const Place* place = nullptr) {
    Runtime& runtime = Runtime::get();
    if (const cudaError_t error = runtime.enter(function, stream, place)) return error;
    const Kernel* kernel = runtime.kernel(handle);
    if (!kernel) return runtime.fail(function, cudaErrorInvalidDeviceFunction, place);
    if (!arguments && !kernel->parameters.empty()) return runtime.fail(function, cudaErrorInvalidValue, place);
    const Launch launch{kernel, grid, block, shared, cooperative, arguments, place ? *place : runtime.backend().here()};
    if (const cudaError_t error = judge(launch, runtime.device())) {
        runtime.backend().refused(launch, error);
        return runtime.finish(error);
    }
    return runtime.finish(runtime.backend().launch(launch));
}

}  // namespace

cudaError_t judge(const Launch& launch, const Device& device) {
    const Kernel& kernel = *launch.kernel;
    // seen on an H200 with CUDA 13.0: what older versions call an invalid configuration is an invalid value
    if (!shape_fits(launch.grid, launch.block)) return cudaErrorInvalidValue;
    const int threads = static_cast<int>(launch.block.x * launch.block.y * launch.block.z);
    if (threads > kernel.max_threads) return cudaErrorInvalidValue;
    if (launch.shared > static_cast<std::size_t>(kernel.max_dynamic_shared)) return cudaErrorInvalidValue;
    const int resident = resident_blocks(kernel, device, threads, launch.shared);
    if (resident == 0) return cudaErrorLaunchOutOfResources;
    const std::uint64_t blocks = std::uint64_t{launch.grid.x} * launch.grid.y * launch.grid.z;
    const std::uint64_t room = static_cast<std::uint64_t>(resident) * static_cast<unsigned>(device.multiprocessors);
    if (launch.cooperative && blocks > room) return cudaErrorCooperativeLaunchTooLarge;
    return cudaSuccess;
}

}  // namespace grader

using grader::Place;
using grader::Runtime;

extern "C" {

unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, std::size_t shared, CUstream_st* stream) {
    Runtime& runtime = Runtime::get();
    runtime.push({grid, block, shared, stream, runtime.started() ? runtime.backend().here() : Place{}});
    return 0;
}

cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, std::size_t* shared, void* stream) {
    Runtime& runtime = Runtime::get();
    grader::CallConfiguration configuration;
    if (!runtime.pop(&configuration)) return runtime.fail("__cudaPopCallConfiguration", cudaErrorMissingConfiguration);
    *grid = configuration.grid;
    *block = configuration.block;
    *shared = configuration.shared;
    *static_cast<cudaStream_t*>(stream) = configuration.stream;
    return cudaSuccess;
}

cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments, std::size_t shared,
                               cudaStream_t stream) {
    return grader::launch("a launch", kernel, grid, block, arguments, shared, stream, false,
                          &Runtime::get().popped_place());
}

cudaError_t cudaLaunchKernel(const void* function, dim3 grid, dim3 block, void** arguments, std::size_t shared,
                             cudaStream_t stream) {
    return grader::launch("cudaLaunchKernel", function, grid, block, arguments, shared, stream, false);
}

cudaError_t cudaLaunchCooperativeKernel(const void* function, dim3 grid, dim3 block, void** arguments,
                                        std::size_t shared, cudaStream_t stream) {
    return grader::launch("cudaLaunchCooperativeKernel", function, grid, block, arguments, shared, stream, true);
}

cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* function, void** arguments) {
    bool cooperative = false;
    for (unsigned i = 0; i < config->numAttrs; ++i) {
        const cudaLaunchAttribute& attribute = config->attrs[i];
        if (attribute.id == cudaLaunchAttributeIgnore) continue;
        if (attribute.id != cudaLaunchAttributeCooperative) {
            return Runtime::get().unsupported("cudaLaunchKernelExC with launch attributes");
        }
        cooperative = attribute.val.cooperative != 0;
    }
    return grader::launch("cudaLaunchKernelExC", function, config->gridDim, config->blockDim, arguments,
                          config->dynamicSmemBytes, config->stream, cooperative);
}

}  // extern "C"
