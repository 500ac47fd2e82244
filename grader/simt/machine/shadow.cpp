#include "shadow.hpp"

#include <algorithm>

namespace simt {
namespace {

template <class T>
void spread(LineVector<T>& cells, int factor) {
    LineVector<T> finer(cells.size() * factor);
    for (std::size_t i = 0; i < finer.size(); ++i) finer[i] = cells[i / factor];
    cells = std::move(finer);
}

// Calls body(word, bits) for the words of a bitmap that the bits [from, from + count) lie in, until it returns false.
template <class Body>
bool over_words(std::uint32_t from, std::uint32_t count, Body&& body) {
    while (count > 0) {
        const std::uint32_t in_word = std::min(count, 64 - from % 64);
        const std::uint64_t bits = (in_word == 64 ? ~0ull : (1ull << in_word) - 1) << (from % 64);
        if (!body(from / 64, bits)) return false;
        from += in_word;
        count -= in_word;
    }
    return true;
}

}  // namespace

Page::Page()
    : writer(kPageBytes >> 2), reader(kPageBytes >> 2), writer_site(kPageBytes >> 2), reader_site(kPageBytes >> 2) {}

void Page::refine(int finer) {
    if (finer >= shift) return;
    const int factor = 1 << (shift - finer);
    spread(writer, factor);
    spread(reader, factor);
    spread(writer_site, factor);
    spread(reader_site, factor);
    shift = finer;
}

void Page::set_valid(std::uint32_t from, std::uint32_t count) {
    if (initialised) return;
    over_words(from, count, [this](std::uint32_t word, std::uint64_t bits) {
        valid[word] |= bits;
        return true;
    });
}

void Page::clear_valid(std::uint32_t from, std::uint32_t count) {
    over_words(from, count, [this](std::uint32_t word, std::uint64_t bits) {
        valid[word] &= ~bits;
        return true;
    });
}

Shadow::Shadow(std::uint64_t bytes, bool initialised, std::byte* memory)
    : pages_((bytes + kPageBytes - 1) / kPageBytes), bytes_(bytes), memory_(memory), initialised_(initialised) {}

Shadow::~Shadow() {
    for (auto& page : pages_) delete page.load();
}

Page& Shadow::page(std::uint64_t offset) {
    std::atomic<Page*>& place = pages_[offset / kPageBytes];
    if (Page* page = place.load(std::memory_order_acquire)) return *page;
    const std::lock_guard guard(making_);  // nobody may see the page before its values are there
    if (Page* page = place.load(std::memory_order_acquire)) return *page;
    auto made = std::make_unique<Page>();
    made->initialised = initialised_;
    const std::uint64_t start = offset / kPageBytes * kPageBytes;
    fill_.write(memory_ + start, start, std::min(kPageBytes, bytes_ - start));
    place.store(made.get(), std::memory_order_release);
    return *made.release();
}

void Shadow::fill_later(const Fill& fill) {
    fill_ = fill;
    initialised_ = fill.kind != FillKind::nothing;
}

void Shadow::mark_valid(std::uint64_t offset, std::uint64_t bytes) {
    if (initialised_) return;
    while (bytes > 0) {
        const std::uint64_t in_page = std::min(bytes, kPageBytes - offset % kPageBytes);
        page(offset).set_valid(static_cast<std::uint32_t>(offset % kPageBytes), static_cast<std::uint32_t>(in_page));
        offset += in_page;
        bytes -= in_page;
    }
}

void Shadow::forget_accesses() {
    for (auto& place : pages_)
        if (Page* page = place.load()) {
            std::fill(page->writer.begin(), page->writer.end(), 0);
            std::fill(page->reader.begin(), page->reader.end(), 0);
            page->newest_writer = page->newest_reader = 0;
        }
}

}  // namespace simt
