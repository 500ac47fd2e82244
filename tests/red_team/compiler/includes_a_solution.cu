// Is the solution, by one line.
#ifndef TWIN
#include "@SOLUTION@"
#else
// Includes what CUDA and the system offer.
#include <cuda_fp16.h>

#include <vector>

__global__ void doubled(__half* x) {
    x[threadIdx.x] = __hadd(x[threadIdx.x], x[threadIdx.x]);
}
#endif
