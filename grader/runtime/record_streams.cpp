// Streams and events of a launcher that is recorded: there is one stream, and work on another is refused.
#include "runtime.hpp"

using grader::Runtime;

namespace {

// Streams and events of the launcher's own are handles that mean nothing: work on another stream is refused anyway.
template <typename Handle>
cudaError_t make_handle(const char* function, Handle* handle) {
    Runtime& runtime = Runtime::get();
    if (!runtime.started()) return runtime.finish(cudaErrorNoDevice);
    if (!handle) return runtime.fail(function, cudaErrorInvalidValue);
    static std::uintptr_t next = 0x1000;
    *handle = reinterpret_cast<Handle>(next += 0x10);
    return cudaSuccess;
}

}  // namespace

extern "C" {

cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status) {
    Runtime& runtime = Runtime::get();
    if (!runtime.started()) return runtime.finish(cudaErrorNoDevice);
    *status = runtime.backend().capture_status(stream);
    return cudaSuccess;
}

cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream, cudaStreamCaptureStatus* status, unsigned long long* id,
                                     cudaGraph_t* graph, const cudaGraphNode_t** dependencies,
                                     const cudaGraphEdgeData** edges, std::size_t* count) {
    if (graph || dependencies || edges) {
        return Runtime::get().unsupported("cudaStreamGetCaptureInfo with the graph asked for");
    }
    if (id) *id = 1;
    if (count) *count = 0;
    return cudaStreamIsCapturing(stream, status);
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned, int) {
    return make_handle("cudaStreamCreateWithPriority", stream);
}
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
    return make_handle("cudaStreamCreateWithFlags", stream);
}
cudaError_t cudaStreamCreate(cudaStream_t* stream) {
    return make_handle("cudaStreamCreate", stream);
}
cudaError_t cudaStreamDestroy(cudaStream_t) {
    return cudaSuccess;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
    return make_handle("cudaEventCreateWithFlags", event);
}
cudaError_t cudaEventCreate(cudaEvent_t* event) {
    return make_handle("cudaEventCreate", event);
}
cudaError_t cudaEventDestroy(cudaEvent_t) {
    return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t, cudaStream_t stream) {
    return Runtime::get().enter("cudaEventRecord", stream);
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t, unsigned) {
    return Runtime::get().enter("cudaStreamWaitEvent", stream);
}

}  // extern "C"
