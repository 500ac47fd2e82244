// Graphs as such: nodes, their order, and what is instantiated of them.
#include <algorithm>
#include <map>

#include "handles.hpp"

cudaGraphNode_t CUgraph_st::add(grader::Work work, std::vector<cudaGraphNode_t> dependencies) {
    nodes.push_back(std::make_unique<CUgraphNode_st>(CUgraphNode_st{this, std::move(work), std::move(dependencies)}));
    return nodes.back().get();
}

bool CUgraph_st::holds(cudaGraphNode_t node) const {
    return std::any_of(nodes.begin(), nodes.end(), [node](const auto& own) { return own.get() == node; });
}

std::vector<cudaGraphNode_t> CUgraph_st::ordered() const {
    std::vector<cudaGraphNode_t> order;
    std::map<cudaGraphNode_t, bool> placed;
    for (std::size_t before = nodes.size() + 1; order.size() < nodes.size() && before != order.size();) {
        before = order.size();
        for (const auto& node : nodes) {
            const auto ready = [&](cudaGraphNode_t other) { return placed[other]; };
            if (placed[node.get()] || !std::all_of(node->dependencies.begin(), node->dependencies.end(), ready))
                continue;
            placed[node.get()] = true;
            order.push_back(node.get());
        }
    }
    if (order.size() < nodes.size()) order.clear();
    return order;
}

std::shared_ptr<CUgraph_st> CUgraph_st::copy() const {
    auto twin = std::make_shared<CUgraph_st>();
    std::map<cudaGraphNode_t, cudaGraphNode_t> twins;
    for (const auto& node : nodes) twins[node.get()] = twin->add(node->work, {});
    for (const auto& node : nodes)
        for (const cudaGraphNode_t other : node->dependencies) twins[node.get()]->dependencies.push_back(twins[other]);
    return twin;
}

bool CUgraphExec_st::instantiate(const CUgraph_st& graph) {
    const std::vector<cudaGraphNode_t> order = graph.ordered();
    if (order.size() < graph.nodes.size()) return false;
    steps.clear();
    std::map<cudaGraphNode_t, std::size_t> place;
    for (const cudaGraphNode_t node : order) {
        Step step{node, node->work, {}};
        for (const cudaGraphNode_t other : node->dependencies) step.dependencies.push_back(place[other]);
        std::sort(step.dependencies.begin(), step.dependencies.end());
        place[node] = steps.size();
        steps.push_back(std::move(step));
    }
    return true;
}

std::shared_ptr<CUgraph_st> CUgraphExec_st::graph() const {
    auto made = std::make_shared<CUgraph_st>();
    for (const Step& step : steps) {
        std::vector<cudaGraphNode_t> dependencies;
        for (const std::size_t other : step.dependencies) dependencies.push_back(made->nodes[other].get());
        made->add(step.enabled ? step.work : grader::Work{grader::NoWork{}, step.work.function, step.work.place},
                  std::move(dependencies));
    }
    return made;
}

CUgraphExec_st::Step* CUgraphExec_st::step(cudaGraphNode_t node) {
    const auto found = std::find_if(steps.begin(), steps.end(), [node](const Step& own) { return own.node == node; });
    return found == steps.end() ? nullptr : &*found;
}
