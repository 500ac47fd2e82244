#include "findings.hpp"

namespace simt {

const char* fault_name(Fault fault) {
    switch (fault) {
        case Fault::out_of_bounds_read:
            return "out_of_bounds_read";
        case Fault::out_of_bounds_write:
            return "out_of_bounds_write";
        case Fault::misaligned_access:
            return "misaligned_access";
        case Fault::uninitialised_read:
            return "uninitialised_read";
        case Fault::data_race:
            return "data_race";
        case Fault::read_only_violation:
            return "read_only_violation";
        case Fault::barrier_divergence:
            return "barrier_divergence";
        case Fault::deadlock:
            return "deadlock";
        case Fault::bad_sync_mask:
            return "bad_sync_mask";
        case Fault::endless_loop:
            return "endless_loop";
        case Fault::redundant_traffic:
            return "redundant_traffic";
        case Fault::device_trap:
            return "device_trap";
        case Fault::unsupported:
            return "unsupported";
    }
    return "unsupported";
}

namespace {
constexpr std::size_t kMostGroups = 256;
}

void FindingTable::add(Finding finding) {
    const Key key{finding.fault, finding.site, finding.other_site, finding.region};
    if (groups_.size() >= kMostGroups && !groups_.contains(key)) return;  // nobody reads that many
    const auto [place, fresh] = groups_.try_emplace(key, finding);
    Finding& group = place->second;
    if (!fresh && std::tie(finding.block, finding.thread) < std::tie(group.block, group.thread)) {
        finding.count = group.count;
        finding.blocks = group.blocks;
        finding.last_block = group.last_block;
        group = std::move(finding);
    }
    const std::uint64_t block = fresh ? group.block : finding.block;
    group.count += 1;
    if (group.last_block != block) {
        group.blocks += 1;
        group.last_block = block;
    }
}

void FindingTable::merge(const FindingTable& other) {
    for (const auto& [key, finding] : other.groups_) {
        const auto [place, fresh] = groups_.try_emplace(key, finding);
        if (fresh) continue;
        Finding& group = place->second;
        const std::uint64_t count = group.count + finding.count, blocks = group.blocks + finding.blocks;
        if (std::tie(finding.block, finding.thread) < std::tie(group.block, group.thread)) group = finding;
        group.count = count;
        group.blocks = blocks;
    }
}

}  // namespace simt
