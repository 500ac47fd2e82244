#include "checks.hpp"

#include <algorithm>
#include <array>

#include "launch.hpp"

namespace simt {
namespace {

constexpr std::uint64_t kCostOfStamp = 64;  // instructions: a loop that synchronises for ever must end too

// What the cells of this warp look like right now, and what can be skipped without a look into the table.
struct Marks {
    Cell mine;        // | lane
    Cell warp_many;   // several lanes of this warp
    Cell block_many;  // several warps of this block; 0 where not made yet
    Cell grid_many;   // several blocks
    Cell floor;       // below: ordered before this access for certain
    Cell strong;  // kCellAtomic for an access that may meet others of its kind, kCellBlockOnly if of its block alone
};

constexpr Cell kCellFlags = kCellAtomic | kCellBlockOnly;

// Of two accesses that one cell stands for: atomic if both are, for one block alone if one of them is.
constexpr Cell flags_of_both(Cell a, Cell b) {
    const Cell atomic = a & b & kCellAtomic;
    static_assert(kCellBlockOnly == kCellAtomic << 1);
    return atomic | ((a | b) & (atomic << 1));
}

Cell in_flight_cell(const Warp& warp, int lane) {
    return kFirstInFlight + (warp.number << kCellShift | static_cast<Cell>(lane));
}

Marks marks_for(Warp& warp, const Instruction& instruction, const Region& region) {
    ThreadBlock& block = *warp.block;
    Launch& launch = *block.launch;
    if (warp.stamp == 0) {
        warp.stamp = take_stamp(launch, *warp.worker,
                                {static_cast<std::uint32_t>(block.linear), block.epoch, warp.epoch,
                                 static_cast<std::uint16_t>(warp.number), Reach::thread});
        warp.last_stamp = warp.stamp;
        warp.instructions += kCostOfStamp;
    }
    const Strength strength = instruction.strength;
    const Cell strong = strength.ordered ? kCellAtomic | (strength.block_only ? kCellBlockOnly : 0) : 0;
    return {warp.stamp << kCellShift | strong,
            (warp.stamp + 1) << kCellShift | strong,
            block.many_stamp == 0 ? 0 : block.many_stamp << kCellShift | strong,
            launch.grid_stamp << kCellShift | strong,
            region.space == Space::shared ? block.floor : launch.floor,
            strong};
}

Cell block_many(Warp& warp, Marks& marks) {
    ThreadBlock& block = *warp.block;
    if (block.many_stamp == 0)
        block.many_stamp = take_stamp(*block.launch, *warp.worker,
                                      {static_cast<std::uint32_t>(block.linear), block.epoch, 0, 0, Reach::block});
    return marks.block_many = block.many_stamp << kCellShift | marks.strong;
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

// Calls body with the number of cells: a constant for a whole warp's row, so that its loops become vector instructions.
template <class Body>
auto with_count(std::uint32_t count, Body&& body) {
    if (count == kLanes) return body(std::integral_constant<std::uint32_t, kLanes>{});
    return body(count);
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
          marks_(marks_for(warp, instruction, region)) {}

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
        // A library may load a neighbour that nobody wrote, so that no lane needs a branch, and then drop it.
        const bool plain = kind_ == AccessKind::read && !instruction_.strength.ordered;
        const bool own = instruction_.strength.fragment || warp_.block->launch->program->sites[instruction_.site].own;
        if (region_.space == Space::shared && plain && (!own || instruction_.strength.speculative)) return;
        Finding finding = describe(Fault::uninitialised_read, from / (1u << page_.shift));
        finding.bytes = bytes;
        report(warp_, instruction_, lane, std::move(finding));
    }

    // The common cases for a row, checked a vector at a time. False: look at the cells one by one.
    template <class Count>
    bool row_read(std::uint32_t first, Count count, const Cell* lanes, Cell first_lane) {
        // What this launch wrote must not be read through .nc, not even by who wrote it.
        if (page_.newest_writer >= marks_.floor &&
            !row_known(&page_.writer[first], count, lanes, first_lane, kind_ == AccessKind::read_only))
            return false;
        Cell* reader = &page_.reader[first];
        const Cell mine = marks_.mine + first_lane, warp = marks_.warp_many, grid = marks_.grid_many;
        const Cell block = marks_.block_many == 0 ? grid : marks_.block_many;
        std::uint32_t changes = 0;
        for (std::uint32_t k = 0; k < count; ++k)
            changes |=
                (reader[k] != block) & (reader[k] != grid) & (reader[k] != warp) & (reader[k] != mine + lanes[k]);
        return changes == 0 || row_readers(first, count, lanes, mine);
    }

    // `stored`: what goes there. Where it changes nothing, nobody can tell in which order it came.
    template <class Count>
    bool row_write(std::uint32_t first, Count count, const Cell* lanes, Cell first_lane, const std::byte* stored) {
        Cell* writer = &page_.writer[first];
        const Cell mine = marks_.mine + first_lane;
        const bool clash =
            (page_.newest_writer >= marks_.floor && !row_known(writer, count, lanes, first_lane, false)) ||
            (page_.newest_reader >= marks_.floor && !row_known(&page_.reader[first], count, lanes, first_lane, false));
        if (clash && !(marks_.strong == 0 && changes_nothing(first, count, lanes, first_lane, stored))) return false;
        for (std::uint32_t k = 0; k < count; ++k) writer[k] = mine + lanes[k];
        std::fill_n(&page_.writer_site[first], count, instruction_.site);
        page_.newest_writer = std::max(page_.newest_writer, mine | kCellLane);
        return true;
    }

    // A copy to these cells, as `cells`; but one that changes nothing still races with whoever reads.
    void copied_to(std::uint32_t first, std::uint32_t count, int lane, bool same) {
        for (std::uint32_t k = first; k < first + count; ++k) {
            const Cell reader = page_.reader[k];
            if (same && !ordered(reader, lane)) race(k, lane, reader, page_.reader_site[k], false);
            write(k, lane, same);
        }
    }

    // The byte at `offset` in the page was changed while it was being copied.
    void overwritten(std::uint32_t offset, int lane) {
        const std::uint32_t k = offset >> page_.shift;
        race(k, lane, page_.writer[k], page_.writer_site[k], true, "overwritten");
    }

  private:
    Stamp stamp(Cell cell) const {
        if (cell < kFirstInFlight) return warp_.block->launch->device->stamps()[cell >> kCellShift];
        Stamp flight{static_cast<std::uint32_t>(warp_.block->linear), kNoOrder, kNoOrder, 0, Reach::in_flight};
        flight.warp = static_cast<std::uint16_t>((cell - kFirstInFlight) >> kCellShift);
        return flight;
    }

    // Are all these cells older than the last synchronisation, or the accessing lane's own? (`never_own`: older.) Cells
    // of one stamp, which is what a row that another warp or block touched looks like, are judged together.
    template <class Count>
    bool row_known(const Cell* cell, Count count, const Cell* lanes, Cell first_lane, bool never_own) const {
        const Cell mine = never_own ? 0 : marks_.mine + first_lane, floor = marks_.floor;
        std::uint32_t odd = 0;
        for (std::uint32_t k = 0; k < count; ++k) odd |= (cell[k] >= floor) & (cell[k] != mine + lanes[k]);
        if (odd == 0) return true;
        if (never_own || cell[0] < floor) return false;
        std::uint32_t other = 0;
        for (std::uint32_t k = 0; k < count; ++k) other |= (cell[k] ^ cell[0]) >> kCellShift;
        if (other != 0) return false;
        const Stamp then = stamp(cell[0]);
        const ThreadBlock& block = *warp_.block;
        if (then.reach == Reach::grid || then.block != block.linear) return false;
        return then.epoch < block.epoch ||
               (then.reach != Reach::block && then.warp == warp_.number && then.warp_epoch < warp_.epoch);
    }

    // Notes a row's readers where they change; false where the cells must be looked at one by one.
    template <class Count>
    bool row_readers(std::uint32_t first, Count count, const Cell* lanes, Cell mine) {
        Cell* reader = &page_.reader[first];
        std::uint16_t* site = &page_.reader_site[first];
        const Cell floor = marks_.floor, warp = marks_.warp_many, grid = marks_.grid_many;
        const Cell stamp = marks_.mine & ~(kFirstCell - 1);
        const Cell block = marks_.block_many == 0 ? grid : marks_.block_many;
        std::uint32_t odd = 0, mixed = 0;
        for (std::uint32_t k = 0; k < count; ++k) {
            const bool ours = reader[k] - stamp < kFirstCell;  // some lane of this warp, since it synchronised last
            odd |= (reader[k] >= floor) & !ours & (reader[k] != warp) & (reader[k] != block) & (reader[k] != grid);
            mixed |= (reader[k] ^ reader[0]) >> kCellShift;
        }
        if (odd) return mixed == 0 && row_replaced(first, count, lanes, mine);
        for (std::uint32_t k = 0; k < count; ++k) {
            const Cell own = mine + lanes[k], flags = flags_of_both(reader[k], own);
            const bool old = reader[k] < floor, ours = reader[k] - stamp < kFirstCell;
            const bool another = ours & (((reader[k] ^ own) & kCellLane) != 0);
            reader[k] = old ? own : (((another ? warp : reader[k]) & ~kCellFlags) | flags);
            site[k] = old | another ? instruction_.site : site[k];
        }
        page_.newest_reader = std::max({page_.newest_reader, warp, mine | kCellLane});
        return true;
    }

    // All readers of the row are of one stamp, and not of this one.
    template <class Count>
    bool row_replaced(std::uint32_t first, Count count, const Cell* lanes, Cell mine) {
        Cell* reader = &page_.reader[first];
        const Stamp then = stamp(reader[0]);
        const ThreadBlock& block = *warp_.block;
        const bool here = then.reach != Reach::grid && then.block == block.linear;
        if (!here && warp_.order) return false;  // what is known about other blocks, each lane knows by itself
        if (here && then.reach != Reach::block && then.warp == warp_.number && then.warp_epoch == warp_.epoch &&
            then.epoch == block.epoch)
            return false;
        const bool over =
            here && (then.epoch < block.epoch || (then.reach != Reach::block && then.warp == warp_.number));
        const Cell many = over ? 0 : wider(reader[0]);
        for (std::uint32_t k = 0; k < count; ++k) reader[k] = over ? mine + lanes[k] : many;
        std::fill_n(&page_.reader_site[first], count, instruction_.site);
        page_.newest_reader = std::max(page_.newest_reader, over ? mine | kCellLane : many);
        return true;
    }

    // Does the store leave every cell as it is that somebody else has touched?
    template <class Count>
    bool changes_nothing(std::uint32_t first, Count count, const Cell* lanes, Cell first_lane,
                         const std::byte* stored) const {
        const Cell mine = marks_.mine + first_lane;
        const std::uint32_t bytes = 1u << page_.shift;
        const std::byte* held = region_.data + page_offset_ + (std::uint64_t{first} << page_.shift);
        for (std::uint32_t k = 0; k < count; ++k) {
            const auto foreign = [&](Cell cell) { return cell >= marks_.floor && cell != mine + lanes[k]; };
            if (!foreign(page_.writer[first + k]) && !foreign(page_.reader[first + k])) continue;
            if (page_.writer[first + k] >= kFirstInFlight) return false;
            if (!page_.all_valid((first + k) << page_.shift, bytes)) return false;
            if (std::memcmp(held + std::size_t{k} * bytes, stored + std::size_t{k} * bytes, bytes) != 0) return false;
        }
        return true;
    }

    // Does what `cell` stands for happen before what `lane` does now?
    bool ordered(Cell cell, int lane) const {
        if (cell < marks_.floor) return true;
        const Stamp then = stamp(cell);
        const ThreadBlock& block = *warp_.block;
        if (then.reach != Reach::grid && then.block == block.linear) {
            if (then.epoch < block.epoch) return true;
            if (then.reach != Reach::block && then.warp == warp_.number) {
                if (then.warp_epoch < warp_.epoch) return true;
                if (then.reach == Reach::thread && (cell & kCellLane) == static_cast<Cell>(lane)) return true;
            }
        }
        return knows(warp_, lane, cell, then);
    }

    // Are both accesses of the kind that may meet: atomic, or at least relaxed, for each other?
    bool may_meet(Cell cell, bool both_write) const {
        if (!(cell & marks_.strong & kCellAtomic)) return false;
        const Stamp then = stamp(cell);
        const bool here = then.reach != Reach::grid && then.block == warp_.block->linear;
        if (((cell | marks_.strong) & kCellBlockOnly) && !here) return false;
        // Lanes of one warp that rely on `volatile` rely on running in step, which no GPU promises any more. A flag in
        // global memory that some of them set and all of them poll is right in any order.
        const bool in_step = here && then.reach != Reach::block && then.warp == warp_.number;
        return !(instruction_.strength.is_volatile && in_step && (both_write || region_.space == Space::shared));
    }

    void read(std::uint32_t k, int lane, bool several) {
        const Cell writer = page_.writer[k];
        const Cell mine = several ? marks_.warp_many : marks_.mine | static_cast<Cell>(lane);
        if (writer >= marks_.floor) {
            const bool meets = !may_meet(writer, false);
            if (meets && !ordered(writer, lane))
                race(k, lane, writer, page_.writer_site[k], true);
            else if (meets && several && !ordered(writer, next_lane(lane)))
                race(k, next_lane(lane), writer, page_.writer_site[k], true);
            else if (kind_ == AccessKind::read_only)
                changed_under_promise(k, lane, writer);
        }
        Cell& reader = page_.reader[k];
        if (reader == mine) return;
        reader = ordered(reader, lane) && !(several && stamp_is_mine(reader)) ? mine : wider(reader);
        page_.reader_site[k] = instruction_.site;
        page_.newest_reader = std::max(page_.newest_reader, reader);
    }

    // Of several lanes that read one place, the next after the first.
    int next_lane(int lane) const { return first_lane(warp_.mask & ~(LaneMask{1} << lane)); }

    bool stamp_is_mine(Cell cell) const { return cell >= marks_.floor && (cell >> kCellShift) == warp_.stamp; }

    // The cell for "those that `reader` stands for, and this warp".
    Cell wider(Cell reader) {
        const Stamp then = stamp(reader);
        const Cell many = then.reach == Reach::grid || then.block != warp_.block->linear ? marks_.grid_many
                          : then.reach == Reach::block || then.warp != warp_.number      ? block_many(warp_, marks_)
                                                                                         : marks_.warp_many;
        return (many & ~kCellFlags) | flags_of_both(reader, marks_.strong);
    }

    void write(std::uint32_t k, int lane, bool same) {
        const Cell mine = marks_.mine | static_cast<Cell>(lane);
        const Cell writer = page_.writer[k], reader = page_.reader[k];
        same &= writer < kFirstInFlight;
        if (!same && !may_meet(writer, true) && !ordered(writer, lane))
            race(k, lane, writer, page_.writer_site[k], true);
        else if (!same && !may_meet(reader, false) && !ordered(reader, lane))
            race(k, lane, reader, page_.reader_site[k], false);
        // A thread's own atomic must not hide the plain store before it, which others may still come to meet.
        if (marks_.strong && writer == (mine & ~kCellFlags)) return;
        page_.writer[k] = mine;
        page_.writer_site[k] = instruction_.site;
        page_.newest_writer = std::max(page_.newest_writer, mine);
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
        const Stamp then = stamp(other);
        finding.other_site = site;
        finding.other_atomic = other & kCellAtomic;
        finding.between_blocks = then.reach == Reach::grid || then.block != warp_.block->linear;
        finding.between_warps = finding.between_blocks || then.reach == Reach::block || then.warp != warp_.number;
        finding.other_known = then.reach == Reach::thread || then.reach == Reach::in_flight;
        if (then.reach == Reach::in_flight) finding.text = "in_flight";
        finding.other_block = then.reach == Reach::grid ? 0 : then.block;
        finding.other_thread = then.warp * kLanes + (other & kCellLane);
        return finding;
    }

    void race(std::uint32_t k, int lane, Cell other, std::uint16_t site, bool other_write, const char* text = "") {
        Finding finding = with_other(describe(Fault::data_race, k), other, site);
        if (*text) finding.text = text;
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

// The part of a row that lies in one page: `here` bytes of it, `done` bytes behind its start. True where it is done.
bool row_in_page(PieceCheck& check, Page& page, AccessKind kind, std::uint32_t from, std::uint32_t here,
                 std::uint32_t done, std::uint32_t piece, int first_lane, const std::byte* stored) {
    const std::uint32_t cells_per_lane = piece >> page.shift;
    const bool load = kind != AccessKind::write;
    if (cells_per_lane > 4 || (load && !page.all_valid(from, here))) return false;
    const Cell* lanes = lane_pattern(cells_per_lane) + (done >> page.shift);
    const auto lane = static_cast<Cell>(first_lane);
    return with_count(here >> page.shift, [&](auto count) {
        return load ? check.row_read(from >> page.shift, count, lanes, lane)
                    : check.row_write(from >> page.shift, count, lanes, lane, stored + done);
    });
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

namespace {

// Calls body(cell) for the writers of a piece of shared memory.
template <class Body>
void for_writers(Page& page, std::uint64_t offset, std::uint32_t bytes, Body&& body) {
    const auto from = static_cast<std::uint32_t>(offset % kPageBytes);
    for (std::uint32_t at = from; at < from + bytes; at += 1u << page.shift) body(page.writer[at >> page.shift]);
}

// Checks and notes a copy's store to shared memory.
Page& store_copy(Warp& warp, const Instruction& instruction, std::uint64_t offset, std::uint32_t bytes, int lane,
                 const std::byte* stored) {
    Region& shared = *warp.block->shared;
    Page& page = shared.shadow.page(offset);
    const auto from = static_cast<std::uint32_t>(offset % kPageBytes);
    const bool same = page.all_valid(from, bytes) && std::memcmp(shared.data + offset, stored, bytes) == 0;
    PieceCheck check(warp, instruction, shared, page, offset - from, AccessKind::write);
    check.copied_to(from >> page.shift, bytes >> page.shift, lane, same);
    page.set_valid(from, bytes);
    return page;
}

}  // namespace

void put_in_flight(Warp& warp, const Instruction& instruction, std::uint64_t offset, std::uint32_t bytes, int lane,
                   const std::byte* stored) {
    Page& page = store_copy(warp, instruction, offset, bytes, lane, stored);
    const Cell mark = in_flight_cell(warp, lane);
    for_writers(page, offset, bytes, [mark](Cell& writer) { writer = mark; });
    page.newest_writer = std::max(page.newest_writer, mark);
    page.in_flight += 1;
}

void land(Warp& warp, const Instruction& instruction, std::uint64_t offset, std::uint32_t bytes, int lane,
          const std::byte* stored) {
    Page& page = warp.block->shared->shadow.page(offset);
    const Cell mark = in_flight_cell(warp, lane);
    for_writers(page, offset, bytes, [mark](Cell& writer) { writer = writer == mark ? 0 : writer; });
    page.in_flight -= 1;
    if (page.in_flight == 0) page.newest_writer = (warp.worker->next_stamp << kCellShift) - 1;  // none is larger
    store_copy(warp, instruction, offset, bytes, lane, stored);
}

void report_overwritten(Warp& warp, const Instruction& instruction, Region& region, std::uint64_t offset, int lane) {
    const auto in_page = static_cast<std::uint32_t>(offset % kPageBytes);
    Page& page = region.shadow.page(offset);
    PieceCheck(warp, instruction, region, page, offset - in_page, AccessKind::read).overwritten(in_page, lane);
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
        if (row_in_page(check, page, kind, from, here, done, piece, first_lane, stored)) {
            if (kind == AccessKind::write) page.set_valid(from, here);
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
