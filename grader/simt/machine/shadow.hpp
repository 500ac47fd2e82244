// Shadow memory: which bytes hold a value, who wrote them last, who read them since.
//
// Kept by pages of 4 KiB that are made when first touched. A cell covers 4 bytes, 2 or 1 once something narrower has
// touched its page. Rows of cells are checked together: see Shadow::read_row and write_row.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "stamps.hpp"

namespace simt {

inline constexpr std::uint64_t kPageBytes = 4096;

struct Page {
    std::atomic_flag busy;
    int shift = 2;                              // log2 of the bytes a cell covers
    bool initialised = false;                   // all of it
    std::uint64_t valid[kPageBytes / 64] = {};  // a bit a byte
    std::vector<Cell> writer, reader;
    std::vector<std::uint16_t> writer_site, reader_site;

    Page();
    void refine(int finer);
    bool all_valid(std::uint32_t from, std::uint32_t count) const;
    void set_valid(std::uint32_t from, std::uint32_t count);
    void clear_valid(std::uint32_t from, std::uint32_t count);
};

class PageLock {
  public:
    PageLock(Page& page, bool needed) : page_(needed ? &page : nullptr) {
        while (page_ && page_->busy.test_and_set(std::memory_order_acquire)) {
        }
    }
    ~PageLock() {
        if (page_) page_->busy.clear(std::memory_order_release);
    }
    PageLock(const PageLock&) = delete;
    PageLock& operator=(const PageLock&) = delete;

  private:
    Page* page_;
};

// Shadow of one region. Pages are made on demand by several workers at once.
class Shadow {
  public:
    Shadow(std::uint64_t bytes, bool initialised);
    ~Shadow();
    Shadow(const Shadow&) = delete;
    Shadow& operator=(const Shadow&) = delete;

    Page& page(std::uint64_t offset);
    const Page* page_if_made(std::uint64_t offset) const {
        return pages_[offset / kPageBytes].load(std::memory_order_acquire);
    }
    void mark_valid(std::uint64_t offset, std::uint64_t bytes);
    bool initialised() const { return initialised_; }
    void forget_accesses();  // before stamps start again from the beginning

  private:
    std::vector<std::atomic<Page*>> pages_;
    bool initialised_;
};

}  // namespace simt
