// Streams, events, host functions, and waiting. Work is done as soon as it is put on a stream, so that nobody ever has
// to wait; what waiting means for errors and captures is kept.
#include "software.hpp"

using grader::Capture;
using grader::EventWork;
using grader::HostWork;
using grader::Runtime;
using grader::Software;

namespace {

constexpr int highest_priority = -5;

cudaError_t make_stream(const char* function, cudaStream_t* stream, unsigned flags, int priority) {
    Software& software = Software::get();
    const Software::Lock lock = software.lock();
    if (const cudaError_t error = software.begin(function)) return error;
    if (!stream || flags > cudaStreamNonBlocking) return software.fail(cudaErrorInvalidValue);
    *stream = software.make_stream(flags, std::min(0, std::max(highest_priority, priority)));
    return cudaSuccess;
}

// A question about a stream, answered by `body`.
template <typename Body>
cudaError_t about(const char* function, cudaStream_t handle, Body&& body) {
    Software& software = Software::get();
    const Software::Lock lock = software.lock();
    if (const cudaError_t error = software.begin(function)) return error;
    CUstream_st* stream = software.stream(handle);
    if (!stream) return software.fail(cudaErrorInvalidResourceHandle, {"no_stream"});
    body(*stream);
    return cudaSuccess;
}

cudaError_t wait_for(const char* function, cudaStream_t handle) {
    Software& software = Software::get();
    const Software::Lock lock = software.lock();
    CUstream_st* stream = software.stream(handle);
    if (stream && stream->capture) {
        stream->capture->invalidated = true;
        if (const cudaError_t error = software.begin(function)) return error;
        return software.fail(cudaErrorStreamCaptureUnsupported, {"capturing"});
    }
    if (const cudaError_t error = software.wait_for_device(function)) return error;
    return stream ? cudaSuccess : software.fail(cudaErrorInvalidResourceHandle, {"no_stream"});
}

cudaError_t make_event(const char* function, cudaEvent_t* event, unsigned flags) {
    Software& software = Software::get();
    const Software::Lock lock = software.lock();
    if (const cudaError_t error = software.begin(function)) return error;
    if (!event) return software.fail(cudaErrorInvalidValue);
    *event = new CUevent_st;
    (*event)->flags = flags;
    software.keep(*event);
    return cudaSuccess;
}

cudaError_t record(const char* function, cudaEvent_t event, cudaStream_t handle, unsigned flags) {
    Software& software = Software::get();
    const Software::Lock lock = software.lock();
    if (const cudaError_t error = software.enter(function, handle, nullptr)) return error;
    if (!software.knows(event)) return software.fail(cudaErrorInvalidResourceHandle, {"no_event"});
    CUstream_st* stream = Software::current_stream();
    if (!stream->capture || flags & cudaEventRecordExternal) return software.submit(EventWork{event});
    event->capture = stream->capture;
    event->last = stream->last;
    return cudaSuccess;
}

cudaError_t wait_for_event(const char* function, cudaEvent_t event) {
    Software& software = Software::get();
    const Software::Lock lock = software.lock();
    if (const cudaError_t error = software.wait_for_device(function)) return error;
    if (!software.knows(event)) return software.fail(cudaErrorInvalidResourceHandle, {"no_event"});
    return event->capture ? software.fail(cudaErrorCapturedEvent, {"capturing"}) : cudaSuccess;
}

// The work of other streams that a capturing one waits for becomes part of its capture, and the stream with it.
cudaError_t join(CUstream_st* stream, cudaEvent_t event) {
    Software& software = Software::get();
    if (!event->capture) {
        if (!stream->capture) return cudaSuccess;
        stream->capture->invalidated = true;
        return software.fail(cudaErrorStreamCaptureIsolation, {"capturing"});
    }
    if (stream->capture && stream->capture != event->capture) return software.fail(cudaErrorStreamCaptureMerge);
    if (stream->legacy) return software.fail(cudaErrorStreamCaptureImplicit, {"capturing"});
    stream->capture = event->capture;
    for (const cudaGraphNode_t node : event->last)
        if (std::find(stream->last.begin(), stream->last.end(), node) == stream->last.end())
            stream->last.push_back(node);
    return cudaSuccess;
}

}  // namespace

extern "C" {

cudaError_t cudaStreamCreate(cudaStream_t* stream) {
    return make_stream("cudaStreamCreate", stream, 0, 0);
}
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
    return make_stream("cudaStreamCreateWithFlags", stream, flags, 0);
}
cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int priority) {
    return make_stream("cudaStreamCreateWithPriority", stream, flags, priority);
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
    Software& software = Software::get();
    const Software::Lock lock = software.lock();
    if (const cudaError_t error = software.begin("cudaStreamDestroy")) return error;
    if (!stream || software.stream(stream) != stream) return software.fail(cudaErrorInvalidResourceHandle);
    software.remove_stream(stream);
    return cudaSuccess;
}

cudaError_t cudaStreamGetPriority(cudaStream_t stream, int* priority) {
    return about("cudaStreamGetPriority", stream, [&](const CUstream_st& known) { *priority = known.priority; });
}
cudaError_t cudaStreamGetFlags(cudaStream_t stream, unsigned* flags) {
    return about("cudaStreamGetFlags", stream, [&](const CUstream_st& known) { *flags = known.flags; });
}
cudaError_t cudaStreamGetId(cudaStream_t stream, unsigned long long* id) {
    return about("cudaStreamGetId", stream, [&](const CUstream_st& known) { *id = known.id; });
}
cudaError_t cudaStreamGetDevice(cudaStream_t stream, int* device) {
    return about("cudaStreamGetDevice", stream, [&](const CUstream_st&) { *device = 0; });
}
cudaError_t cudaStreamAttachMemAsync(cudaStream_t stream, void*, std::size_t, unsigned) {
    return about("cudaStreamAttachMemAsync", stream, [](const CUstream_st&) {});
}
// Attributes are hints: how a stream's accesses go through the caches.
cudaError_t cudaStreamSetAttribute(cudaStream_t stream, cudaStreamAttrID, const cudaStreamAttrValue*) {
    return about("cudaStreamSetAttribute", stream, [](const CUstream_st&) {});
}

cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
    if (least) *least = 0;
    if (greatest) *greatest = highest_priority;
    return Software::get().begin("cudaDeviceGetStreamPriorityRange");
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
    return wait_for("cudaStreamSynchronize", stream);
}
cudaError_t cudaStreamQuery(cudaStream_t stream) {
    return wait_for("cudaStreamQuery", stream);
}

cudaError_t cudaDeviceSynchronize(void) {
    Software& software = Software::get();
    const Software::Lock lock = software.lock();
    return software.begin_waiting("cudaDeviceSynchronize");
}

cudaError_t cudaStreamWaitEvent(cudaStream_t handle, cudaEvent_t event, unsigned) {
    Software& software = Software::get();
    const Software::Lock lock = software.lock();
    if (const cudaError_t error = software.enter("cudaStreamWaitEvent", handle, nullptr)) return error;
    if (!software.knows(event)) return software.fail(cudaErrorInvalidResourceHandle, {"no_event"});
    return join(Software::current_stream(), event);
}

cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* data) {
    Software& software = Software::get();
    const Software::Lock lock = software.lock();
    if (const cudaError_t error = software.enter("cudaLaunchHostFunc", stream, nullptr)) return error;
    if (!function) return software.fail(cudaErrorInvalidValue);
    return software.submit(HostWork{function, data});
}

cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t function, void* data, unsigned) {
    Software& software = Software::get();
    const Software::Lock lock = software.lock();
    if (const cudaError_t error = software.enter("cudaStreamAddCallback", stream, nullptr)) return error;
    if (Software::current_stream()->capture) {
        Software::current_stream()->capture->invalidated = true;
        return software.fail(cudaErrorStreamCaptureUnsupported, {"capturing"});
    }
    software.forbid_calls(true);
    function(stream, cudaSuccess, data);
    software.forbid_calls(false);
    return cudaSuccess;
}

// ---- events --------------------------------------------------------------------------------------------------------

cudaError_t cudaEventCreate(cudaEvent_t* event) {
    return make_event("cudaEventCreate", event, 0);
}
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
    return make_event("cudaEventCreateWithFlags", event, flags);
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
    Software& software = Software::get();
    const Software::Lock lock = software.lock();
    if (const cudaError_t error = software.begin("cudaEventDestroy")) return error;
    if (!software.knows(event)) return software.fail(cudaErrorInvalidResourceHandle, {"no_event"});
    software.forget(event);
    delete event;
    return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
    return record("cudaEventRecord", event, stream, 0);
}
cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned flags) {
    return record("cudaEventRecordWithFlags", event, stream, flags);
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
    return wait_for_event("cudaEventSynchronize", event);
}
cudaError_t cudaEventQuery(cudaEvent_t event) {
    return wait_for_event("cudaEventQuery", event);
}

// The time that the software GPU took by the host's clock: it says nothing about a GPU.
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end) {
    constexpr unsigned untimed = cudaEventDisableTiming;
    Software& software = Software::get();
    const Software::Lock lock = software.lock();
    if (const cudaError_t error = software.wait_for_device("cudaEventElapsedTime")) return error;
    for (const cudaEvent_t event : {start, end})
        if (!software.knows(event) || !event->recorded || event->flags & untimed)
            return software.fail(cudaErrorInvalidResourceHandle, {"not_recorded"});
    *milliseconds = std::chrono::duration<float, std::milli>(end->when - start->when).count();
    return cudaSuccess;
}

}  // extern "C"
