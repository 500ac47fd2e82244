// Graphs that are put together node by node, and what there is to ask of a graph.
#include "graph_parameters.hpp"
#include "software.hpp"

using grader::ChildWork;
using grader::EventWork;
using grader::HostWork;
using grader::KernelWork;
using grader::Software;
using grader::What;
using grader::Why;

namespace {

cudaError_t add(const char* function, cudaGraphNode_t* node, cudaGraph_t handle, const cudaGraphNode_t* dependencies,
                std::size_t count, What what) {
    Software& software = Software::get();
    const std::shared_ptr<CUgraph_st> graph = software.graph(handle);
    Why why;
    if (!graph || !node) return software.fail(cudaErrorInvalidValue);
    if (const cudaError_t error = software.judge_work(what, &why)) return software.fail(error, why);
    const std::vector<cudaGraphNode_t> before(dependencies, dependencies + count);
    for (const cudaGraphNode_t other : before)
        if (!graph->holds(other)) return software.fail(cudaErrorInvalidValue);
    *node = graph->add({std::move(what), function, software.here()}, before);
    return cudaSuccess;
}

// Adds a node whose work `make` writes, or says why it cannot be.
template <typename Make>
cudaError_t add_made(const char* function, cudaGraphNode_t* node, cudaGraph_t graph,
                     const cudaGraphNode_t* dependencies, std::size_t count, Make&& make) {
    Software& software = Software::get();
    const Software::Lock lock = software.lock();
    if (const cudaError_t error = software.begin(function)) return error;
    What what;
    if (const cudaError_t error = make(&what)) return software.fail(error);
    return add(function, node, graph, dependencies, count, std::move(what));
}

// Other work in the place of a node's own, of the same kind.
template <typename Make>
cudaError_t set_made(const char* function, cudaGraphNode_t node, Make&& make) {
    Software& software = Software::get();
    const Software::Lock lock = software.lock();
    if (const cudaError_t error = software.begin(function)) return error;
    What what;
    if (const cudaError_t error = make(&what)) return software.fail(error);
    if (what.index() != node->work.what.index()) return software.fail(cudaErrorInvalidValue);
    node->work.what = std::move(what);
    return cudaSuccess;
}

// The part of CUDA's convention that all lists share: with no room given, how many there are.
cudaError_t list(const std::vector<cudaGraphNode_t>& nodes, cudaGraphNode_t* to, std::size_t* count) {
    if (to) {
        for (std::size_t i = 0; i < *count; ++i) to[i] = i < nodes.size() ? nodes[i] : nullptr;
        *count = std::min(*count, nodes.size());
    } else {
        *count = nodes.size();
    }
    return cudaSuccess;
}

// What `choose` takes of a graph's nodes.
template <typename Choose>
cudaError_t list_of(const char* function, cudaGraph_t handle, cudaGraphNode_t* to, std::size_t* count,
                    Choose&& choose) {
    Software& software = Software::get();
    const Software::Lock lock = software.lock();
    if (const cudaError_t error = software.begin(function)) return error;
    const std::shared_ptr<CUgraph_st> graph = software.graph(handle);
    if (!graph || !count) return software.fail(cudaErrorInvalidValue);
    std::vector<cudaGraphNode_t> chosen;
    for (const auto& node : graph->nodes)
        if (choose(*node)) chosen.push_back(node.get());
    return list(chosen, to, count);
}

}  // namespace

extern "C" {

cudaError_t cudaGraphCreate(cudaGraph_t* graph, unsigned) {
    Software& software = Software::get();
    const Software::Lock lock = software.lock();
    if (const cudaError_t error = software.begin("cudaGraphCreate")) return error;
    *graph = software.keep_graph(std::make_shared<CUgraph_st>());
    return cudaSuccess;
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
    Software& software = Software::get();
    const Software::Lock lock = software.lock();
    if (const cudaError_t error = software.begin("cudaGraphDestroy")) return error;
    if (!software.graph(graph)) return software.fail(cudaErrorInvalidValue);
    software.drop_graph(graph);
    return cudaSuccess;
}

cudaError_t cudaGraphClone(cudaGraph_t* clone, cudaGraph_t original) {
    Software& software = Software::get();
    const Software::Lock lock = software.lock();
    if (const cudaError_t error = software.begin("cudaGraphClone")) return error;
    const std::shared_ptr<CUgraph_st> graph = software.graph(original);
    if (!graph) return software.fail(cudaErrorInvalidValue);
    *clone = software.keep_graph(graph->copy());
    return cudaSuccess;
}

// ---- nodes ---------------------------------------------------------------------------------------------------------

cudaError_t cudaGraphAddKernelNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* before,
                                   std::size_t count, const cudaKernelNodeParams* parameters) {
    return add_made("cudaGraphAddKernelNode", node, graph, before, count,
                    [&](What* what) { return grader::kernel_from(*parameters, what); });
}
cudaError_t cudaGraphKernelNodeSetParams(cudaGraphNode_t node, const cudaKernelNodeParams* parameters) {
    return set_made("cudaGraphKernelNodeSetParams", node,
                    [&](What* what) { return grader::kernel_from(*parameters, what); });
}

cudaError_t cudaGraphKernelNodeGetParams(cudaGraphNode_t node, cudaKernelNodeParams* parameters) {
    Software& software = Software::get();
    const Software::Lock lock = software.lock();
    if (const cudaError_t error = software.begin("cudaGraphKernelNodeGetParams")) return error;
    auto* kernel = std::get_if<KernelWork>(&node->work.what);
    if (!kernel) return software.fail(cudaErrorInvalidValue);
    node->arguments.clear();
    for (const grader::Parameter& parameter : kernel->kernel->parameters)
        node->arguments.push_back(kernel->parameters.data() + parameter.offset);
    *parameters = {const_cast<grader::Kernel*>(kernel->kernel), kernel->grid,           kernel->block,
                   static_cast<unsigned>(kernel->shared),       node->arguments.data(), nullptr};
    return cudaSuccess;
}

cudaError_t cudaGraphAddMemcpyNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* before,
                                   std::size_t count, const cudaMemcpy3DParms* copy) {
    return add_made("cudaGraphAddMemcpyNode", node, graph, before, count,
                    [&](What* what) { return grader::copy_from(*copy, what); });
}
cudaError_t cudaGraphMemcpyNodeSetParams(cudaGraphNode_t node, const cudaMemcpy3DParms* copy) {
    return set_made("cudaGraphMemcpyNodeSetParams", node, [&](What* what) { return grader::copy_from(*copy, what); });
}

cudaError_t cudaGraphAddMemcpyNode1D(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* before,
                                     std::size_t count, void* to, const void* from, std::size_t bytes,
                                     cudaMemcpyKind kind) {
    return add_made("cudaGraphAddMemcpyNode1D", node, graph, before, count, [&](What* what) {
        *what = grader::line_copy(to, from, bytes, kind);
        return cudaSuccess;
    });
}
cudaError_t cudaGraphMemcpyNodeSetParams1D(cudaGraphNode_t node, void* to, const void* from, std::size_t bytes,
                                           cudaMemcpyKind kind) {
    return set_made("cudaGraphMemcpyNodeSetParams1D", node, [&](What* what) {
        *what = grader::line_copy(to, from, bytes, kind);
        return cudaSuccess;
    });
}

cudaError_t cudaGraphAddMemsetNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* before,
                                   std::size_t count, const cudaMemsetParams* fill) {
    return add_made("cudaGraphAddMemsetNode", node, graph, before, count,
                    [&](What* what) { return grader::fill_from(*fill, what); });
}
cudaError_t cudaGraphMemsetNodeSetParams(cudaGraphNode_t node, const cudaMemsetParams* fill) {
    return set_made("cudaGraphMemsetNodeSetParams", node, [&](What* what) { return grader::fill_from(*fill, what); });
}

cudaError_t cudaGraphAddHostNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* before,
                                 std::size_t count, const cudaHostNodeParams* host) {
    return add_made("cudaGraphAddHostNode", node, graph, before, count,
                    [&](What* what) { return grader::host_from(*host, what); });
}
cudaError_t cudaGraphHostNodeSetParams(cudaGraphNode_t node, const cudaHostNodeParams* host) {
    return set_made("cudaGraphHostNodeSetParams", node, [&](What* what) { return grader::host_from(*host, what); });
}

cudaError_t cudaGraphAddChildGraphNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* before,
                                       std::size_t count, cudaGraph_t child) {
    return add_made("cudaGraphAddChildGraphNode", node, graph, before, count, [&](What* what) {
        const std::shared_ptr<CUgraph_st> known = Software::get().graph(child);
        if (!known) return cudaErrorInvalidValue;
        *what = ChildWork{known->copy()};
        return cudaSuccess;
    });
}

cudaError_t cudaGraphAddEmptyNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* before,
                                  std::size_t count) {
    return add_made("cudaGraphAddEmptyNode", node, graph, before, count, [](What*) { return cudaSuccess; });
}

cudaError_t cudaGraphAddEventRecordNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* before,
                                        std::size_t count, cudaEvent_t event) {
    return add_made("cudaGraphAddEventRecordNode", node, graph, before, count, [&](What* what) {
        if (!Software::get().knows(event)) return cudaErrorInvalidValue;
        *what = EventWork{event};
        return cudaSuccess;
    });
}

// Memory of a graph is there from the moment its node is made, as long as the program: each launch finds it.
cudaError_t cudaGraphAddMemAllocNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* before,
                                     std::size_t count, cudaMemAllocNodeParams* memory) {
    return add_made("cudaGraphAddMemAllocNode", node, graph, before, count, [&](What*) {
        return Software::get().make(grader::MemoryKind::device, memory->bytesize, 0, &memory->dptr);
    });
}
cudaError_t cudaGraphAddMemFreeNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* before,
                                    std::size_t count, void* memory) {
    return add_made("cudaGraphAddMemFreeNode", node, graph, before, count,
                    [&](What*) { return Software::get().memory().find(memory) ? cudaSuccess : cudaErrorInvalidValue; });
}

// ---- edges ---------------------------------------------------------------------------------------------------------

cudaError_t cudaGraphAddDependencies(cudaGraph_t handle, const cudaGraphNode_t* from, const cudaGraphNode_t* to,
                                     const cudaGraphEdgeData*, std::size_t count) {
    Software& software = Software::get();
    const Software::Lock lock = software.lock();
    if (const cudaError_t error = software.begin("cudaGraphAddDependencies")) return error;
    const std::shared_ptr<CUgraph_st> graph = software.graph(handle);
    for (std::size_t i = 0; i < count; ++i)
        if (!graph || !graph->holds(from[i]) || !graph->holds(to[i])) return software.fail(cudaErrorInvalidValue);
    for (std::size_t i = 0; i < count; ++i) to[i]->dependencies.push_back(from[i]);
    return cudaSuccess;
}

cudaError_t cudaGraphRemoveDependencies(cudaGraph_t handle, const cudaGraphNode_t* from, const cudaGraphNode_t* to,
                                        const cudaGraphEdgeData*, std::size_t count) {
    Software& software = Software::get();
    const Software::Lock lock = software.lock();
    if (const cudaError_t error = software.begin("cudaGraphRemoveDependencies")) return error;
    const std::shared_ptr<CUgraph_st> graph = software.graph(handle);
    for (std::size_t i = 0; i < count; ++i)
        if (!graph || !graph->holds(to[i])) return software.fail(cudaErrorInvalidValue);
    for (std::size_t i = 0; i < count; ++i) std::erase(to[i]->dependencies, from[i]);
    return cudaSuccess;
}

cudaError_t cudaGraphDestroyNode(cudaGraphNode_t node) {
    Software& software = Software::get();
    const Software::Lock lock = software.lock();
    if (const cudaError_t error = software.begin("cudaGraphDestroyNode")) return error;
    CUgraph_st* graph = node->graph;
    for (const auto& other : graph->nodes) std::erase(other->dependencies, node);
    std::erase_if(graph->nodes, [node](const auto& own) { return own.get() == node; });
    return cudaSuccess;
}

cudaError_t cudaGraphNodeGetDependentNodes(cudaGraphNode_t node, cudaGraphNode_t* nodes, cudaGraphEdgeData*,
                                           std::size_t* count) {
    return list_of("cudaGraphNodeGetDependentNodes", node->graph, nodes, count, [node](const CUgraphNode_st& other) {
        return std::find(other.dependencies.begin(), other.dependencies.end(), node) != other.dependencies.end();
    });
}

cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, std::size_t* count) {
    return list_of("cudaGraphGetNodes", graph, nodes, count, [](const CUgraphNode_st&) { return true; });
}
cudaError_t cudaGraphGetRootNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, std::size_t* count) {
    return list_of("cudaGraphGetRootNodes", graph, nodes, count,
                   [](const CUgraphNode_st& node) { return node.dependencies.empty(); });
}

cudaError_t cudaGraphNodeGetDependencies(cudaGraphNode_t node, cudaGraphNode_t* nodes, cudaGraphEdgeData*,
                                         std::size_t* count) {
    const Software::Lock lock = Software::get().lock();
    if (const cudaError_t error = Software::get().begin("cudaGraphNodeGetDependencies")) return error;
    return list(node->dependencies, nodes, count);
}

cudaError_t cudaGraphNodeGetType(cudaGraphNode_t node, cudaGraphNodeType* type) {
    // In the order of Work.
    constexpr cudaGraphNodeType types[] = {
        cudaGraphNodeTypeEmpty, cudaGraphNodeTypeKernel,      cudaGraphNodeTypeMemcpy, cudaGraphNodeTypeMemset,
        cudaGraphNodeTypeHost,  cudaGraphNodeTypeEventRecord, cudaGraphNodeTypeGraph};
    const Software::Lock lock = Software::get().lock();
    if (const cudaError_t error = Software::get().begin("cudaGraphNodeGetType")) return error;
    *type = types[node->work.what.index()];
    return cudaSuccess;
}

}  // extern "C"
