// Special registers: %tid, %ctaid and the rest that a warp knows when it starts.
#pragma once

#include <string>

#include "program.hpp"

namespace simt {

struct Warp;
struct Frame;

enum class SpecialRegister : std::uint8_t {
    unknown,
    tid_x,
    tid_y,
    tid_z,
    ntid_x,
    ntid_y,
    ntid_z,
    ctaid_x,
    ctaid_y,
    ctaid_z,
    nctaid_x,
    nctaid_y,
    nctaid_z,
    laneid,
    warpid,
    nwarpid,
    lanemask_eq,
    lanemask_lt,
    lanemask_le,
    lanemask_gt,
    lanemask_ge,
    total_smem_size,
    dynamic_smem_size,
    warp_size,
    dynamic_shared,
    zero,
    envreg1,
    envreg2,
};

SpecialRegister find_special(const std::string& name);
// Those that the function reads, in its frame's registers.
void fill_specials(Warp& warp, Frame& frame);

}  // namespace simt
