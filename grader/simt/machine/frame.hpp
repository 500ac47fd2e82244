// Frames: calls of functions, their parameters and results, and each lane's local memory.
#pragma once

#include "warp.hpp"

namespace simt {

// Addresses of functions, as pointers to them hold them.
inline constexpr std::uint64_t kFunctionBase = 0x0300'0000'0000'0000, kFunctionStride = 16;

inline constexpr std::uint64_t kMostLocalOfBlock = 128u << 20;  // bytes of local memory

// The kernel's own frame, for all lanes of a warp that starts.
Frame& first_frame(Warp& warp);

// `lanes` of the current frame call `callee` from `call_block` and will go on at `return_block`. Reports and throws
// Stopped where the stack would grow too large.
Frame& call(Warp& warp, const Instruction& instruction, const Function& callee, LaneMask lanes,
            std::uint32_t call_block, std::uint32_t return_block);

// `lanes` leave `frame` for its parent with their results; the frame goes when nobody is left in it.
void give_back(Warp& warp, Frame& frame, LaneMask lanes);

// The lanes leave altogether (exit), whatever frames they are in.
void forget_lanes(Warp& warp, Frame& frame, LaneMask lanes);

}  // namespace simt
