#include "runtime.hpp"

namespace grader {

thread_local Runtime::Thread Runtime::thread_;
thread_local Runtime* Runtime::used_ = nullptr;

Runtime& Runtime::get() {
    static Runtime of_the_process;
    return used_ ? *used_ : of_the_process;
}

void Runtime::use(Runtime* runtime) {
    used_ = runtime;
}

void Runtime::start(Backend* backend, const Device& device, std::vector<Kernel> kernels) {
    backend_ = backend;
    device_ = device;
    kernels_.clear();
    for (Kernel& kernel : kernels) {
        kernel.max_dynamic_shared = device.shared_per_block - kernel.static_shared;
        kernels_.push_back(std::make_unique<Kernel>(std::move(kernel)));
    }
}

void Runtime::register_kernel(const void* host_function, const char* name) {
    for (const auto& kernel : kernels_) {
        if (kernel->name == name) by_function_[host_function] = by_function_[kernel.get()] = kernel.get();
    }
}

void Runtime::register_variable(const void* host_variable, const char* name, std::size_t size) {
    variables_[host_variable] = {name, size};
}

Kernel* Runtime::kernel(const void* function) {
    const auto found = by_function_.find(function);
    return found == by_function_.end() ? nullptr : found->second;
}

const Variable* Runtime::variable(const void* host_variable) const {
    const auto found = variables_.find(host_variable);
    return found == variables_.end() ? nullptr : &found->second;
}

cudaError_t Runtime::finish(cudaError_t error) {
    if (error != cudaSuccess) thread_.last_error = error;
    return error;
}

cudaError_t Runtime::fail(const char* function, cudaError_t error, const Place* place) {
    if (started()) backend_->failed(function, error, place);
    return finish(error);
}

cudaError_t Runtime::enter(const char* function, cudaStream_t stream, const Place* place) {
    return finish(started() ? backend_->enter(function, stream, place) : cudaErrorNoDevice);
}

cudaError_t Runtime::unsupported(const char* function) {
    if (!started()) return finish(cudaErrorNoDevice);
    backend_->unsupported(function);
    return finish(cudaErrorNotSupported);
}

cudaError_t Runtime::take_last_error() {
    const cudaError_t error = last_error();
    thread_.last_error = cudaSuccess;
    return error;
}

bool Runtime::pop(CallConfiguration* configuration) {
    if (thread_.configurations.empty()) return false;
    *configuration = thread_.configurations.back();
    thread_.popped_place = configuration->place;
    thread_.configurations.pop_back();
    return true;
}

void Runtime::forget_call() {
    thread_.configurations.clear();
    thread_.last_error = cudaSuccess;
}

extern "C" int grader_unsupported(const char* function) {
    return Runtime::get().unsupported(function);
}

extern "C" int grader_waits(const char* function) {
    Runtime& runtime = Runtime::get();
    if (!runtime.started()) return runtime.finish(cudaErrorNoDevice);
    return runtime.finish(runtime.backend().wait(function));
}

}  // namespace grader

// What nvcc's generated code calls while the library is being loaded. Prototypes: crt/host_runtime.h.
extern "C" {

void** __cudaRegisterFatBinary(void* fat_binary) {
    return new void*(fat_binary);
}
void __cudaRegisterFatBinaryEnd(void**) {}
void __cudaUnregisterFatBinary(void** handle) {
    delete handle;
}
char __cudaInitModule(void**) {
    return 1;
}

void __cudaRegisterFunction(void**, const char* host_function, char*, const char* name, int, uint3*, uint3*, dim3*,
                            dim3*, int*) {
    grader::Runtime::get().register_kernel(host_function, name);
}

void __cudaRegisterVar(void**, char* host_variable, char*, const char* name, int, std::size_t size, int, int) {
    grader::Runtime::get().register_variable(host_variable, name, size);
}

void __cudaRegisterManagedVar(void**, void** host_variable, char*, const char* name, int, std::size_t size, int, int) {
    grader::Runtime& runtime = grader::Runtime::get();
    runtime.register_variable(host_variable, name, size);
    if (runtime.started()) *host_variable = runtime.backend().place_managed({name, size});
}

cudaError_t __cudaGetKernel(cudaKernel_t* handle, const void* host_function) {
    grader::Runtime& runtime = grader::Runtime::get();
    grader::Kernel* kernel = runtime.kernel(host_function);
    *handle = reinterpret_cast<cudaKernel_t>(kernel);
    return kernel ? cudaSuccess : runtime.fail("__cudaGetKernel", cudaErrorInvalidDeviceFunction);
}

}  // extern "C"
