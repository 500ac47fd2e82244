// Variables of the module, in constant and global memory, and matrices with a pitch: rows and slices are copied.
#include "check.h"

__constant__ float weights[5];
__device__ int counter;
__device__ float table[4] = {1.0f, 2.0f, 3.0f, 4.0f};

__global__ void filter(const float* in, float* out, std::size_t pitch, int width, int height) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
    if (x >= width || y >= height) return;
    const float* row = reinterpret_cast<const float*>(reinterpret_cast<const char*>(in) + y * pitch);
    float sum = 0.0f;
    for (int k = -2; k <= 2; ++k) {
        const int at = min(max(x + k, 0), width - 1);
        sum += weights[k + 2] * row[at];
    }
    out[y * width + x] = sum * table[y % 4];
    atomicAdd(&counter, 1);
}

int main() {
    constexpr int width = 37, height = 6;
    const std::vector<float> in = noise(width * height, 40);
    const float host_weights[5] = {1.0f, -2.0f, 3.0f, -2.0f, 1.0f};
    CHECK(cudaMemcpyToSymbol(weights, host_weights, sizeof host_weights));
    const int zero = 0;
    CHECK(cudaMemcpyToSymbol(counter, &zero, sizeof zero));
    const float last = 10.0f;
    CHECK(cudaMemcpyToSymbol(table, &last, sizeof last, 3 * sizeof(float)));
    std::size_t size = 0;
    CHECK(cudaGetSymbolSize(&size, weights));
    expect(size == sizeof host_weights, "the size of a variable");

    float *d_in = nullptr, *d_out = nullptr;
    std::size_t pitch = 0;
    CHECK(cudaMallocPitch(&d_in, &pitch, width * sizeof(float), height));
    expect(pitch >= width * sizeof(float), "a pitch");
    CHECK(cudaMalloc(&d_out, in.size() * sizeof(float)));
    CHECK(cudaMemcpy2D(d_in, pitch, in.data(), width * sizeof(float), width * sizeof(float), height,
                       cudaMemcpyHostToDevice));
    filter<<<dim3((width + 31) / 32, height), 32>>>(d_in, d_out, pitch, width, height);
    CHECK(cudaGetLastError());
    const std::vector<float> out = on_host(d_out, in.size());
    const float factors[4] = {1.0f, 2.0f, 3.0f, 10.0f};
    for (int y = 0; y < height; ++y)
        for (int x = 0; x < width; ++x) {
            float sum = 0.0f;
            for (int k = -2; k <= 2; ++k)
                sum += host_weights[k + 2] * in[y * width + std::min(std::max(x + k, 0), width - 1)];
            expect(std::fabs(out[y * width + x] - sum * factors[y % 4]) < 1e-5f, "a filtered value");
        }
    int counted = 0;
    CHECK(cudaMemcpyFromSymbol(&counted, counter, sizeof counted));
    expect(counted == width * height, "a counter");
    float* address = nullptr;
    CHECK(cudaGetSymbolAddress(reinterpret_cast<void**>(&address), table));
    float read[4] = {};
    CHECK(cudaMemcpy(read, address, sizeof read, cudaMemcpyDeviceToHost));
    expect(read[0] == 1.0f && read[3] == 10.0f, "by the variable's address");

    // A box of 5 × 4 × 3 floats, filled and cut out of.
    cudaPitchedPtr box{};
    CHECK(cudaMalloc3D(&box, make_cudaExtent(5 * sizeof(float), 4, 3)));
    CHECK(cudaMemset3D(box, 0, make_cudaExtent(5 * sizeof(float), 4, 3)));
    std::vector<float> values(60, -1.0f), part(2 * 4 * 3);
    for (int i = 0; i < 60; ++i) values[i] = static_cast<float>(i);
    cudaMemcpy3DParms copy{};
    copy.srcPtr = make_cudaPitchedPtr(values.data(), 5 * sizeof(float), 5 * sizeof(float), 4);
    copy.dstPtr = box;
    copy.extent = make_cudaExtent(5 * sizeof(float), 4, 3);
    copy.kind = cudaMemcpyHostToDevice;
    CHECK(cudaMemcpy3D(&copy));
    copy = {};
    copy.srcPtr = box;
    copy.srcPos = make_cudaPos(3 * sizeof(float), 0, 0);
    copy.dstPtr = make_cudaPitchedPtr(part.data(), 2 * sizeof(float), 2 * sizeof(float), 4);
    copy.extent = make_cudaExtent(2 * sizeof(float), 4, 3);
    copy.kind = cudaMemcpyDeviceToHost;
    CHECK(cudaMemcpy3D(&copy));
    for (int i = 0; i < 24; ++i) expect(part[i] == static_cast<float>(i / 2 * 5 + 3 + i % 2), "a value of the box");

    CHECK(cudaFree(d_in));
    CHECK(cudaFree(d_out));
    CHECK(cudaFree(box.ptr));
    return verdict();
}
