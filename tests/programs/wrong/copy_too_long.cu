// More is copied than the buffer holds.
//: ignored_error
#include <cuda_runtime.h>

#include <vector>

int main() {
    std::vector<double> values(100);
    double* d_values = nullptr;
    cudaMalloc(&d_values, 100 * sizeof(float));
    cudaMemcpy(d_values, values.data(),  //: here
               100 * sizeof(double), cudaMemcpyHostToDevice);
    cudaFree(d_values);
    return 0;
}
