// Stamps: who touched a piece of memory last, in 32 bits.
//
// A cell of shadow memory holds  stamp << 7 | block-wide << 6 | atomic << 5 | lane.  A stamp is one warp between two of
// its synchronisations; the table says which block, which warp and when. Stamps only grow, so "before the launch" or,
// in shared memory, "before the last barrier" is one comparison, and nothing has to be cleared between launches. Every
// warp stamp is followed by a twin that means "several lanes of that warp"; a block has one for "several warps". The
// largest stamps mean bytes that are in flight: nothing that happened is newer.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

namespace simt {

using Cell = std::uint32_t;
inline constexpr int kCellShift = 7;
inline constexpr Cell kCellAtomic = 1u << 5, kCellLane = 31;
inline constexpr Cell kCellBlockOnly = 1u << 6;       // atomic for its own block alone
inline constexpr Cell kFirstCell = 1u << kCellShift;  // below lies nobody
inline constexpr std::uint32_t kMostStamps = 1u << (32 - kCellShift);
inline constexpr std::uint32_t kNoOrder = 0xffffffffu;
inline constexpr std::uint32_t kMostWarps = 32;                                   // of a block
inline constexpr Cell kFirstInFlight = (kMostStamps - kMostWarps) << kCellShift;  // and the warp's number

enum class Reach : std::uint8_t { thread, warp, block, grid, in_flight };

struct Stamp {
    std::uint32_t block = 0;       // linear index in the grid
    std::uint32_t epoch = 0;       // barriers the block had passed
    std::uint32_t warp_epoch = 0;  // synchronisations the warp had passed
    std::uint16_t warp = 0;        // index in the block
    Reach reach = Reach::thread;
};

class StampTable {
  public:
    static constexpr std::uint32_t kChunk = 1024;  // a worker takes stamps by the chunk

    StampTable() : chunks_(kMostStamps / kChunk - 1) {}

    // First stamp of a fresh chunk that belongs to the caller alone; kNoOrder when all stamps are used.
    std::uint32_t take_chunk() {
        std::uint32_t chunk = next_.load(std::memory_order_relaxed);
        do {
            if (chunk >= chunks_.size()) return kNoOrder;
        } while (!next_.compare_exchange_weak(chunk, chunk + 1, std::memory_order_relaxed));
        chunks_[chunk] = std::make_unique<Stamp[]>(kChunk / 2);
        return chunk * kChunk;
    }
    // A stamp and its twin share one entry.
    void set(std::uint32_t stamp, const Stamp& value) { chunks_[stamp / kChunk][stamp % kChunk / 2] = value; }
    Stamp operator[](std::uint32_t stamp) const {
        Stamp found = chunks_[stamp / kChunk][stamp % kChunk / 2];
        if ((stamp & 1) != 0 && found.reach == Reach::thread) found.reach = Reach::warp;
        return found;
    }
    // Every stamp made from now on is at least this one.
    std::uint32_t frontier() const { return next_.load(std::memory_order_relaxed) * kChunk; }
    bool nearly_full() const { return frontier() > kMostStamps / 2; }
    void restart() {
        for (auto& chunk : chunks_) chunk.reset();
        next_ = 1;
    }

  private:
    std::vector<std::unique_ptr<Stamp[]>> chunks_;
    std::atomic<std::uint32_t> next_{1};  // chunk 0 stays unused: a cell of 0 means nobody
};

}  // namespace simt
