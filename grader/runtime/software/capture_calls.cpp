// Stream capture: work goes into a graph instead of being done.
#include "software.hpp"

using grader::Capture;
using grader::Runtime;
using grader::Software;

namespace {

// Does every way that the capture's other streams have gone lead back to the stream that it began on?
bool is_joined(const Capture& capture) {
    std::vector<cudaGraphNode_t> open = capture.origin->last;
    std::set<cudaGraphNode_t> reached(open.begin(), open.end());
    while (!open.empty()) {
        const cudaGraphNode_t node = open.back();
        open.pop_back();
        for (const cudaGraphNode_t before : node->dependencies)
            if (reached.insert(before).second) open.push_back(before);
    }
    for (const CUstream_st* stream : Software::get().streams_of(capture))
        for (const cudaGraphNode_t node : stream->last)
            if (!reached.count(node)) return false;
    return true;
}

cudaError_t end(const Capture& capture) {
    if (capture.invalidated) return cudaErrorStreamCaptureInvalidated;
    const bool bound = capture.mode != cudaStreamCaptureModeRelaxed;
    if (bound && capture.thread != std::this_thread::get_id()) return cudaErrorStreamCaptureWrongThread;
    return is_joined(capture) ? cudaSuccess : cudaErrorStreamCaptureUnjoined;
}

}  // namespace

extern "C" {

cudaError_t cudaStreamBeginCapture(cudaStream_t handle, cudaStreamCaptureMode mode) {
    Software& software = Software::get();
    const Software::Lock lock = software.lock();
    if (const cudaError_t error = software.begin("cudaStreamBeginCapture")) return error;
    CUstream_st* stream = software.stream(handle);
    if (!stream) return software.fail(cudaErrorInvalidResourceHandle, {"no_stream"});
    if (stream->legacy) return software.fail(cudaErrorStreamCaptureUnsupported);
    if (stream->capture) return software.fail(cudaErrorIllegalState);
    software.begin_capture(stream, mode, std::make_shared<CUgraph_st>());
    return cudaSuccess;
}

cudaError_t cudaStreamEndCapture(cudaStream_t handle, cudaGraph_t* graph) {
    Software& software = Software::get();
    const Software::Lock lock = software.lock();
    if (const cudaError_t error = software.begin("cudaStreamEndCapture")) return error;
    *graph = nullptr;
    CUstream_st* stream = software.stream(handle);
    if (!stream) return software.fail(cudaErrorInvalidResourceHandle, {"no_stream"});
    const std::shared_ptr<Capture> capture = stream->capture;
    if (!capture) return software.fail(cudaErrorIllegalState);
    if (capture->origin != stream) return software.fail(cudaErrorStreamCaptureUnmatched);
    const cudaError_t error = end(*capture);
    software.end_capture(*capture);
    if (error != cudaSuccess) return software.fail(error, {capture->invalidated ? "invalidated" : ""});
    *graph = software.keep_graph(capture->graph);
    return cudaSuccess;
}

cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status) {
    Software& software = Software::get();
    const Software::Lock lock = software.lock();
    if (const cudaError_t error = software.begin("cudaStreamIsCapturing")) return error;
    *status = software.capture_status(stream);
    return cudaSuccess;
}

cudaError_t cudaStreamGetCaptureInfo(cudaStream_t handle, cudaStreamCaptureStatus* status, unsigned long long* id,
                                     cudaGraph_t* graph, const cudaGraphNode_t** dependencies,
                                     const cudaGraphEdgeData** edges, std::size_t* count) {
    if (const cudaError_t error = cudaStreamIsCapturing(handle, status)) return error;
    if (*status == cudaStreamCaptureStatusNone) return cudaSuccess;
    const CUstream_st* stream = Software::get().stream(handle);
    if (id) *id = stream->capture->id;
    if (graph) *graph = stream->capture->graph.get();
    if (dependencies) *dependencies = stream->last.data();
    if (edges) *edges = nullptr;
    if (count) *count = stream->last.size();
    return cudaSuccess;
}

cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode) {
    if (const cudaError_t error = Software::get().begin("cudaThreadExchangeStreamCaptureMode")) return error;
    std::swap(*mode, Software::thread_mode());
    return cudaSuccess;
}

}  // extern "C"
