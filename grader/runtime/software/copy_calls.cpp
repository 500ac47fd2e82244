// Copies and fills: those that wait for their end, those of rows and slices, and those of the module's variables.
#include "software.hpp"

using grader::CopyWork;
using grader::FillWork;
using grader::Runtime;
using grader::Side;
using grader::Software;
using grader::Variable;

namespace {

std::byte* bytes_at(const void* pointer) {
    return static_cast<std::byte*>(const_cast<void*>(pointer));
}

// In the order of the default stream, and done when the function returns.
cudaError_t at_once(const char* function, decltype(grader::Work::what) what) {
    Software& software = Software::get();
    const Software::Lock lock = software.lock();
    if (const cudaError_t error = software.begin_waiting(function)) return error;
    if (const cudaError_t error = software.enter(function, cudaStreamLegacy, nullptr)) return error;
    return software.submit(std::move(what));
}

cudaError_t in_order(const char* function, cudaStream_t stream, decltype(grader::Work::what) what) {
    Software& software = Software::get();
    const Software::Lock lock = software.lock();
    if (const cudaError_t error = software.enter(function, stream, nullptr)) return error;
    return software.submit(std::move(what));
}

CopyWork rows(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch, std::size_t width,
              std::size_t height, cudaMemcpyKind kind) {
    return {{bytes_at(to), to_pitch, 0}, {bytes_at(from), from_pitch, 0}, width, height, 1, kind};
}

Side side(const cudaPitchedPtr& memory, const cudaPos& position) {
    const std::size_t slice = memory.pitch * memory.ysize;
    return {bytes_at(memory.ptr) + position.z * slice + position.y * memory.pitch + position.x, memory.pitch, slice};
}

FillWork slices(const cudaPitchedPtr& to, int value, const cudaExtent& extent) {
    return {side(to, {}), static_cast<unsigned>(value) & 0xff, 1, extent.width, extent.height, extent.depth};
}

FillWork lines(void* to, std::size_t pitch, int value, std::size_t width, std::size_t height) {
    return {{bytes_at(to), pitch, 0}, static_cast<unsigned>(value) & 0xff, 1, width, height, 1};
}

// The address of `bytes` bytes of a variable from `offset` on; 0 and the error that was noted where there are none.
std::uintptr_t place_in(const char* function, const void* symbol, std::size_t offset, std::size_t bytes,
                        cudaError_t* error) {
    Software& software = Software::get();
    *error = software.begin(function);
    if (*error != cudaSuccess) return 0;
    const Variable* variable = Runtime::get().variable(symbol);
    const std::uintptr_t address = variable ? software.address_of(*variable) : 0;
    if (!address) {
        *error = software.fail(cudaErrorInvalidSymbol);
        return 0;
    }
    if (offset > variable->size || bytes > variable->size - offset) {
        *error = software.fail(cudaErrorInvalidValue, {"past_symbol", nullptr, offset + bytes - variable->size});
        return 0;
    }
    return address + offset;
}

}  // namespace

CopyWork grader::slices_copy(const cudaMemcpy3DParms& copy) {
    return {side(copy.dstPtr, copy.dstPos),
            side(copy.srcPtr, copy.srcPos),
            copy.extent.width,
            copy.extent.height,
            copy.extent.depth,
            copy.kind};
}

extern "C" {

cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
    return at_once("cudaMemcpy", grader::line_copy(to, from, bytes, kind));
}

cudaError_t cudaMemcpy2D(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch, std::size_t width,
                         std::size_t height, cudaMemcpyKind kind) {
    return at_once("cudaMemcpy2D", rows(to, to_pitch, from, from_pitch, width, height, kind));
}

cudaError_t cudaMemcpy2DAsync(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch,
                              std::size_t width, std::size_t height, cudaMemcpyKind kind, cudaStream_t stream) {
    return in_order("cudaMemcpy2DAsync", stream, rows(to, to_pitch, from, from_pitch, width, height, kind));
}

cudaError_t cudaMemcpy3D(const cudaMemcpy3DParms* copy) {
    if (copy->srcArray || copy->dstArray) return Runtime::get().unsupported("cudaMemcpy3D with an array");
    return at_once("cudaMemcpy3D", grader::slices_copy(*copy));
}

cudaError_t cudaMemcpy3DAsync(const cudaMemcpy3DParms* copy, cudaStream_t stream) {
    if (copy->srcArray || copy->dstArray) return Runtime::get().unsupported("cudaMemcpy3DAsync with an array");
    return in_order("cudaMemcpy3DAsync", stream, grader::slices_copy(*copy));
}

cudaError_t cudaMemset(void* to, int value, std::size_t bytes) {
    return at_once("cudaMemset", lines(to, bytes, value, bytes, 1));
}

cudaError_t cudaMemset2D(void* to, std::size_t pitch, int value, std::size_t width, std::size_t height) {
    return at_once("cudaMemset2D", lines(to, pitch, value, width, height));
}

cudaError_t cudaMemset2DAsync(void* to, std::size_t pitch, int value, std::size_t width, std::size_t height,
                              cudaStream_t stream) {
    return in_order("cudaMemset2DAsync", stream, lines(to, pitch, value, width, height));
}

cudaError_t cudaMemset3D(cudaPitchedPtr to, int value, cudaExtent extent) {
    return at_once("cudaMemset3D", slices(to, value, extent));
}

cudaError_t cudaMemset3DAsync(cudaPitchedPtr to, int value, cudaExtent extent, cudaStream_t stream) {
    return in_order("cudaMemset3DAsync", stream, slices(to, value, extent));
}

cudaError_t cudaGetSymbolAddress(void** address, const void* symbol) {
    const Software::Lock lock = Software::get().lock();
    cudaError_t error;
    *address = reinterpret_cast<void*>(place_in("cudaGetSymbolAddress", symbol, 0, 0, &error));
    return error;
}

cudaError_t cudaMemcpyToSymbol(const void* symbol, const void* from, std::size_t bytes, std::size_t offset,
                               cudaMemcpyKind kind) {
    constexpr const char* function = "cudaMemcpyToSymbol";
    const Software::Lock lock = Software::get().lock();
    cudaError_t error;
    const std::uintptr_t address = place_in(function, symbol, offset, bytes, &error);
    return address ? at_once(function, grader::line_copy(reinterpret_cast<void*>(address), from, bytes, kind)) : error;
}

cudaError_t cudaMemcpyFromSymbol(void* to, const void* symbol, std::size_t bytes, std::size_t offset,
                                 cudaMemcpyKind kind) {
    constexpr const char* function = "cudaMemcpyFromSymbol";
    const Software::Lock lock = Software::get().lock();
    cudaError_t error;
    const std::uintptr_t address = place_in(function, symbol, offset, bytes, &error);
    return address ? at_once(function, grader::line_copy(to, reinterpret_cast<void*>(address), bytes, kind)) : error;
}

cudaError_t cudaMemcpyFromSymbolAsync(void* to, const void* symbol, std::size_t bytes, std::size_t offset,
                                      cudaMemcpyKind kind, cudaStream_t stream) {
    constexpr const char* function = "cudaMemcpyFromSymbolAsync";
    const Software::Lock lock = Software::get().lock();
    cudaError_t error;
    const std::uintptr_t address = place_in(function, symbol, offset, bytes, &error);
    if (!address) return error;
    return in_order(function, stream, grader::line_copy(to, reinterpret_cast<void*>(address), bytes, kind));
}

}  // extern "C"
