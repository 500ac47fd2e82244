#include "specials.hpp"

#include <array>
#include <unordered_map>

#include "launch.hpp"
#include "warp.hpp"

namespace simt {
namespace {

using enum SpecialRegister;

std::uint32_t thread_coordinate(SpecialRegister which, std::uint32_t thread, const Dim3& size) {
    switch (which) {
        case tid_x:
            return thread % size.x;
        case tid_y:
            return thread / size.x % size.y;
        default:
            return thread / size.x / size.y;
    }
}

std::uint32_t lane_mask(SpecialRegister which, int lane) {
    const std::uint32_t at = 1u << lane, below = at - 1;
    switch (which) {
        case lanemask_eq:
            return at;
        case lanemask_lt:
            return below;
        case lanemask_le:
            return below | at;
        case lanemask_gt:
            return ~(below | at);
        default:
            return ~below;
    }
}

// The value that all lanes share.
std::uint32_t shared_value(SpecialRegister which, const Warp& warp) {
    const ThreadBlock& block = *warp.block;
    const Launch& launch = *block.launch;
    switch (which) {
        case ntid_x:
            return launch.block.x;
        case ntid_y:
            return launch.block.y;
        case ntid_z:
            return launch.block.z;
        case ctaid_x:
            return block.index.x;
        case ctaid_y:
            return block.index.y;
        case ctaid_z:
            return block.index.z;
        case nctaid_x:
            return launch.grid.x;
        case nctaid_y:
            return launch.grid.y;
        case nctaid_z:
            return launch.grid.z;
        case warpid:
            return warp.number;
        case nwarpid:
            return launch.warps_per_block;
        case total_smem_size:
            return launch.function->shared_bytes + launch.dynamic_shared;
        case dynamic_smem_size:
            return launch.dynamic_shared;
        case dynamic_shared:  // where it begins: behind the static variables
            return launch.function->shared.empty() ? 0 : launch.function->shared.back().offset;
        case warp_size:
            return kLanes;
        case envreg1:  // where the grid's workspace lies, upper and lower half: cooperative_groups.h asks for it
            return static_cast<std::uint32_t>(launch.grid_workspace >> 32);
        case envreg2:
            return static_cast<std::uint32_t>(launch.grid_workspace);
        default:
            return 0;
    }
}

void fill_special(const Warp& warp, Frame& frame, const Special& special) {
    std::array<std::uint32_t, kLanes> values;
    const Dim3& size = warp.block->launch->block;
    if (special.which >= tid_x && special.which <= tid_z) {
        const std::uint32_t first = warp.number * kLanes;
        for (int lane = 0; lane < kLanes; ++lane)
            values[lane] = thread_coordinate(special.which, first + static_cast<std::uint32_t>(lane), size);
    } else if (special.which == laneid) {
        for (int lane = 0; lane < kLanes; ++lane) values[lane] = static_cast<std::uint32_t>(lane);
    } else if (special.which >= lanemask_eq && special.which <= lanemask_ge) {
        for (int lane = 0; lane < kLanes; ++lane) values[lane] = lane_mask(special.which, lane);
    } else {
        values.fill(shared_value(special.which, warp));
    }
    std::memcpy(frame.registers.data() + std::size_t{special.slot} * 4 * kLanes, values.data(), sizeof values);
}

}  // namespace

SpecialRegister find_special(const std::string& name) {
    static const std::unordered_map<std::string, SpecialRegister> known = {
        {"tid.x", tid_x},
        {"tid.y", tid_y},
        {"tid.z", tid_z},
        {"ntid.x", ntid_x},
        {"ntid.y", ntid_y},
        {"ntid.z", ntid_z},
        {"ctaid.x", ctaid_x},
        {"ctaid.y", ctaid_y},
        {"ctaid.z", ctaid_z},
        {"nctaid.x", nctaid_x},
        {"nctaid.y", nctaid_y},
        {"nctaid.z", nctaid_z},
        {"laneid", laneid},
        {"warpid", warpid},
        {"nwarpid", nwarpid},
        {"lanemask_eq", lanemask_eq},
        {"lanemask_lt", lanemask_lt},
        {"lanemask_le", lanemask_le},
        {"lanemask_gt", lanemask_gt},
        {"lanemask_ge", lanemask_ge},
        {"total_smem_size", total_smem_size},
        {"dynamic_smem_size", dynamic_smem_size},
        {"WARP_SZ", warp_size},
        // One multiprocessor: what a kernel may read without any promise.
        {"smid", zero},
        {"nsmid", zero},
        {"envreg1", envreg1},
        {"envreg2", envreg2},
        {"dynamic_shared", dynamic_shared},
    };
    const auto found = known.find(name);
    return found == known.end() ? unknown : found->second;
}

void fill_specials(Warp& warp, Frame& frame) {
    for (const Special& special : frame.function->specials) fill_special(warp, frame, special);
}

}  // namespace simt
