// One launch in the place of many: all blocks wait for each other between two rounds. Values spread over a ring, each
// round from the one buffer to the other; at last the blocks add up what is there.
#include <cooperative_groups.h>

#include "check.h"

namespace groups = cooperative_groups;

__global__ void spread(float* from, float* to, float* total, int n, int rounds) {
    const groups::grid_group grid = groups::this_grid();
    const int first = static_cast<int>(grid.thread_rank()), step = static_cast<int>(grid.size());
    for (int round = 0; round < rounds; ++round) {
        for (int i = first; i < n; i += step)
            to[i] = 0.25f * from[(i + n - 1) % n] + 0.5f * from[i] + 0.25f * from[(i + 1) % n];
        grid.sync();
        float* const swapped = from;
        from = to;
        to = swapped;
    }
    float own = 0.0f;
    for (int i = first; i < n; i += step) own += from[i];
    atomicAdd(total, own);
}

int main() {
    const int n = 1000, rounds = 6, threads = 64;
    int cooperative = 0, resident = 0, multiprocessors = 0;
    CHECK(cudaDeviceGetAttribute(&cooperative, cudaDevAttrCooperativeLaunch, 0));
    expect(cooperative == 1, "the device can do it");
    CHECK(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, 0));
    CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, spread, threads, 0));

    std::vector<float> start(n);
    start[10] = 1024.0f;
    std::vector<double> wanted(start.begin(), start.end());
    for (int round = 0; round < rounds; ++round) {
        const std::vector<double> before = wanted;
        for (int i = 0; i < n; ++i)
            wanted[i] = 0.25 * before[(i + n - 1) % n] + 0.5 * before[i] + 0.25 * before[(i + 1) % n];
    }
    float *d_from = on_device(start), *d_to = nullptr, *d_total = nullptr;
    CHECK(cudaMalloc(&d_to, n * sizeof(float)));
    CHECK(cudaMalloc(&d_total, sizeof(float)));
    CHECK(cudaMemset(d_total, 0, sizeof(float)));
    int count = n, times = rounds;
    void* arguments[] = {&d_from, &d_to, &d_total, &count, &times};
    CHECK(cudaLaunchCooperativeKernel(reinterpret_cast<void*>(spread), 8, threads, arguments));
    CHECK(cudaDeviceSynchronize());
    expect(largest_difference(on_host(d_from, n), wanted) == 0.0, "values after six rounds");
    expect(on_host(d_total, 1)[0] == 1024.0f, "nothing is lost");
    expect(cudaLaunchCooperativeKernel(reinterpret_cast<void*>(spread), resident * multiprocessors + 1, threads,
                                       arguments) == cudaErrorCooperativeLaunchTooLarge,
           "more blocks than fit at once");
    expect(cudaGetLastError() == cudaErrorCooperativeLaunchTooLarge, "which is an error");
    for (float* memory : {d_from, d_to, d_total}) CHECK(cudaFree(memory));
    return verdict();
}
