// CUDA's structs for the nodes of a graph, as work. Each function answers what CUDA would.
#pragma once

#include "work.hpp"

namespace grader {

using What = decltype(Work::what);

cudaError_t kernel_from(const cudaKernelNodeParams& parameters, What* what);
cudaError_t copy_from(const cudaMemcpy3DParms& copy, What* what);
cudaError_t fill_from(const cudaMemsetParams& fill, What* what);
cudaError_t host_from(const cudaHostNodeParams& host, What* what);

}  // namespace grader
