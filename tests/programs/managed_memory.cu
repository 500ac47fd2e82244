// Memory that host and device share: from cudaMallocManaged, with hints where it is wanted; a variable of both; and
// memory of the host that the device reads where it lies.
#include "check.h"

__managed__ int calls = 0;
__managed__ float factors[3] = {1.0f, 2.0f, 3.0f};

__global__ void scale(float* values, int n, int which) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) values[i] *= factors[which];
    if (i == 0) calls += 1;
}

__global__ void sum(const float* values, float* total, int n) {
    float own = 0.0f;
    for (int i = threadIdx.x; i < n; i += blockDim.x) own += values[i];
    atomicAdd(total, own);
}

struct List {
    int value;
    List* next;
};

__global__ void walk(const List* list, int* total) {
    for (; list; list = list->next) *total += list->value;
}

int main() {
    const int n = 500;
    float* values = nullptr;
    CHECK(cudaMallocManaged(&values, n * sizeof(float)));
    for (int i = 0; i < n; ++i) values[i] = static_cast<float>(i);
    cudaMemLocation device{};
    device.type = cudaMemLocationTypeDevice;
    CHECK(cudaMemAdvise(values, n * sizeof(float), cudaMemAdviseSetPreferredLocation, device));
    CHECK(cudaMemPrefetchAsync(values, n * sizeof(float), device, 0, nullptr));
    scale<<<(n + 127) / 128, 128>>>(values, n, 1);
    CHECK(cudaDeviceSynchronize());
    expect(values[0] == 0.0f && values[n - 1] == 2.0f * (n - 1), "doubled by the device, read by the host");
    factors[1] = 0.5f;
    scale<<<(n + 127) / 128, 128>>>(values, n, 1);
    CHECK(cudaDeviceSynchronize());
    expect(values[n - 1] == n - 1, "the host's new factor");
    expect(calls == 2, "a variable of both");
    calls = 0;

    float *pinned = nullptr, *seen = nullptr, *total = nullptr;
    CHECK(cudaHostAlloc(&pinned, n * sizeof(float), cudaHostAllocMapped));
    CHECK(cudaHostGetDevicePointer(&seen, pinned, 0));
    CHECK(cudaMallocManaged(&total, sizeof(float)));
    for (int i = 0; i < n; ++i) pinned[i] = 1.0f;
    *total = 0.0f;
    sum<<<1, 64>>>(seen, total, n);
    CHECK(cudaDeviceSynchronize());
    expect(*total == n, "the host's memory, read by the device");

    std::vector<float> ordinary(n, 2.0f);
    CHECK(cudaHostRegister(ordinary.data(), n * sizeof(float), cudaHostRegisterMapped));
    sum<<<1, 64>>>(ordinary.data(), total, n);
    CHECK(cudaDeviceSynchronize());
    expect(*total == 3 * n, "registered memory");
    CHECK(cudaHostUnregister(ordinary.data()));

    List* nodes = nullptr;
    int* length = nullptr;
    CHECK(cudaMallocManaged(&nodes, 4 * sizeof(List)));
    CHECK(cudaMallocManaged(&length, sizeof(int)));
    for (int i = 0; i < 4; ++i) nodes[i] = {i + 1, i + 1 < 4 ? &nodes[i + 1] : nullptr};
    *length = 0;
    walk<<<1, 1>>>(nodes, length);
    CHECK(cudaDeviceSynchronize());
    expect(*length == 10, "a list by its pointers");

    cudaPointerAttributes about{};
    CHECK(cudaPointerGetAttributes(&about, values + 3));
    expect(about.type == cudaMemoryTypeManaged && about.devicePointer == about.hostPointer, "what a pointer is");
    CHECK(cudaFree(values));
    CHECK(cudaFree(total));
    CHECK(cudaFree(nodes));
    CHECK(cudaFree(length));
    CHECK(cudaFreeHost(pinned));
    return verdict();
}
