#include "errors.hpp"

#include "error_names.hpp"

namespace grader {

const char* error_name(cudaError_t error) {
    for (const ErrorName* entry = error_names; entry->name; ++entry) {
        if (entry->code == static_cast<int>(error)) return entry->name;
    }
    return "unrecognized error code";
}

// CUDA's own words for the errors that a launcher meets; for the rest the name says it.
const char* error_sentence(cudaError_t error) {
    switch (error) {
        case cudaSuccess:
            return "no error";
        case cudaErrorInvalidValue:
            return "invalid argument";
        case cudaErrorMemoryAllocation:
            return "out of memory";
        case cudaErrorInvalidConfiguration:
            return "invalid configuration argument";
        case cudaErrorInvalidSymbol:
            return "invalid device symbol";
        case cudaErrorInvalidMemcpyDirection:
            return "invalid copy direction for memcpy";
        case cudaErrorMissingConfiguration:
            return "__global__ function call is not configured";
        case cudaErrorInvalidDeviceFunction:
            return "invalid device function";
        case cudaErrorNoDevice:
            return "no CUDA-capable device is detected";
        case cudaErrorInvalidDevice:
            return "invalid device ordinal";
        case cudaErrorLaunchOutOfResources:
            return "too many resources requested for launch";
        case cudaErrorCooperativeLaunchTooLarge:
            return "too many blocks in cooperative launch";
        case cudaErrorNotSupported:
            return "operation not supported";
        case cudaErrorStreamCaptureUnsupported:
            return "operation not permitted when stream is capturing";
        case cudaErrorStreamCaptureInvalidated:
            return "operation failed due to a previous error during capture";
        case cudaErrorStreamCaptureImplicit:
            return "operation would make the legacy stream depend on a capturing blocking stream";
        default:
            return error_name(error);
    }
}

}  // namespace grader
