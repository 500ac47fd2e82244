// Work as a graph: captured from two streams that part and meet again, launched many times, updated; put together node
// by node; and what capture does not allow.
#include "check.h"

__global__ void fill(float* values, float value, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) values[i] = value;
}

__global__ void axpy(float* y, const float* x, float a, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] += a * x[i];
}

constexpr int n = 300, threads = 128, blocks = (n + threads - 1) / threads;

// x = 1 on one stream, y = `start` on another; then, where both have come, y += a * x.
cudaGraph_t captured(cudaStream_t stream, cudaStream_t other, float* x, float* y, float start, float a) {
    cudaEvent_t fork, join;
    cudaGraph_t graph = nullptr;
    CHECK(cudaEventCreateWithFlags(&fork, cudaEventDisableTiming));
    CHECK(cudaEventCreateWithFlags(&join, cudaEventDisableTiming));
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    CHECK(cudaEventRecord(fork, stream));
    CHECK(cudaStreamWaitEvent(other, fork, 0));
    fill<<<blocks, threads, 0, stream>>>(x, 1.0f, n);
    fill<<<blocks, threads, 0, other>>>(y, start, n);
    CHECK(cudaEventRecord(join, other));
    CHECK(cudaStreamWaitEvent(stream, join, 0));
    axpy<<<blocks, threads, 0, stream>>>(y, x, a, n);
    cudaStreamCaptureStatus status;
    CHECK(cudaStreamIsCapturing(other, &status));
    expect(status == cudaStreamCaptureStatusActive, "the other stream is part of the capture");
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaEventDestroy(fork));
    CHECK(cudaEventDestroy(join));
    return graph;
}

void by_capture(cudaStream_t stream, cudaStream_t other, float* x, float* y) {
    CHECK(cudaMemset(y, 0, n * sizeof(float)));
    cudaGraph_t graph = captured(stream, other, x, y, 5.0f, 2.0f);
    expect(on_host(y, 1)[0] == 0.0f, "nothing has run yet");
    std::size_t count = 0;
    CHECK(cudaGraphGetNodes(graph, nullptr, &count));
    expect(count == 3, "three nodes");
    CHECK(cudaGraphGetRootNodes(graph, nullptr, &count));
    expect(count == 2, "two of them depend on nothing");

    cudaGraphExec_t executable;
    CHECK(cudaGraphInstantiate(&executable, graph, 0));
    for (int i = 0; i < 3; ++i) CHECK(cudaGraphLaunch(executable, stream));
    CHECK(cudaStreamSynchronize(stream));
    expect(on_host(y, n) == std::vector<float>(n, 7.0f), "launched three times");

    cudaGraph_t changed = captured(stream, other, x, y, 1.0f, 9.0f);
    cudaGraphExecUpdateResultInfo result;
    CHECK(cudaGraphExecUpdate(executable, changed, &result));
    CHECK(cudaGraphLaunch(executable, stream));
    expect(on_host(y, n) == std::vector<float>(n, 10.0f), "updated");

    cudaGraph_t empty;
    CHECK(cudaGraphCreate(&empty, 0));
    expect(cudaGraphExecUpdate(executable, empty, &result) == cudaErrorGraphExecUpdateFailure, "another shape");
    expect(cudaGetLastError() == cudaErrorGraphExecUpdateFailure, "is an error");
    expect(result.result == cudaGraphExecUpdateErrorTopologyChanged, "and says why");
    CHECK(cudaGraphExecDestroy(executable));
    for (cudaGraph_t each : {graph, changed, empty}) CHECK(cudaGraphDestroy(each));
}

void CUDART_CB note(void* data) {
    *static_cast<int*>(data) += 1;
}

void by_nodes(cudaStream_t stream, float* x, float* y) {
    cudaGraph_t graph;
    cudaGraphNode_t set, first, second, back, told;
    CHECK(cudaGraphCreate(&graph, 0));
    cudaMemsetParams zeros{};
    zeros.dst = y;
    zeros.elementSize = sizeof(float);
    zeros.width = n;
    zeros.height = 1;
    CHECK(cudaGraphAddMemsetNode(&set, graph, nullptr, 0, &zeros));

    float value = 3.0f, factor = 4.0f, result[n];
    int count = n, notes = 0;
    void* of_fill[] = {&x, &value, &count};
    cudaKernelNodeParams kernel{};
    kernel.func = reinterpret_cast<void*>(fill);
    kernel.gridDim = blocks;
    kernel.blockDim = threads;
    kernel.kernelParams = of_fill;
    CHECK(cudaGraphAddKernelNode(&first, graph, nullptr, 0, &kernel));
    void* of_axpy[] = {&y, &x, &factor, &count};
    kernel.func = reinterpret_cast<void*>(axpy);
    kernel.kernelParams = of_axpy;
    const cudaGraphNode_t both[] = {set, first};
    CHECK(cudaGraphAddKernelNode(&second, graph, both, 2, &kernel));
    CHECK(cudaGraphAddMemcpyNode1D(&back, graph, &second, 1, result, y, sizeof result, cudaMemcpyDeviceToHost));
    const cudaHostNodeParams host{note, &notes};
    CHECK(cudaGraphAddHostNode(&told, graph, &back, 1, &host));

    cudaGraphExec_t executable;
    CHECK(cudaGraphInstantiate(&executable, graph, 0));
    value = factor = 0.0f;  // parameters were copied
    CHECK(cudaGraphLaunch(executable, stream));
    CHECK(cudaStreamSynchronize(stream));
    expect(result[0] == 12.0f && result[n - 1] == 12.0f && notes == 1, "node by node");
    factor = 5.0f;
    CHECK(cudaGraphExecKernelNodeSetParams(executable, second, &kernel));
    CHECK(cudaGraphLaunch(executable, stream));
    CHECK(cudaStreamSynchronize(stream));
    expect(result[n - 1] == 15.0f && notes == 2, "with another factor");

    cudaGraphNodeType type;
    CHECK(cudaGraphNodeGetType(back, &type));
    expect(type == cudaGraphNodeTypeMemcpy, "the type of a node");
    CHECK(cudaGraphExecDestroy(executable));
    CHECK(cudaGraphDestroy(graph));
}

// Scratch memory within a graph: each launch finds it.
void with_memory(cudaStream_t stream, float* y) {
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t executable;
    float* scratch = nullptr;
    CHECK(cudaMemset(y, 0, n * sizeof(float)));
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    CHECK(cudaMallocAsync(&scratch, n * sizeof(float), stream));
    fill<<<blocks, threads, 0, stream>>>(scratch, 6.0f, n);
    axpy<<<blocks, threads, 0, stream>>>(y, scratch, 0.5f, n);
    CHECK(cudaFreeAsync(scratch, stream));
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphInstantiate(&executable, graph, 0));
    CHECK(cudaGraphLaunch(executable, stream));
    CHECK(cudaGraphLaunch(executable, stream));
    CHECK(cudaStreamSynchronize(stream));
    expect(on_host(y, n) == std::vector<float>(n, 6.0f), "scratch memory, twice");
    CHECK(cudaGraphExecDestroy(executable));
    CHECK(cudaGraphDestroy(graph));
}

void what_is_not_allowed(cudaStream_t stream, cudaStream_t other, float* x) {
    cudaGraph_t graph = nullptr;
    void* memory = nullptr;
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    expect(cudaMalloc(&memory, 4) == cudaErrorStreamCaptureUnsupported, "cudaMalloc while capturing");
    expect(cudaStreamEndCapture(stream, &graph) == cudaErrorStreamCaptureInvalidated, "breaks the capture");
    expect(graph == nullptr, "of which nothing is left");

    cudaEvent_t fork;
    CHECK(cudaEventCreate(&fork));
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
    CHECK(cudaEventRecord(fork, stream));
    CHECK(cudaStreamWaitEvent(other, fork, 0));
    fill<<<blocks, threads, 0, other>>>(x, 0.0f, n);
    expect(cudaStreamEndCapture(stream, &graph) == cudaErrorStreamCaptureUnjoined, "a stream that never came back");
    expect(cudaGetLastError() == cudaErrorStreamCaptureUnjoined, "the last of these errors");
    expect(cudaStreamBeginCapture(cudaStreamLegacy, cudaStreamCaptureModeGlobal) == cudaErrorStreamCaptureUnsupported,
           "the legacy stream cannot be captured");
    expect(cudaGetLastError() == cudaErrorStreamCaptureUnsupported, "which is an error too");
    CHECK(cudaEventDestroy(fork));

    cudaStream_t blocking;
    CHECK(cudaStreamCreate(&blocking));
    CHECK(cudaStreamBeginCapture(blocking, cudaStreamCaptureModeRelaxed));
    fill<<<blocks, threads>>>(x, 0.0f, n);
    expect(cudaGetLastError() == cudaErrorStreamCaptureImplicit, "the legacy stream would wait for the captured one");
    expect(cudaStreamEndCapture(blocking, &graph) == cudaErrorStreamCaptureInvalidated, "whose capture is broken");
    expect(cudaGetLastError() == cudaErrorStreamCaptureInvalidated, "as its end says");
    CHECK(cudaStreamDestroy(blocking));
}

int main() {
    float *x = nullptr, *y = nullptr;
    CHECK(cudaMalloc(&x, n * sizeof(float)));
    CHECK(cudaMalloc(&y, n * sizeof(float)));
    cudaStream_t stream, other;
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
    by_capture(stream, other, x, y);
    by_nodes(stream, x, y);
    with_memory(stream, y);
    what_is_not_allowed(stream, other, x);
    CHECK(cudaStreamDestroy(stream));
    CHECK(cudaStreamDestroy(other));
    CHECK(cudaFree(x));
    CHECK(cudaFree(y));
    return verdict();
}
