// Tables of functions: what this thread asks of CUDA goes to the library whose table it uses.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <string>
#include <vector>

namespace grader {

// Made by trampolines.py: the functions that are forwarded, in the order of every table.
extern const char* const forwarded_names[];
extern const std::size_t forwarded_count;

using Function = void (*)();

// The table of a thread that uses none, made there too, and what its functions do.
extern const Function functions_of_nobody[];
int nobody();
const char* word_of_nobody();

struct Table {
    std::vector<Function> functions;
    void* library = nullptr;
    std::string why;  // where it cannot be used

    // Any function of the library; null where it has none of this name.
    template <typename Prototype>
    Prototype find(const char* name) const;
    void* find(const char* name) const;

    // What nvcc's code calls and modules.cpp stands before.
    cudaError_t (*get_kernel)(cudaKernel_t*, const void*) = nullptr;
    decltype(&cudaLaunchKernel) launch = nullptr, launch_per_thread = nullptr;
};

template <typename Prototype>
Prototype Table::find(const char* name) const {
    return reinterpret_cast<Prototype>(find(name));
}

// That of this thread; null: none.
const Table* used_table();

}  // namespace grader

extern "C" {
// The functions of the table that this thread uses. Read by the jumps of trampolines.py.
extern constinit thread_local const grader::Function* grader_table __attribute__((tls_model("initial-exec")));
}
