// Work in pieces on several streams: copies from pinned memory, kernels, copies back, with events between streams, a
// function of the host at the end, and memory in stream order.
#include "check.h"

__global__ void square(const float* in, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = in[i] * in[i];
}

__global__ void add_all(const float* in, float* sum, int n) {
    float own = 0.0f;
    for (int i = threadIdx.x; i < n; i += blockDim.x) own += in[i];
    atomicAdd(sum, own);
}

void CUDART_CB count(void* data) {
    ++*static_cast<int*>(data);
}

int main() {
    constexpr int pieces = 3, piece = 400, n = pieces * piece;
    float *in = nullptr, *out = nullptr, *d_in = nullptr, *d_out = nullptr;
    CHECK(cudaMallocHost(&in, n * sizeof(float)));
    CHECK(cudaMallocHost(&out, n * sizeof(float)));
    CHECK(cudaMalloc(&d_in, n * sizeof(float)));
    CHECK(cudaMalloc(&d_out, n * sizeof(float)));
    for (int i = 0; i < n; ++i) in[i] = static_cast<float>(i % 50);

    int least = 0, greatest = 0, called = 0;
    CHECK(cudaDeviceGetStreamPriorityRange(&least, &greatest));
    expect(greatest < least, "priorities");
    cudaStream_t streams[pieces];
    cudaEvent_t done[pieces], start, end;
    for (int i = 0; i < pieces; ++i) {
        CHECK(cudaStreamCreateWithPriority(&streams[i], cudaStreamNonBlocking, i == 0 ? greatest : least));
        CHECK(cudaEventCreateWithFlags(&done[i], cudaEventDisableTiming));
    }
    CHECK(cudaEventCreate(&start));
    CHECK(cudaEventCreate(&end));
    CHECK(cudaEventRecord(start, streams[0]));
    for (int i = 0; i < pieces; ++i) {
        const int first = i * piece;
        CHECK(cudaMemcpyAsync(d_in + first, in + first, piece * sizeof(float), cudaMemcpyHostToDevice, streams[i]));
        square<<<(piece + 127) / 128, 128, 0, streams[i]>>>(d_in + first, d_out + first, piece);
        CHECK(cudaGetLastError());
        CHECK(cudaMemcpyAsync(out + first, d_out + first, piece * sizeof(float), cudaMemcpyDeviceToHost, streams[i]));
        CHECK(cudaEventRecord(done[i], streams[i]));
        CHECK(cudaLaunchHostFunc(streams[i], count, &called));
    }

    // The sum needs all pieces: its stream waits for the others.
    float *d_sum = nullptr, sum = 0.0f;
    CHECK(cudaMallocAsync(&d_sum, sizeof(float), streams[0]));
    CHECK(cudaMemsetAsync(d_sum, 0, sizeof(float), streams[0]));
    for (int i = 1; i < pieces; ++i) CHECK(cudaStreamWaitEvent(streams[0], done[i], 0));
    add_all<<<1, 128, 0, streams[0]>>>(d_out, d_sum, n);
    CHECK(cudaMemcpyAsync(&sum, d_sum, sizeof(float), cudaMemcpyDeviceToHost, streams[0]));
    CHECK(cudaFreeAsync(d_sum, streams[0]));
    CHECK(cudaEventRecord(end, streams[0]));
    CHECK(cudaEventSynchronize(end));
    for (cudaStream_t stream : streams) CHECK(cudaStreamSynchronize(stream));

    float wanted = 0.0f, milliseconds = -1.0f;
    for (int i = 0; i < n; ++i) {
        expect(out[i] == in[i] * in[i], "a square");
        wanted += in[i] * in[i];
    }
    expect(sum == wanted, "the sum of all pieces");
    expect(called == pieces, "functions of the host");
    CHECK(cudaEventElapsedTime(&milliseconds, start, end));
    expect(milliseconds >= 0.0f, "time goes forward");
    expect(cudaEventElapsedTime(&milliseconds, done[0], end) == cudaErrorInvalidResourceHandle, "no time was kept");
    expect(cudaGetLastError() == cudaErrorInvalidResourceHandle, "and that is the last error");
    expect(cudaStreamQuery(streams[0]) == cudaSuccess && cudaEventQuery(end) == cudaSuccess, "all is done");

    for (int i = 0; i < pieces; ++i) {
        CHECK(cudaStreamDestroy(streams[i]));
        CHECK(cudaEventDestroy(done[i]));
    }
    CHECK(cudaEventDestroy(start));
    CHECK(cudaEventDestroy(end));
    CHECK(cudaFreeHost(in));
    CHECK(cudaFreeHost(out));
    CHECK(cudaFree(d_in));
    CHECK(cudaFree(d_out));
    return verdict();
}
