// What CUDA's handles of streams, events and graphs point to.
#pragma once

#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "work.hpp"

struct CUgraphNode_st {
    CUgraph_st* graph;
    grader::Work work;
    std::vector<cudaGraphNode_t> dependencies;
    std::vector<void*> arguments{};  // where the parameters of a kernel lie, for who asks
};

struct CUgraph_st {
    std::vector<std::unique_ptr<CUgraphNode_st>> nodes;

    cudaGraphNode_t add(grader::Work work, std::vector<cudaGraphNode_t> dependencies);
    bool holds(cudaGraphNode_t node) const;
    // Each node behind those that it depends on; empty where they go round in a circle, or there are none.
    std::vector<cudaGraphNode_t> ordered() const;
    // The same nodes and edges once more, in the same order.
    std::shared_ptr<CUgraph_st> copy() const;
};

// A graph as it was when it was instantiated.
struct CUgraphExec_st {
    struct Step {
        cudaGraphNode_t node;  // of the graph that it came from: its name, never followed
        grader::Work work;
        std::vector<std::size_t> dependencies;  // steps before this one
        bool enabled = true;
    };
    std::vector<Step> steps;
    unsigned long long flags = 0;

    // False where the nodes go round in a circle.
    bool instantiate(const CUgraph_st& graph);
    // The graph that it would have been made of.
    std::shared_ptr<CUgraph_st> graph() const;
    Step* step(cudaGraphNode_t node);
};

namespace grader {

struct Capture {
    unsigned long long id;
    std::shared_ptr<CUgraph_st> graph;
    cudaStream_t origin;
    cudaStreamCaptureMode mode;
    std::thread::id thread;
    bool invalidated = false;
};

}  // namespace grader

struct CUstream_st {
    unsigned flags = 0;
    int priority = 0;
    unsigned long long id = 0;
    bool legacy = false;
    std::shared_ptr<grader::Capture> capture;
    std::vector<cudaGraphNode_t> last;  // of the capture: what the next work of this stream depends on
};

struct CUevent_st {
    unsigned flags = 0;
    bool recorded = false;
    std::chrono::steady_clock::time_point when;
    std::shared_ptr<grader::Capture> capture;  // in which it was recorded last
    std::vector<cudaGraphNode_t> last;
};
