#include "checks.hpp"

#include <algorithm>
#include <array>

#include "launch.hpp"

namespace simt {
namespace {

// What the cells of this warp look like right now, and what can be skipped without a look into the table.
struct Marks {
    Cell mine;        // | lane
    Cell warp_many;   // several lanes of this warp
    Cell block_many;  // several warps of this block; 0 where not made yet
    Cell grid_many;   // several blocks
    Cell floor;       // below: ordered before this access for certain
};

Marks marks_for(Warp& warp, const Region& region) {
    ThreadBlock& block = *warp.block;
    Launch& launch = *block.launch;
    if (warp.stamp == 0)
        warp.stamp = take_stamp(launch, *warp.worker,
                                {static_cast<std::uint32_t>(block.linear), block.epoch, warp.epoch,
                                 static_cast<std::uint16_t>(warp.number), Reach::thread});
    return {warp.stamp << kCellShift, (warp.stamp + 1) << kCellShift, block.many_stamp << kCellShift,
            launch.grid_stamp << kCellShift, region.space == Space::shared ? block.floor : launch.floor};
}

Cell block_many(Warp& warp, Marks& marks) {
    ThreadBlock& block = *warp.block;
    if (block.many_stamp == 0) {
        block.many_stamp = take_stamp(*block.launch, *warp.worker,
                                      {static_cast<std::uint32_t>(block.linear), block.epoch, 0, 0, Reach::block});
        marks.block_many = block.many_stamp << kCellShift;
    }
    return marks.block_many;
}

// The lane that touches the k-th cell of a row whose lanes take 1, 2 or 4 cells each.
template <int CellsPerLane>
constexpr std::array<Cell, kLanes * CellsPerLane> row_lanes() {
    std::array<Cell, kLanes * CellsPerLane> lanes{};
    for (std::size_t k = 0; k < lanes.size(); ++k) lanes[k] = static_cast<Cell>(k / CellsPerLane);
    return lanes;
}
constexpr auto kOneCell = row_lanes<1>();
constexpr auto kTwoCells = row_lanes<2>();
constexpr auto kFourCells = row_lanes<4>();

const Cell* lane_pattern(std::uint32_t cells_per_lane) {
    return cells_per_lane == 1 ? kOneCell.data() : cells_per_lane == 2 ? kTwoCells.data() : kFourCells.data();
}

class PieceCheck {
  public:
    PieceCheck(Warp& warp, const Instruction& instruction, Region& region, Page& page, std::uint64_t page_offset,
               AccessKind kind)
        : warp_(warp),
          instruction_(instruction),
          region_(region),
          page_(page),
          page_offset_(page_offset),
          kind_(kind),
          marks_(marks_for(warp, region)) {}

    // Cells [first, first + count) of the page, all touched by `lane`. `same` says that a store changes nothing.
    void cells(std::uint32_t first, std::uint32_t count, int lane, bool several, bool same) {
        for (std::uint32_t k = first; k < first + count; ++k) {
            if (kind_ == AccessKind::read || kind_ == AccessKind::read_only)
                read(k, lane, several);
            else
                write(k, lane, same);
        }
    }

    void initialised(std::uint32_t from, std::uint32_t bytes, int lane) {
        if (page_.all_valid(from, bytes)) return;
        Finding finding = describe(Fault::uninitialised_read, from / (1u << page_.shift));
        finding.bytes = bytes;
        report(warp_, instruction_, lane, std::move(finding));
    }

    // The common case for a row, checked a vector at a time. False: look at the cells one by one.
    bool row_read(std::uint32_t first, std::uint32_t count, const Cell* lanes, Cell first_lane) {
        const Cell* writer = &page_.writer[first];
        Cell* reader = &page_.reader[first];
        const Cell mine = marks_.mine + first_lane, floor = marks_.floor;
        const Cell own =
            kind_ == AccessKind::read_only ? 0 : mine;  // what this launch wrote must not be read through .nc
        const Cell stamp = marks_.mine, warp = marks_.warp_many, block = marks_.block_many, grid = marks_.grid_many;
        std::uint32_t odd = 0, fresh = 0;
        for (std::uint32_t k = 0; k < count; ++k) {
            const bool ours = reader[k] - stamp < kFirstCell;  // some lane of this warp, since it synchronised last
            odd |= (writer[k] >= floor) & (writer[k] != own + lanes[k]);
            odd |= (reader[k] >= floor) & !ours & (reader[k] != warp) & (reader[k] != block) & (reader[k] != grid);
            fresh |= (reader[k] < floor) | (ours & (reader[k] != mine + lanes[k]));
        }
        if (odd) return false;
        if (fresh) {
            std::uint16_t* site = &page_.reader_site[first];
            for (std::uint32_t k = 0; k < count; ++k) {
                const bool old = reader[k] < floor, ours = reader[k] - stamp < kFirstCell;
                const bool another = ours & (reader[k] != mine + lanes[k]);
                reader[k] = old ? mine + lanes[k] : another ? warp : reader[k];
                site[k] = old | another ? instruction_.site : site[k];
            }
        }
        return true;
    }

    // `same`: the store changes nothing, so nobody can tell in which order it came.
    bool row_write(std::uint32_t first, std::uint32_t count, const Cell* lanes, Cell first_lane, bool same) {
        Cell* writer = &page_.writer[first];
        const Cell* reader = &page_.reader[first];
        const Cell mine = marks_.mine + first_lane, floor = marks_.floor;
        std::uint32_t odd = 0;
        for (std::uint32_t k = 0; k < count; ++k) {
            odd |= (writer[k] >= floor) & (writer[k] != mine + lanes[k]);
            odd |= (reader[k] >= floor) & (reader[k] != mine + lanes[k]);
        }
        if (odd && !same) return false;
        for (std::uint32_t k = 0; k < count; ++k) writer[k] = mine + lanes[k];
        std::fill_n(&page_.writer_site[first], count, instruction_.site);
        return true;
    }

  private:
    const Stamp& stamp(Cell cell) const { return warp_.block->launch->device->stamps()[cell >> kCellShift]; }

    // Does what `cell` stands for happen before what `lane` does now?
    bool ordered(Cell cell, int lane) const {
        if (cell < marks_.floor) return true;
        const Stamp& then = stamp(cell);
        const ThreadBlock& block = *warp_.block;
        if (then.reach == Reach::grid || then.block != block.linear) return false;
        if (then.epoch < block.epoch) return true;
        if (then.reach == Reach::block || then.warp != warp_.number) return false;
        if (then.warp_epoch < warp_.epoch) return true;
        return then.reach == Reach::thread && (cell & kCellLane) == static_cast<Cell>(lane);
    }

    void read(std::uint32_t k, int lane, bool several) {
        const Cell writer = page_.writer[k];
        const Cell mine = several ? marks_.warp_many : marks_.mine | static_cast<Cell>(lane);
        if (writer >= marks_.floor) {
            if (!ordered(writer, lane) || (several && !ordered(writer, lane == 0 ? 1 : 0)))
                race(k, lane, writer, page_.writer_site[k], true);
            else if (kind_ == AccessKind::read_only)
                changed_under_promise(k, lane, writer);
        }
        Cell& reader = page_.reader[k];
        if (reader == mine) return;
        reader = ordered(reader, lane) && !(several && stamp_is_mine(reader)) ? mine : wider(reader);
        page_.reader_site[k] = instruction_.site;
    }

    bool stamp_is_mine(Cell cell) const { return cell >= marks_.floor && (cell >> kCellShift) == warp_.stamp; }

    // The cell for "those that `reader` stands for, and this warp".
    Cell wider(Cell reader) {
        const Stamp& then = stamp(reader);
        if (then.reach == Reach::grid || then.block != warp_.block->linear) return marks_.grid_many;
        if (then.reach == Reach::block || then.warp != warp_.number) return block_many(warp_, marks_);
        return marks_.warp_many;
    }

    void write(std::uint32_t k, int lane, bool same) {
        const Cell mine = marks_.mine | static_cast<Cell>(lane) | (kind_ == AccessKind::atomic ? kCellAtomic : 0);
        const Cell writer = page_.writer[k], reader = page_.reader[k];
        const bool both_atomic = kind_ == AccessKind::atomic && (writer & kCellAtomic);
        if (!same && !both_atomic && !ordered(writer, lane))
            race(k, lane, writer, page_.writer_site[k], true);
        else if (!same && !ordered(reader, lane))
            race(k, lane, reader, page_.reader_site[k], false);
        page_.writer[k] = mine;
        page_.writer_site[k] = instruction_.site;
    }

    Finding describe(Fault fault, std::uint32_t k) const {
        Finding finding;
        finding.fault = fault;
        finding.region = region_.name;
        finding.space = region_.space == Space::shared ? "shared" : "global";
        finding.offset = static_cast<std::int64_t>(page_offset_ + (std::uint64_t(k) << page_.shift));
        finding.address = region_.base + static_cast<std::uint64_t>(finding.offset);
        finding.region_bytes = region_.size;
        finding.bytes = 1u << page_.shift;
        finding.write = kind_ == AccessKind::write || kind_ == AccessKind::atomic;
        return finding;
    }

    Finding with_other(Finding finding, Cell other, std::uint16_t site) const {
        const Stamp& then = stamp(other);
        finding.other_site = site;
        finding.other_atomic = other & kCellAtomic;
        finding.other_known = then.reach == Reach::thread;
        finding.other_block = then.reach == Reach::grid ? 0 : then.block;
        finding.other_thread = then.warp * kLanes + (other & kCellLane);
        return finding;
    }

    void race(std::uint32_t k, int lane, Cell other, std::uint16_t site, bool other_write) {
        Finding finding = with_other(describe(Fault::data_race, k), other, site);
        finding.other_write = other_write;
        report(warp_, instruction_, lane, std::move(finding));
    }

    void changed_under_promise(std::uint32_t k, int lane, Cell other) {
        Finding finding = with_other(describe(Fault::read_only_violation, k), other, page_.writer_site[k]);
        finding.other_write = true;
        report(warp_, instruction_, lane, std::move(finding));
    }

    Warp& warp_;
    const Instruction& instruction_;
    Region& region_;
    Page& page_;
    std::uint64_t page_offset_;
    AccessKind kind_;
    Marks marks_;
};

bool reads(AccessKind kind) {
    return kind != AccessKind::write;
}

int shift_for(std::uint32_t piece) {
    return piece >= 4 ? 2 : piece == 2 ? 1 : 0;
}

}  // namespace

void check_piece(Warp& warp, const Instruction& instruction, Region& region, std::uint64_t offset, std::uint32_t bytes,
                 int lane, AccessKind kind, bool several, const std::byte* stored) {
    const auto from = static_cast<std::uint32_t>(offset % kPageBytes);
    if (const std::uint32_t here = kPageBytes - from; here < bytes) {  // a buffer that begins between two vectors
        check_piece(warp, instruction, region, offset, here, lane, kind, several, stored);
        check_piece(warp, instruction, region, offset + here, bytes - here, lane, kind, several,
                    stored ? stored + here : nullptr);
        return;
    }
    if (region.space == Space::constant) return;  // all of it has a value, and nobody can write it
    Page& page = region.shadow.page(offset);
    page.refine(shift_for(bytes));
    PieceCheck check(warp, instruction, region, page, offset - from, kind);
    if (reads(kind)) check.initialised(from, bytes, lane);
    const bool same = stored && page.all_valid(from, bytes) && std::memcmp(region.data + offset, stored, bytes) == 0;
    check.cells(from >> page.shift, std::max(1u, bytes >> page.shift), lane, several, same);
    if (kind != AccessKind::read && kind != AccessKind::read_only) page.set_valid(from, bytes);
}

void check_row(Warp& warp, const Instruction& instruction, Region& region, std::uint64_t offset, std::uint32_t bytes,
               std::uint32_t piece, int first_lane, AccessKind kind, const std::byte* stored) {
    if (region.space == Space::constant) return;
    for (std::uint32_t done = 0; done < bytes;) {
        Page& page = region.shadow.page(offset + done);
        page.refine(shift_for(piece));
        const auto from = static_cast<std::uint32_t>((offset + done) % kPageBytes);
        const std::uint32_t here = std::min<std::uint32_t>(bytes - done, kPageBytes - from);
        PieceCheck check(warp, instruction, region, page, offset + done - from, kind);
        const bool load = kind != AccessKind::write;
        const std::uint32_t first = from >> page.shift, count = here >> page.shift;
        const std::uint32_t cells_per_lane = piece >> page.shift;
        bool plain = cells_per_lane <= 4 && (!load || page.all_valid(from, here));
        if (plain) {
            const Cell* lanes = lane_pattern(cells_per_lane) + (done >> page.shift);
            const bool same = !load && page.all_valid(from, here) &&
                              std::memcmp(region.data + offset + done, stored + done, here) == 0;
            plain = load ? check.row_read(first, count, lanes, static_cast<Cell>(first_lane))
                         : check.row_write(first, count, lanes, static_cast<Cell>(first_lane), same);
        }
        if (plain) {
            if (!load) page.set_valid(from, here);
        } else {
            for (std::uint32_t at = done; at < done + here;) {
                const std::uint32_t part = std::min(piece - at % piece, done + here - at);
                check_piece(warp, instruction, region, offset + at, part, first_lane + static_cast<int>(at / piece),
                            kind, false, stored ? stored + at : nullptr);
                at += part;
            }
        }
        done += here;
    }
}

}  // namespace simt
