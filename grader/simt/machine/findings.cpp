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
    const std::uint64_t block = finding.block;
    const auto [place, fresh] = groups_.try_emplace(key, finding);
    Finding& group = place->second;
    if (!fresh) take_in(group, std::move(finding));
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
        group.count += finding.count;
        group.blocks += finding.blocks;
        take_in(group, finding);
    }
}

void FindingTable::take_in(Finding& group, Finding finding) {
    finding.between_warps |= group.between_warps;
    finding.one_place &= group.one_place && finding.address == group.address;
    finding.count = group.count;
    finding.blocks = group.blocks;
    finding.last_block = group.last_block;
    const bool first = std::tie(finding.block, finding.thread) < std::tie(group.block, group.thread);
    if (first) {
        group = std::move(finding);
    } else {
        group.between_warps = finding.between_warps;
        group.one_place = finding.one_place;
    }
}

}  // namespace simt
