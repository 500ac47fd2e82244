// What a built object registers while it is being loaded: kept, and told to a library when that is first used.
//
// A kernel's stub asks for a handle once and keeps it, whichever library the launch goes to. So the handle is the
// stub's own address, and each launch looks the library's handle up.
#include <map>
#include <vector>

#include "tables.hpp"

namespace {

using grader::Table;

struct FunctionOf {
    const char *host, *name;
    char* device_name;
    int thread_limit;
};

struct VariableOf {
    char *host, *device_name;
    const char* name;
    int external;
    std::size_t bytes;
    int constant, global;
};

struct Module {
    void* fat_binary = nullptr;
    std::vector<FunctionOf> functions;
    std::vector<VariableOf> variables;
    bool has_managed = false;
    std::map<const Table*, cudaError_t> told;
};

// Handles that nvcc's code is given point to one of these.
Module* module_of(void** handle) {
    return static_cast<Module*>(*handle);
}

thread_local Module* being_loaded = nullptr;

void tell(const Module& module, const Table& table) {
    const auto begin = table.find<void** (*)(void*)>("__cudaRegisterFatBinary");
    const auto function =
        table.find<void (*)(void**, const char*, char*, const char*, int, void*, void*, void*, void*, int*)>(
            "__cudaRegisterFunction");
    const auto variable =
        table.find<void (*)(void**, char*, char*, const char*, int, std::size_t, int, int)>("__cudaRegisterVar");
    const auto end = table.find<void (*)(void**)>("__cudaRegisterFatBinaryEnd");
    void** handle = begin(module.fat_binary);
    for (const FunctionOf& one : module.functions)
        function(handle, one.host, one.device_name, one.name, one.thread_limit, nullptr, nullptr, nullptr, nullptr,
                 nullptr);
    for (const VariableOf& one : module.variables)
        variable(handle, one.host, one.device_name, one.name, one.external, one.bytes, one.constant, one.global);
    end(handle);
}

// A kernel that is loaded at its first launch would be so during a capture, which may forbid it. So all are loaded now,
// in the mode that forbids nothing.
cudaError_t load(const Module& module, const Table& table) {
    const auto exchange =
        table.find<decltype(&cudaThreadExchangeStreamCaptureMode)>("cudaThreadExchangeStreamCaptureMode");
    const auto attributes = table.find<decltype(&cudaFuncGetAttributes)>("cudaFuncGetAttributes");
    cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
    cudaError_t error = exchange(&mode);
    if (error != cudaSuccess) return error;
    for (const FunctionOf& one : module.functions) {
        cudaFuncAttributes unused;
        error = attributes(&unused, one.host);
        if (error != cudaSuccess) break;
    }
    const cudaError_t back = exchange(&mode);
    return error != cudaSuccess ? error : back;
}

cudaError_t launch(decltype(&cudaLaunchKernel) Table::* how, cudaKernel_t stub, dim3 grid, dim3 block, void** arguments,
                   std::size_t shared, cudaStream_t stream) {
    const Table* table = grader::used_table();
    if (!table) return cudaErrorNoDevice;
    cudaKernel_t kernel;
    if (const cudaError_t error = table->get_kernel(&kernel, stub)) return error;
    return (table->*how)(kernel, grid, block, arguments, shared, stream);
}

}  // namespace

extern "C" {

// What is loaded by this thread from now on, until `grader_module_end`, registers itself in a module of its own.
void* grader_module_begin() {
    return being_loaded = new Module;
}
// How many kernels it has; -1 where it has __managed__ variables, whose place can only be one library's.
int grader_module_end() {
    const Module* module = being_loaded;
    being_loaded = nullptr;
    return module->has_managed ? -1 : static_cast<int>(module->functions.size());
}

// Tells the library of this thread's table what the module registered, once; an error where it does not take the code.
// `loading`: its kernels are loaded too.
int grader_module_tell(void* handle, int loading) {
    auto* module = static_cast<Module*>(handle);
    const Table* table = grader::used_table();
    const auto known = module->told.find(table);
    if (known != module->told.end()) return known->second;
    if (!module->fat_binary) return module->told[table] = cudaSuccess;
    tell(*module, *table);
    return module->told[table] = loading ? load(*module, *table) : cudaSuccess;
}

// ---- what nvcc's code calls. Prototypes: crt/host_runtime.h ---------------------------------------------------------

void** __cudaRegisterFatBinary(void* fat_binary) {
    if (!being_loaded) being_loaded = new Module;  // of an object that nobody here has asked for
    being_loaded->fat_binary = fat_binary;
    return new void*(being_loaded);
}
void __cudaRegisterFatBinaryEnd(void**) {}
void __cudaUnregisterFatBinary(void**) {}  // at the end of the process, when a library may be gone already
char __cudaInitModule(void**) {
    return 1;
}

void __cudaRegisterFunction(void** handle, const char* host, char* device_name, const char* name, int thread_limit,
                            uint3*, uint3*, dim3*, dim3*, int*) {
    module_of(handle)->functions.push_back({host, name, device_name, thread_limit});
}

void __cudaRegisterVar(void** handle, char* host, char* device_name, const char* name, int external, std::size_t bytes,
                       int constant, int global) {
    module_of(handle)->variables.push_back({host, device_name, name, external, bytes, constant, global});
}

void __cudaRegisterManagedVar(void** handle, void**, char*, const char*, int, std::size_t, int, int) {
    module_of(handle)->has_managed = true;
}

cudaError_t __cudaGetKernel(cudaKernel_t* handle, const void* stub) {
    *handle = reinterpret_cast<cudaKernel_t>(const_cast<void*>(stub));
    return cudaSuccess;
}

cudaError_t __cudaLaunchKernel(cudaKernel_t stub, dim3 grid, dim3 block, void** arguments, std::size_t shared,
                               cudaStream_t stream) {
    return launch(&Table::launch, stub, grid, block, arguments, shared, stream);
}

cudaError_t __cudaLaunchKernel_ptsz(cudaKernel_t stub, dim3 grid, dim3 block, void** arguments, std::size_t shared,
                                    cudaStream_t stream) {
    return launch(&Table::launch_per_thread, stub, grid, block, arguments, shared, stream);
}

}  // extern "C"
