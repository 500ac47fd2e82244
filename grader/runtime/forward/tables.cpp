#include "tables.hpp"

#include <dlfcn.h>

namespace grader {

namespace {

thread_local const Table* of_thread = nullptr;

// What a function does that the library lacks.
int not_there() {
    return cudaErrorNotSupported;
}

}  // namespace

int nobody() {
    return cudaErrorNoDevice;
}

const char* word_of_nobody() {
    return "no CUDA library is in use";
}

void* Table::find(const char* name) const {
    return dlsym(library, name);
}

const Table* used_table() {
    return of_thread;
}

}  // namespace grader

using grader::Function;
using grader::Table;

extern "C" {

constinit thread_local const Function* grader_table = grader::functions_of_nobody;

// The functions of the library at `path`; `grader_table_why` says why there are none. Never given back.
void* grader_table_open(const char* path) {
    auto* table = new Table;
    table->library = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
    if (!table->library) {
        table->why = dlerror();
        return table;
    }
    for (std::size_t i = 0; i < grader::forwarded_count; ++i) {
        void* found = table->find(grader::forwarded_names[i]);
        table->functions.push_back(found ? reinterpret_cast<Function>(found)
                                         : reinterpret_cast<Function>(grader::not_there));
    }
    table->get_kernel = table->find<decltype(table->get_kernel)>("__cudaGetKernel");
    // The same arguments, but for a handle in the place of the function.
    table->launch = table->find<decltype(table->launch)>("__cudaLaunchKernel");
    table->launch_per_thread = table->find<decltype(table->launch)>("__cudaLaunchKernel_ptsz");
    if (!table->get_kernel || !table->launch || !table->launch_per_thread)
        table->why = "it is older than the toolkit that compiled the kernels";
    return table;
}

// Null where all is well.
const char* grader_table_why(const void* table) {
    const std::string& why = static_cast<const Table*>(table)->why;
    return why.empty() ? nullptr : why.c_str();
}

// This thread's table from now on; null: none.
void grader_table_use(const void* table) {
    grader::of_thread = static_cast<const Table*>(table);
    grader_table = table ? static_cast<const Table*>(table)->functions.data() : grader::functions_of_nobody;
}

}  // extern "C"
