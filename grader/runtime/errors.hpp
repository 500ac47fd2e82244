// Names and sentences of cudaError_t.
#pragma once

#include <cuda_runtime_api.h>

namespace grader {

const char* error_name(cudaError_t error);
const char* error_sentence(cudaError_t error);

}  // namespace grader
