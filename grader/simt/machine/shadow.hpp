// Shadow memory: which bytes hold a value, who wrote them last, who read them since.
//
// Kept by pages of 4 KiB that are made when first touched. A cell covers 4 bytes, 2 or 1 once something narrower has
// touched its page. Rows of cells are checked together: see Shadow::read_row and write_row.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "fill.hpp"
#include "lanes.hpp"
#include "stamps.hpp"

namespace simt {

inline constexpr std::uint64_t kPageBytes = 4096;

struct Page {
    std::atomic_flag busy;
    int shift = 2;                              // log2 of the bytes a cell covers
    bool initialised = false;                   // all of it
    std::uint64_t valid[kPageBytes / 64] = {};  // a bit a byte
    LineVector<Cell> writer, reader;
    Cell newest_writer = 0, newest_reader = 0;  // no cell of the page is larger
    std::uint32_t in_flight = 0;                // asynchronous copies to it that have not come
    LineVector<std::uint16_t> writer_site, reader_site;

    Page();
    void refine(int finer);
    bool all_valid(std::uint32_t from, std::uint32_t count) const {
        if (initialised) return true;
        const std::uint32_t word = from / 64, end = (from + count - 1) / 64;
        const std::uint64_t head = ~0ull << (from % 64), tail = ~0ull >> (63 - (from + count - 1) % 64);
        if (word == end) return (~valid[word] & head & tail) == 0;
        std::uint64_t missing = (~valid[word] & head) | (~valid[end] & tail);
        for (std::uint32_t at = word + 1; at < end; ++at) missing |= ~valid[at];
        return missing == 0;
    }
    void set_valid(std::uint32_t from, std::uint32_t count);
    void clear_valid(std::uint32_t from, std::uint32_t count);
};

class PageLock {
  public:
    PageLock(Page& page, bool needed) : page_(needed ? &page : nullptr) {
        for (int tries = 0; page_ && page_->busy.test_and_set(std::memory_order_acquire); ++tries)
            if (tries >= kMostTries) std::this_thread::yield();  // whoever holds it may have lost its core
    }
    ~PageLock() {
        if (page_) page_->busy.clear(std::memory_order_release);
    }
    PageLock(const PageLock&) = delete;
    PageLock& operator=(const PageLock&) = delete;

  private:
    static constexpr int kMostTries = 100;
    Page* page_;
};

// Shadow of one region. Pages are made on demand by several workers at once.
class Shadow {
  public:
    Shadow(std::uint64_t bytes, bool initialised, std::byte* memory);
    ~Shadow();
    Shadow(const Shadow&) = delete;
    Shadow& operator=(const Shadow&) = delete;

    Page& page(std::uint64_t offset);
    const Page* page_if_made(std::uint64_t offset) const {
        return pages_[offset / kPageBytes].load(std::memory_order_acquire);
    }
    void mark_valid(std::uint64_t offset, std::uint64_t bytes);
    bool initialised() const { return initialised_; }
    // Pages that are touched from now on hold these values; those that were touched keep theirs.
    void fill_later(const Fill& fill);
    std::uint64_t page_count() const { return pages_.size(); }
    void forget_accesses();  // before stamps start again from the beginning

  private:
    std::vector<std::atomic<Page*>> pages_;
    std::uint64_t bytes_;
    std::byte* memory_;  // what it is the shadow of
    bool initialised_;
    Fill fill_;
    std::mutex making_;
};

}  // namespace simt
