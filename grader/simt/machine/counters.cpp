#include "counters.hpp"

#include <algorithm>
#include <array>

namespace simt {
namespace {

// The most distinct 4-byte words in one bank, over the lanes of `group`.
std::uint64_t worst_bank(const std::uint64_t* address, LaneMask group, std::uint32_t bytes) {
    std::array<std::uint64_t, kLanes * 4> words{};
    std::size_t count = 0;
    for_each_lane(group, [&](int lane) {
        for (std::uint32_t at = 0; at < std::max(4u, bytes); at += 4) words[count++] = (address[lane] + at) / 4;
    });
    std::sort(words.begin(), words.begin() + count);
    std::array<std::uint32_t, 32> load{};
    std::uint64_t worst = 0;
    for (std::size_t i = 0; i < count; ++i) {
        if (i > 0 && words[i] == words[i - 1]) continue;
        worst = std::max<std::uint64_t>(worst, ++load[words[i] % 32]);
    }
    return worst;
}

std::uint64_t most_lanes_in_a_bank(const std::uint64_t* address, LaneMask lanes) {
    std::array<std::uint64_t, 32> load{};
    for_each_lane(lanes, [&](int lane) { load[address[lane] / 4 % 32] += 1; });
    return *std::max_element(load.begin(), load.end());
}

bool pairs_agree(const std::uint64_t* address, LaneMask lanes, int distance) {
    bool agree = true;
    for_each_lane(lanes, [&](int lane) {
        const int other = lane ^ distance;
        agree &= !(lanes >> other & 1) || address[other] == address[lane];
    });
    return agree;
}

}  // namespace

Cost row_sectors(std::uint64_t address, std::uint64_t total) {
    const std::uint64_t actual = (address + total - 1) / kSectorBytes - address / kSectorBytes + 1;
    return {actual, std::min(actual, (total + kSectorBytes - 1) / kSectorBytes)};
}

Cost global_sectors(const std::uint64_t* address, LaneMask lanes, std::uint32_t bytes) {
    std::array<std::uint64_t, kLanes> sectors{};
    std::size_t count = 0;
    for_each_lane(lanes, [&](int lane) { sectors[count++] = address[lane] / kSectorBytes; });
    std::sort(sectors.begin(), sectors.begin() + count);
    const auto distinct =
        static_cast<std::uint64_t>(std::unique(sectors.begin(), sectors.begin() + count) - sectors.begin());
    return {distinct, std::min<std::uint64_t>(distinct, (count * bytes + kSectorBytes - 1) / kSectorBytes)};
}

Cost shared_wavefronts(const std::uint64_t* address, LaneMask lanes, std::uint32_t bytes, Traffic traffic) {
    if (lanes == 0) return {0, 0};
    if (traffic == Traffic::atomic) return {most_lanes_in_a_bank(address, lanes), 1};
    if (bytes <= 4) return {worst_bank(address, lanes, bytes), 1};
    const bool merge = traffic == Traffic::load && (pairs_agree(address, lanes, 1) || pairs_agree(address, lanes, 2));
    const int width = bytes == 8 ? (merge ? 32 : 16) : (merge ? 16 : 8);
    Cost cost{0, 0};
    for (int first = 0; first < kLanes; first += width) {
        const LaneMask group = lanes & ((width == 32 ? ~0u : (1u << width) - 1) << first);
        if (group == 0) continue;
        cost.actual += worst_bank(address, group, bytes);
        cost.ideal += 1;
    }
    return cost;
}

}  // namespace simt
