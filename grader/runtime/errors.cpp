#include "errors.hpp"

#include "error_names.hpp"

namespace grader {

const char* error_name(cudaError_t error) {
    for (const ErrorName* entry = error_names; entry->name; ++entry) {
        if (entry->code == static_cast<int>(error)) return entry->name;
    }
    return "unrecognized error code";
}

// CUDA's own words for the errors that programs meet; for the rest the name says it.
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
        case cudaErrorInvalidPitchValue:
            return "invalid pitch argument";
        case cudaErrorInvalidDevicePointer:
            return "invalid device pointer";
        case cudaErrorInvalidResourceHandle:
            return "invalid resource handle";
        case cudaErrorUnsupportedLimit:
            return "limit is not supported on this architecture";
        case cudaErrorNotReady:
            return "device not ready";
        case cudaErrorIllegalAddress:
            return "an illegal memory access was encountered";
        case cudaErrorMisalignedAddress:
            return "misaligned address";
        case cudaErrorLaunchTimeout:
            return "the launch timed out and was terminated";
        case cudaErrorAssert:
            return "device-side assert triggered";
        case cudaErrorLaunchFailure:
            return "unspecified launch failure";
        case cudaErrorHostMemoryAlreadyRegistered:
            return "part or all of the requested memory range is already mapped";
        case cudaErrorHostMemoryNotRegistered:
            return "pointer does not correspond to a registered memory region";
        case cudaErrorNotPermitted:
            return "operation not permitted";
        case cudaErrorCapturedEvent:
            return "operation not permitted on an event last recorded in a capturing stream";
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
