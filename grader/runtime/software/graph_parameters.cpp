#include "graph_parameters.hpp"

#include "software.hpp"

namespace grader {

cudaError_t kernel_from(const cudaKernelNodeParams& parameters, What* what) {
    Runtime& runtime = Runtime::get();
    const Kernel* kernel = runtime.kernel(parameters.func);
    if (!kernel) return cudaErrorInvalidDeviceFunction;
    if (parameters.extra) return cudaErrorNotSupported;
    if (!parameters.kernelParams && !kernel->parameters.empty()) return cudaErrorInvalidValue;
    const Launch launch{
        kernel, parameters.gridDim, parameters.blockDim, parameters.sharedMemBytes, false, parameters.kernelParams,
        Place{}};
    if (const cudaError_t error = judge(launch, runtime.device())) return error;
    *what = kernel_work(launch);
    return cudaSuccess;
}

cudaError_t copy_from(const cudaMemcpy3DParms& copy, What* what) {
    if (copy.srcArray || copy.dstArray) return cudaErrorNotSupported;
    *what = slices_copy(copy);
    return cudaSuccess;
}

cudaError_t fill_from(const cudaMemsetParams& fill, What* what) {
    if (fill.elementSize != 1 && fill.elementSize != 2 && fill.elementSize != 4) return cudaErrorInvalidValue;
    const std::size_t width = fill.width * fill.elementSize;
    const Side to{static_cast<std::byte*>(fill.dst), fill.pitch, 0};
    *what = FillWork{to, fill.value, fill.elementSize, width, fill.height, 1};
    return cudaSuccess;
}

cudaError_t host_from(const cudaHostNodeParams& host, What* what) {
    if (!host.fn) return cudaErrorInvalidValue;
    *what = HostWork{host.fn, host.userData};
    return cudaSuccess;
}

}  // namespace grader
