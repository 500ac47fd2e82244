// Trace: the memory accesses of one thread, in order, for whoever wants to tell its story; or those of a whole block,
// warp by warp, with its barriers and shuffles, for whoever wants to draw it.
#pragma once

#include "access.hpp"

namespace simt {

// Notes an access of the watched thread when it is over (its values are in memory then).
class Watch {
  public:
    Watch(Warp& warp, const Instruction& instruction, const Access& access, Window window, std::uint32_t bytes,
          bool write)
        : on_(warp.watched & warp.mask) {
        if (on_) before(warp, instruction, access, window, bytes, write);
    }
    ~Watch() {
        if (on_) after();
    }
    Watch(const Watch&) = delete;
    Watch& operator=(const Watch&) = delete;

  private:
    void before(Warp& warp, const Instruction& instruction, const Access& access, Window window, std::uint32_t bytes,
                bool write);
    void after();

    bool on_;
    Warp* warp_ = nullptr;
    Target target_{};
    std::uint32_t bytes_ = 0;
    TraceEntry entry_{};
};

// What a warp of a block that is watched as a whole does; `window` is where the access leads. Costs are those of
// `count_access`.
void note_access(Warp& warp, const Instruction& instruction, const Access& access, std::uint32_t bytes, Window window,
                 Asked asked, Cost cost, Cost compiled_cost);
void note_shuffle(Warp& warp, const Instruction& instruction, const std::array<std::int8_t, kLanes>& sources);
void note_barrier(Warp& warp, const Block& block, LaneMask lanes);

}  // namespace simt
