// A libcudart that is none: it writes down what it is asked, a line a call, and answers as it was told to.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <map>
#include <string>
#include <vector>

struct Dim3 {
    unsigned x, y, z;
};

namespace {

std::string calls;
std::map<const void*, std::string> kernels;  // by stub
int launch_answer = 0, last_error = 0, load_answer = 0, device_answer = 0;

struct Configuration {
    Dim3 grid, block;
    std::size_t shared;
    void* stream;
};
std::vector<Configuration> configurations;

template <typename... Values>
void note(const char* form, Values... values) {
    char line[256];
    std::snprintf(line, sizeof line, form, values...);
    calls += line;
    calls += '\n';
}

int launch(const char* how, const void* kernel, Dim3 grid, Dim3 block, void** arguments, std::size_t shared,
           void* stream) {
    std::uintptr_t pointer;
    int n;
    std::memcpy(&pointer, arguments[0], sizeof pointer);
    std::memcpy(&n, arguments[1], sizeof n);
    note("%s %s grid %u %u %u block %u %u %u shared %zu stream %p pointer %p n %d", how,
         static_cast<const char*>(kernel), grid.x, grid.y, grid.z, block.x, block.y, block.z, shared, stream,
         reinterpret_cast<void*>(pointer), n);
    return last_error = launch_answer;
}

}  // namespace

extern "C" {

// ---- for the test
const char* stand_in_calls() {
    static std::string told;
    told = calls;
    calls.clear();
    return told.c_str();
}
void stand_in_answers(int of_launch, int of_load, int of_devices) {
    launch_answer = of_launch;
    load_answer = of_load;
    device_answer = of_devices;
}

// ---- what nvcc's code calls
void** __cudaRegisterFatBinary(void* fat) {
    note("fat binary %s", fat ? "given" : "missing");
    static void* handle;
    return &handle;
}
void __cudaRegisterFatBinaryEnd(void**) {
    note("end");
}
void __cudaRegisterFunction(void**, const char* host, char*, const char* name, int, void*, void*, void*, void*, int*) {
    kernels[host] = name;
    note("function %s", name);
}
void __cudaRegisterVar(void**, char*, char*, const char* name, int, std::size_t bytes, int constant, int) {
    note("variable %s %zu constant %d", name, bytes, constant);
}
int __cudaGetKernel(const void** kernel, const void* stub) {
    const auto found = kernels.find(stub);
    if (found == kernels.end()) return 98;
    *kernel = found->second.c_str();
    return 0;
}
unsigned __cudaPushCallConfiguration(Dim3 grid, Dim3 block, std::size_t shared, void* stream) {
    configurations.push_back({grid, block, shared, stream});
    return 0;
}
int __cudaPopCallConfiguration(Dim3* grid, Dim3* block, std::size_t* shared, void* stream) {
    const Configuration last = configurations.back();
    configurations.pop_back();
    *grid = last.grid;
    *block = last.block;
    *shared = last.shared;
    *static_cast<void**>(stream) = last.stream;
    return 0;
}
#if !defined(OLD)
int __cudaLaunchKernel(const void* kernel, Dim3 grid, Dim3 block, void** arguments, std::size_t shared, void* stream) {
    return launch("launch", kernel, grid, block, arguments, shared, stream);
}
int __cudaLaunchKernel_ptsz(const void* kernel, Dim3 grid, Dim3 block, void** arguments, std::size_t shared,
                            void* stream) {
    return launch("launch_ptsz", kernel, grid, block, arguments, shared, stream);
}
#endif

// ---- what programs call
int cudaGetDeviceCount(int* count) {
    *count = 1;
    return device_answer;
}
int cudaMemsetAsync(void* to, int value, std::size_t bytes, void* stream) {
    note("memset %p value %d bytes %zu stream %p", to, value, bytes, stream);
    return 0;
}
int cudaFuncGetAttributes(void*, const void* stub) {
    note("load %s", kernels[stub].c_str());
    return load_answer;
}
int cudaThreadExchangeStreamCaptureMode(int* mode) {
    static int now = 0;
    note("capture mode %d", *mode);
    std::swap(now, *mode);
    return 0;
}
int cudaGetLastError() {
    const int error = last_error;
    last_error = 0;
    return error;
}
int cudaPeekAtLastError() {
    return last_error;
}
const char* cudaGetErrorName(int error) {
    return error == 9     ? "cudaErrorInvalidConfiguration"
           : error == 100 ? "cudaErrorNoDevice"
           : error == 700 ? "cudaErrorIllegalAddress"
                          : "cudaErrorOther";
}
const char* cudaGetErrorString(int error) {
    return error == 9 ? "words of the stand-in" : "other words";
}

}  // extern "C"
