// Memory pools: kept and told. All of them give the same memory, and keep none back.
#include <map>

#include "software.hpp"

using grader::MemoryKind;
using grader::Software;

struct CUmemPoolHandle_st {
    std::map<cudaMemPoolAttr, std::uint64_t> attributes;
};

namespace {

CUmemPoolHandle_st* default_pool() {
    static CUmemPoolHandle_st pool;
    Software::get().keep(&pool);
    return &pool;
}

CUmemPoolHandle_st*& chosen_pool() {
    static CUmemPoolHandle_st* chosen = default_pool();
    return chosen;
}

bool is_32_bits(cudaMemPoolAttr attribute) {
    return attribute <= cudaMemPoolReuseAllowInternalDependencies;
}

cudaError_t about(const char* function, cudaMemPool_t pool) {
    Software& software = Software::get();
    if (const cudaError_t error = software.begin(function)) return error;
    return software.knows(pool) ? cudaSuccess : software.fail(cudaErrorInvalidValue);
}

}  // namespace

extern "C" {

cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* pool, int device) {
    const Software::Lock lock = Software::get().lock();
    *pool = default_pool();
    return device == 0 ? Software::get().begin("cudaDeviceGetDefaultMemPool")
                       : Software::get().fail(cudaErrorInvalidDevice);
}
cudaError_t cudaDeviceGetMemPool(cudaMemPool_t* pool, int) {
    const Software::Lock lock = Software::get().lock();
    *pool = chosen_pool();
    return Software::get().begin("cudaDeviceGetMemPool");
}
cudaError_t cudaDeviceSetMemPool(int, cudaMemPool_t pool) {
    const Software::Lock lock = Software::get().lock();
    if (const cudaError_t error = about("cudaDeviceSetMemPool", pool)) return error;
    chosen_pool() = pool;
    return cudaSuccess;
}

cudaError_t cudaMemPoolCreate(cudaMemPool_t* pool, const cudaMemPoolProps*) {
    Software& software = Software::get();
    const Software::Lock lock = software.lock();
    if (const cudaError_t error = software.begin("cudaMemPoolCreate")) return error;
    *pool = new CUmemPoolHandle_st;
    software.keep(*pool);
    return cudaSuccess;
}
cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool) {
    Software& software = Software::get();
    const Software::Lock lock = software.lock();
    if (const cudaError_t error = about("cudaMemPoolDestroy", pool)) return error;
    if (pool == default_pool()) return software.fail(cudaErrorInvalidValue);
    if (chosen_pool() == pool) chosen_pool() = default_pool();
    software.forget(pool);
    delete pool;
    return cudaSuccess;
}

cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value) {
    const Software::Lock lock = Software::get().lock();
    if (const cudaError_t error = about("cudaMemPoolSetAttribute", pool)) return error;
    pool->attributes[attribute] =
        is_32_bits(attribute) ? *static_cast<std::uint32_t*>(value) : *static_cast<std::uint64_t*>(value);
    return cudaSuccess;
}
cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value) {
    const Software::Lock lock = Software::get().lock();
    if (const cudaError_t error = about("cudaMemPoolGetAttribute", pool)) return error;
    const std::uint64_t known = pool->attributes[attribute];
    if (is_32_bits(attribute))
        *static_cast<std::uint32_t*>(value) = static_cast<std::uint32_t>(known);
    else
        *static_cast<std::uint64_t*>(value) = known;
    return cudaSuccess;
}
cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, std::size_t) {
    const Software::Lock lock = Software::get().lock();
    return about("cudaMemPoolTrimTo", pool);
}
cudaError_t cudaMemPoolSetAccess(cudaMemPool_t pool, const cudaMemAccessDesc*, std::size_t) {
    const Software::Lock lock = Software::get().lock();
    return about("cudaMemPoolSetAccess", pool);
}

cudaError_t cudaMallocFromPoolAsync(void** address, std::size_t bytes, cudaMemPool_t pool, cudaStream_t stream) {
    Software& software = Software::get();
    const Software::Lock lock = software.lock();
    if (const cudaError_t error = software.enter("cudaMallocFromPoolAsync", stream, nullptr)) return error;
    if (!software.knows(pool)) return software.fail(cudaErrorInvalidValue);
    return software.make(MemoryKind::device, bytes, 0, address);
}

}  // extern "C"
