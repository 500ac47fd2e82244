// Fills, copies and allocations in stream order. Their synchronous forms are generated for a launcher that is recorded,
// since capture forbids them all, and written out in software/ for programs.
#include "runtime.hpp"

using grader::Runtime;
using grader::Variable;

extern "C" {

cudaError_t cudaMemsetAsync(void* destination, int value, std::size_t count, cudaStream_t stream) {
    Runtime& runtime = Runtime::get();
    if (const cudaError_t error = runtime.enter("cudaMemsetAsync", stream)) return error;
    if (count == 0) return cudaSuccess;
    return runtime.finish(runtime.backend().fill(destination, value & 0xff, count));
}

cudaError_t cudaMemcpyAsync(void* destination, const void* source, std::size_t count, cudaMemcpyKind kind,
                            cudaStream_t stream) {
    Runtime& runtime = Runtime::get();
    if (const cudaError_t error = runtime.enter("cudaMemcpyAsync", stream)) return error;
    if (kind < cudaMemcpyHostToHost || kind > cudaMemcpyDefault) {
        return runtime.fail("cudaMemcpyAsync", cudaErrorInvalidMemcpyDirection);
    }
    if (count == 0) return cudaSuccess;
    return runtime.finish(runtime.backend().copy(destination, source, count, kind));
}

cudaError_t cudaMemcpyToSymbolAsync(const void* symbol, const void* source, std::size_t count, std::size_t offset,
                                    cudaMemcpyKind kind, cudaStream_t stream) {
    constexpr const char* function = "cudaMemcpyToSymbolAsync";
    Runtime& runtime = Runtime::get();
    if (const cudaError_t error = runtime.enter(function, stream)) return error;
    const Variable* variable = runtime.variable(symbol);
    if (!variable) return runtime.fail(function, cudaErrorInvalidSymbol);
    if (offset > variable->size || count > variable->size - offset) {
        return runtime.fail(function, cudaErrorInvalidValue);
    }
    if (count == 0) return cudaSuccess;
    return runtime.finish(runtime.backend().copy_to_symbol(*variable, offset, source, count, kind));
}

cudaError_t cudaMallocAsync(void** address, std::size_t size, cudaStream_t stream) {
    Runtime& runtime = Runtime::get();
    if (const cudaError_t error = runtime.enter("cudaMallocAsync", stream)) return error;
    if (!address) return runtime.fail("cudaMallocAsync", cudaErrorInvalidValue);
    if (size == 0) {
        *address = nullptr;
        return cudaSuccess;
    }
    return runtime.finish(runtime.backend().allocate(address, size));
}

cudaError_t cudaFreeAsync(void* address, cudaStream_t stream) {
    Runtime& runtime = Runtime::get();
    if (const cudaError_t error = runtime.enter("cudaFreeAsync", stream)) return error;
    if (!address) return cudaSuccess;
    return runtime.finish(runtime.backend().release(address));
}

cudaError_t cudaGetSymbolSize(std::size_t* size, const void* symbol) {
    Runtime& runtime = Runtime::get();
    const Variable* variable = runtime.variable(symbol);
    if (!variable) return runtime.fail("cudaGetSymbolSize", cudaErrorInvalidSymbol);
    *size = variable->size;
    return cudaSuccess;
}

}  // extern "C"
