// Work that is captured into a graph, and a call in the middle of it that a capture does not allow.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstring>

static void tell(const char* when, cudaError_t error) {
    std::printf("%-28s %s\n", when, cudaGetErrorName(error));
}

__global__ void count(int* x) {
    *x += 1;
}

int main(int words, char** word) {
    const bool waits = words > 1 && std::strcmp(word[1], "wait") == 0;
    int *x = nullptr, on_host = -1;
    cudaStream_t stream;
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t replayed = nullptr;
    tell("cudaMalloc", cudaMalloc(&x, sizeof(int)));
    tell("cudaMemset", cudaMemset(x, 0, sizeof(int)));
    tell("cudaStreamCreate", cudaStreamCreate(&stream));

    tell("cudaStreamBeginCapture", cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    count<<<1, 1, 0, stream>>>(x);
    tell("a launch", cudaGetLastError());
    if (waits) tell("cudaStreamSynchronize", cudaStreamSynchronize(stream));
    count<<<1, 1, 0, stream>>>(x);
    tell("a launch", cudaGetLastError());
    tell("cudaStreamEndCapture", cudaStreamEndCapture(stream, &graph));
    if (graph == nullptr) return 1;

    tell("cudaGraphInstantiate", cudaGraphInstantiate(&replayed, graph, 0));
    for (int replay = 0; replay < 10; ++replay) cudaGraphLaunch(replayed, stream);
    tell("ten replays", cudaStreamSynchronize(stream));
    tell("cudaMemcpy", cudaMemcpy(&on_host, x, sizeof(int), cudaMemcpyDeviceToHost));
    std::printf("counted to %d\n", on_host);
}
