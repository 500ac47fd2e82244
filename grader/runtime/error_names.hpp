// The one thing that generated code shares with ours. It includes no CUDA header: the stubs' prototypes would clash.
#pragma once

namespace grader {

struct ErrorName {
    int code;
    const char* name;
};

// From driver_types.h; ends with a null name.
extern const ErrorName error_names[];

}  // namespace grader
