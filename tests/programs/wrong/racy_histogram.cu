// A histogram whose counters are read, raised and written back without an atomic.
//: data_race
#include <cuda_runtime.h>

#include <vector>

__global__ void histogram(const unsigned char* in, unsigned* counts, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) counts[in[i] % 16] += 1;  //: here
}

int main() {
    const int n = 1000;
    std::vector<unsigned char> in(n);
    for (int i = 0; i < n; ++i) in[i] = static_cast<unsigned char>(i * 7);
    unsigned char* d_in = nullptr;
    unsigned* d_counts = nullptr;
    if (cudaMalloc(&d_in, n) != cudaSuccess || cudaMalloc(&d_counts, 16 * sizeof(unsigned)) != cudaSuccess) return 2;
    if (cudaMemcpy(d_in, in.data(), n, cudaMemcpyHostToDevice) != cudaSuccess) return 2;
    if (cudaMemset(d_counts, 0, 16 * sizeof(unsigned)) != cudaSuccess) return 2;
    histogram<<<(n + 127) / 128, 128>>>(d_in, d_counts, n);
    return cudaDeviceSynchronize() == cudaSuccess ? 0 : 2;
}
