// Trace: the memory accesses of one thread, in order, for whoever wants to tell its story.
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

}  // namespace simt
