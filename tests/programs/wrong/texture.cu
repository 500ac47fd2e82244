// A texture, which the software GPU does not have: the call is named.
//: unsupported
#include <cuda_runtime.h>

int main() {
    cudaResourceDesc resource{};
    cudaTextureDesc description{};
    cudaTextureObject_t texture = 0;
    const cudaError_t error = cudaCreateTextureObject(&texture, &resource, &description, nullptr);  //: here
    return error == cudaErrorNotSupported ? 0 : 2;
}
