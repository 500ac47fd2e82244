"""The cudaError_t that a launcher may meet, by number (driver_types.h of CUDA 13.0)."""

from __future__ import annotations

SUCCESS = 0
INVALID_VALUE = 1
LAUNCH_OUT_OF_RESOURCES = 701
COOPERATIVE_LAUNCH_TOO_LARGE = 720
STREAM_CAPTURE_UNSUPPORTED = 900
STREAM_CAPTURE_IMPLICIT = 906

_NAMES = {
    SUCCESS: "cudaSuccess",
    INVALID_VALUE: "cudaErrorInvalidValue",
    2: "cudaErrorMemoryAllocation",
    3: "cudaErrorInitializationError",
    9: "cudaErrorInvalidConfiguration",
    13: "cudaErrorInvalidSymbol",
    17: "cudaErrorInvalidDevicePointer",
    21: "cudaErrorInvalidMemcpyDirection",
    52: "cudaErrorMissingConfiguration",
    98: "cudaErrorInvalidDeviceFunction",
    100: "cudaErrorNoDevice",
    101: "cudaErrorInvalidDevice",
    200: "cudaErrorInvalidKernelImage",
    209: "cudaErrorNoKernelImageForDevice",
    400: "cudaErrorInvalidResourceHandle",
    600: "cudaErrorNotReady",
    700: "cudaErrorIllegalAddress",
    LAUNCH_OUT_OF_RESOURCES: "cudaErrorLaunchOutOfResources",
    719: "cudaErrorLaunchFailure",
    COOPERATIVE_LAUNCH_TOO_LARGE: "cudaErrorCooperativeLaunchTooLarge",
    800: "cudaErrorNotPermitted",
    801: "cudaErrorNotSupported",
    STREAM_CAPTURE_UNSUPPORTED: "cudaErrorStreamCaptureUnsupported",
    901: "cudaErrorStreamCaptureInvalidated",
    STREAM_CAPTURE_IMPLICIT: "cudaErrorStreamCaptureImplicit",
    999: "cudaErrorUnknown",
}

# All that cudaError_t has. What an entry returns may be any number; what our runtime answers is one of these.
CODES = frozenset(
    {
        *range(10), 12, 13, *range(16, 29), 31, 32, *range(34, 38), *range(43, 47), 49, 52, 53, *range(65, 70), 98,
        *range(100, 104), 127, 200, 201, *range(205, 227), *range(300, 305), 400, 401, 402, 500, 600, *range(700, 706),
        *range(708, 722), *range(800, 813), *range(900, 916), 999,
    }
)  # fmt: skip


def error_name(code: int) -> str:
    """CUDA's name of the code, or the code itself when it has none that a launcher should know."""
    return _NAMES.get(code, f"the error code {code}")
