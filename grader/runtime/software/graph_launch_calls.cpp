// Instantiated graphs: launched, updated, changed node by node.
#include "graph_parameters.hpp"
#include "software.hpp"

using grader::ChildWork;
using grader::Software;
using grader::What;

namespace {

cudaError_t instantiate(const char* function, cudaGraphExec_t* executable, cudaGraph_t handle,
                        unsigned long long flags) {
    Software& software = Software::get();
    const Software::Lock lock = software.lock();
    if (const cudaError_t error = software.begin(function)) return error;
    const std::shared_ptr<CUgraph_st> graph = software.graph(handle);
    if (!graph || !executable) return software.fail(cudaErrorInvalidValue);
    auto made = std::make_unique<CUgraphExec_st>();
    made->flags = flags;
    if (!made->instantiate(*graph)) return software.fail(cudaErrorInvalidValue);
    *executable = made.release();
    software.keep(*executable);
    return cudaSuccess;
}

template <typename Make>
cudaError_t set_step(const char* function, cudaGraphExec_t executable, cudaGraphNode_t node, Make&& make) {
    Software& software = Software::get();
    const Software::Lock lock = software.lock();
    if (const cudaError_t error = software.begin(function)) return error;
    CUgraphExec_st::Step* step = software.knows(executable) ? executable->step(node) : nullptr;
    What what;
    if (!step) return software.fail(cudaErrorInvalidValue);
    if (const cudaError_t error = make(&what)) return software.fail(error);
    if (what.index() != step->work.what.index()) return software.fail(cudaErrorInvalidValue);
    step->work.what = std::move(what);
    return cudaSuccess;
}

// May the steps of `other` stand where those of `own` do?
cudaGraphExecUpdateResult compare(const CUgraphExec_st& own, const CUgraphExec_st& other, cudaGraphNode_t* node) {
    if (own.steps.size() != other.steps.size()) return cudaGraphExecUpdateErrorTopologyChanged;
    for (std::size_t i = 0; i < own.steps.size(); ++i) {
        *node = other.steps[i].node;
        if (own.steps[i].dependencies != other.steps[i].dependencies) return cudaGraphExecUpdateErrorTopologyChanged;
        if (own.steps[i].work.what.index() != other.steps[i].work.what.index())
            return cudaGraphExecUpdateErrorNodeTypeChanged;
    }
    *node = nullptr;
    return cudaGraphExecUpdateSuccess;
}

}  // namespace

extern "C" {

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* executable, cudaGraph_t graph, unsigned long long flags) {
    return instantiate("cudaGraphInstantiate", executable, graph, flags);
}
cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t* executable, cudaGraph_t graph, unsigned long long flags) {
    return instantiate("cudaGraphInstantiateWithFlags", executable, graph, flags);
}
cudaError_t cudaGraphInstantiateWithParams(cudaGraphExec_t* executable, cudaGraph_t graph,
                                           cudaGraphInstantiateParams* parameters) {
    const cudaError_t error = instantiate("cudaGraphInstantiateWithParams", executable, graph, parameters->flags);
    parameters->errNode_out = nullptr;
    parameters->result_out = error ? cudaGraphInstantiateError : cudaGraphInstantiateSuccess;
    return error;
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable) {
    Software& software = Software::get();
    const Software::Lock lock = software.lock();
    if (const cudaError_t error = software.begin("cudaGraphExecDestroy")) return error;
    if (!software.knows(executable)) return software.fail(cudaErrorInvalidValue);
    software.forget(executable);
    delete executable;
    return cudaSuccess;
}

cudaError_t cudaGraphExecGetFlags(cudaGraphExec_t executable, unsigned long long* flags) {
    *flags = executable->flags;
    return Software::get().begin("cudaGraphExecGetFlags");
}

cudaError_t cudaGraphUpload(cudaGraphExec_t, cudaStream_t stream) {
    return Software::get().enter("cudaGraphUpload", stream, nullptr);
}

// Into a stream that is being captured it goes as one node.
cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream) {
    Software& software = Software::get();
    const Software::Lock lock = software.lock();
    if (const cudaError_t error = software.enter("cudaGraphLaunch", stream, nullptr)) return error;
    if (!software.knows(executable)) return software.fail(cudaErrorInvalidValue);
    if (Software::current_stream()->capture) return software.submit(ChildWork{executable->graph()});
    return software.run(*executable);
}

cudaError_t cudaGraphExecUpdate(cudaGraphExec_t executable, cudaGraph_t handle,
                                cudaGraphExecUpdateResultInfo* information) {
    Software& software = Software::get();
    const Software::Lock lock = software.lock();
    if (const cudaError_t error = software.begin("cudaGraphExecUpdate")) return error;
    const std::shared_ptr<CUgraph_st> graph = software.graph(handle);
    CUgraphExec_st other;
    if (!graph || !software.knows(executable) || !other.instantiate(*graph))
        return software.fail(cudaErrorInvalidValue);
    cudaGraphNode_t node = nullptr;
    const cudaGraphExecUpdateResult result = compare(*executable, other, &node);
    if (information) *information = {result, node, nullptr};
    if (result != cudaGraphExecUpdateSuccess) return software.fail(cudaErrorGraphExecUpdateFailure);
    for (std::size_t i = 0; i < other.steps.size(); ++i) executable->steps[i].work = std::move(other.steps[i].work);
    return cudaSuccess;
}

cudaError_t cudaGraphExecKernelNodeSetParams(cudaGraphExec_t executable, cudaGraphNode_t node,
                                             const cudaKernelNodeParams* parameters) {
    return set_step("cudaGraphExecKernelNodeSetParams", executable, node,
                    [&](What* what) { return grader::kernel_from(*parameters, what); });
}
cudaError_t cudaGraphExecMemcpyNodeSetParams(cudaGraphExec_t executable, cudaGraphNode_t node,
                                             const cudaMemcpy3DParms* copy) {
    return set_step("cudaGraphExecMemcpyNodeSetParams", executable, node,
                    [&](What* what) { return grader::copy_from(*copy, what); });
}
cudaError_t cudaGraphExecMemcpyNodeSetParams1D(cudaGraphExec_t executable, cudaGraphNode_t node, void* to,
                                               const void* from, std::size_t bytes, cudaMemcpyKind kind) {
    return set_step("cudaGraphExecMemcpyNodeSetParams1D", executable, node, [&](What* what) {
        *what = grader::line_copy(to, from, bytes, kind);
        return cudaSuccess;
    });
}
cudaError_t cudaGraphExecMemsetNodeSetParams(cudaGraphExec_t executable, cudaGraphNode_t node,
                                             const cudaMemsetParams* fill) {
    return set_step("cudaGraphExecMemsetNodeSetParams", executable, node,
                    [&](What* what) { return grader::fill_from(*fill, what); });
}
cudaError_t cudaGraphExecHostNodeSetParams(cudaGraphExec_t executable, cudaGraphNode_t node,
                                           const cudaHostNodeParams* host) {
    return set_step("cudaGraphExecHostNodeSetParams", executable, node,
                    [&](What* what) { return grader::host_from(*host, what); });
}

cudaError_t cudaGraphNodeSetEnabled(cudaGraphExec_t executable, cudaGraphNode_t node, unsigned enabled) {
    Software& software = Software::get();
    const Software::Lock lock = software.lock();
    if (const cudaError_t error = software.begin("cudaGraphNodeSetEnabled")) return error;
    CUgraphExec_st::Step* step = software.knows(executable) ? executable->step(node) : nullptr;
    if (!step) return software.fail(cudaErrorInvalidValue);
    step->enabled = enabled != 0;
    return cudaSuccess;
}

}  // extern "C"
