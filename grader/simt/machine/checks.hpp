// Checks: is what is read there, and is every conflicting pair of accesses ordered?
//
// Two accesses conflict when they touch the same bytes, come from different threads, at least one writes, and not both
// are atomic. They are ordered by the program (same thread), by a barrier of the block, by a synchronisation of the
// warp, or by the end of a launch. The verdict comes from that rule, never from the order in which lanes happened to
// run: see docs/software-gpu.md.
#pragma once

#include "launch.hpp"
#include "region.hpp"
#include "warp.hpp"

namespace simt {

enum class AccessKind : std::uint8_t { read, read_only, write, atomic };

// Most loads change nothing that is remembered: the bytes have values, nobody has written since the last barrier, and
// the readers noted already stand for this warp too. These two see that at a glance; the checks below do the rest. 32
// lanes, 4 bytes each:
bool is_settled_row(const Warp& warp, const Region& region, std::uint64_t offset);
// A word of shared memory that all lanes read. Where this warp is the first of them, that is noted.
bool settle_word(Warp& warp, Region& region, std::uint64_t offset, std::uint16_t site);

// A row: lanes first_lane, first_lane + 1, … touch adjacent pieces of `piece` bytes from `offset` on, `bytes` in all.
// Pages it lies in must be locked by the caller.
void check_row(Warp& warp, const Instruction& instruction, Region& region, std::uint64_t offset, std::uint32_t bytes,
               std::uint32_t piece, int first_lane, AccessKind kind, const std::byte* stored);

// One lane's piece of at most 16 bytes, naturally aligned. `several`: more lanes read the very same piece.
void check_piece(Warp& warp, const Instruction& instruction, Region& region, std::uint64_t offset, std::uint32_t bytes,
                 int lane, AccessKind kind, bool several, const std::byte* stored);

// Bytes of shared memory that an asynchronous copy of `lane` will write: until it has come, whoever touches them races
// with it. At most 16, naturally aligned. `stored` is what comes, as far as one knows: two that write the same are no
// race, since cooperative groups let idle threads copy what another one copies too.
void put_in_flight(Warp& warp, const Instruction& instruction, std::uint64_t offset, std::uint32_t bytes, int lane,
                   const std::byte* stored);
// The copy has come, and counts as a store now.
void land(Warp& warp, const Instruction& instruction, std::uint64_t offset, std::uint32_t bytes, int lane,
          const std::byte* stored);
// The source of a copy in flight is no longer what it was.
void report_overwritten(Warp& warp, const Instruction& instruction, Region& region, std::uint64_t offset, int lane);

namespace detail {

// The page, where it is one on which reading cannot be at fault; else null.
inline const Page* quiet_page(const Warp& warp, const Region& region, std::uint64_t offset, std::uint32_t bytes) {
    const Page* page = region.shadow.page_if_made(offset);
    const auto from = static_cast<std::uint32_t>(offset % kPageBytes);
    if (!page || page->shift != 2 || from + bytes > kPageBytes) return nullptr;
    const ThreadBlock& block = *warp.block;
    const Cell floor = region.space == Space::shared ? block.floor : block.launch->floor;
    return page->newest_writer < floor && page->all_valid(from, bytes) ? page : nullptr;
}

}  // namespace detail

inline bool is_settled_row(const Warp& warp, const Region& region, std::uint64_t offset) {
    const Page* page = detail::quiet_page(warp, region, offset, 4 * kLanes);
    if (!page) return false;
    const Cell many = region.space == Space::shared ? warp.block->many_stamp << kCellShift
                                                    : warp.block->launch->grid_stamp << kCellShift;
    if (many == 0) return false;  // no other warp has come yet
    const Cell* reader = &page->reader[offset % kPageBytes / 4];
    std::uint32_t other = 0;
    for (int k = 0; k < kLanes; ++k) other |= reader[k] ^ many;
    return other == 0;
}

inline bool settle_word(Warp& warp, Region& region, std::uint64_t offset, std::uint16_t site) {
    const Page* quiet = detail::quiet_page(warp, region, offset, 4);
    if (!quiet || warp.stamp == 0) return false;
    Page& page = region.shadow.page(offset);
    const std::uint64_t k = offset % kPageBytes / 4;
    const Cell all = (warp.stamp + 1) << kCellShift;
    Cell& reader = page.reader[k];
    const Cell many = warp.block->many_stamp << kCellShift;
    if (reader == all || (reader == many && many != 0)) return true;
    if (reader >= warp.block->floor) return false;
    reader = all;
    page.reader_site[k] = site;
    page.newest_reader = std::max(page.newest_reader, all);
    return true;
}

}  // namespace simt
