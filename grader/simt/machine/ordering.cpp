#include "ordering.hpp"

#include <algorithm>
#include <unordered_set>

#include "launch.hpp"
#include "operations.hpp"
#include "warp.hpp"

namespace simt {
namespace {

constexpr std::size_t kMostPieces = 1u << 18;     // of a worker; past that nothing new is learned, and nothing reported
constexpr std::size_t kMostAddresses = 1u << 18;  // at which something is published
constexpr std::size_t kNear = 64;                 // pieces that a question looks at before they are sorted by block
constexpr std::size_t kMostLooked = 1u << 12;     // pieces, in search of one of another block
constexpr std::size_t kMostSnapshots = 1u << 12;  // of a block's stamps

bool in_use(const Warp& warp) {
    return warp.block->launch->fenced.load(std::memory_order_relaxed);
}

}  // namespace

LaneOrder& order_of(Warp& warp, int lane) {
    if (!warp.order) warp.order = std::make_unique<WarpOrder>();
    return warp.order->lanes[static_cast<std::size_t>(lane)];
}

namespace {

BlockOrder& order_of(ThreadBlock& block) {
    if (!block.order) {
        block.order = std::make_unique<BlockOrder>();
        block.order->stamps.resize(block.launch->block.volume());
    }
    return *block.order;
}

}  // namespace

const Knowledge* keep(Warp& warp, const Knowledge& piece) {
    auto& pieces = warp.worker->knowledge.pieces;
    if (pieces.size() >= kMostPieces) {
        warp.block->launch->order_lost = true;
        return piece.first;
    }
    return &pieces.emplace_back(piece);
}

const Knowledge* joined(Warp& warp, const Knowledge* a, const Knowledge* b) {
    if (!a || !b || a == b) return a ? a : b;
    if (a->first == b || a->second == b) return a;
    if (b->first == a || b->second == a) return b;
    Knowledge both;
    both.block = kNoBlock;
    both.first = a;
    both.second = b;
    return keep(warp, both);
}

void know(LaneOrder& order, const Knowledge* known) {
    if (order.known == known) return;
    order.known = known;
    order.published = nullptr;
}

namespace {

// From here on nothing that the lanes did counts as done together with what they do next.
void fence_lanes(Warp& warp, LaneMask lanes, bool block_only) {
    ThreadBlock& block = *warp.block;
    block.launch->fenced.store(true, std::memory_order_relaxed);
    BlockOrder& together = order_of(block);
    for_each_lane(lanes, [&](int lane) {
        LaneOrder& order = order_of(warp, lane);
        order.fenced = true;
        order.block_only = block_only;
        order.epoch = block.epoch;
        order.warp_floor = warp.sync_floor;
        order.own = warp.last_stamp | 1;
        order.published = nullptr;
        if (!block_only) {
            const std::uint32_t thread = thread_in_block(warp, lane);
            together.stamps[thread] = order.own;
            together.changed = true;
        }
    });
    warp.stamp = 0;
}

Knowledge piece_of(const Warp& warp, LaneMask lanes) {
    Knowledge piece;
    piece.block = static_cast<std::uint32_t>(warp.block->linear);
    piece.warp = warp.number;
    piece.lanes = lanes;
    return piece;
}

// What `lanes`, whose last fence was the same, have covered by it and learned.
const Knowledge* fenced_piece(Warp& warp, LaneMask lanes, const LaneOrder& order) {
    Knowledge piece = piece_of(warp, lanes);
    piece.epoch = order.epoch;
    piece.warp_floor = order.warp_floor;
    piece.own = order.own;
    const BlockOrder* together = warp.block->order.get();
    piece.stamps = together ? together->shared : nullptr;
    piece.block_only = order.fenced && order.block_only;
    piece.first = order.known;
    return keep(warp, piece);
}

// What `lane` may publish; null where it has never fenced.
const Knowledge* to_publish(Warp& warp, int lane) {
    LaneOrder& order = order_of(warp, lane);
    const BlockOrder* together = warp.block->order.get();
    if (!order.fenced && !(together && together->shared)) return nullptr;
    if (!order.published) order.published = fenced_piece(warp, 1u << lane, order);
    return order.published;
}

// What threads have fenced before a barrier counts as fenced for all behind it.
void take_snapshot(ThreadBlock& block, BlockOrder& order) {
    auto& snapshots = block.warps[0].worker->knowledge.stamps;
    if (snapshots.size() >= kMostSnapshots) {
        block.launch->order_lost = true;
        return;
    }
    order.shared = &snapshots.emplace_back(order.stamps);
    order.changed = false;
    for (Warp& warp : block.warps)
        if (warp.order)
            for (LaneOrder& lane : warp.order->lanes) lane.published = nullptr;
}

void take_in(Warp& warp, int lane, const Knowledge* piece) {
    if (!piece) return;
    LaneOrder& order = order_of(warp, lane);
    if (order.learned == piece) return;
    order.learned = piece;
    know(order, joined(warp, order.known, piece));
}

// What was published at `address`.
const Knowledge* at(Warp& warp, const Region& region, std::uint64_t address) {
    const auto look = [address](const KnowledgeAt& published) {
        const auto found = published.find(address);
        return found == published.end() ? nullptr : found->second;
    };
    if (region.space == Space::shared) return look(order_of(*warp.block).published);
    PublishedKnowledge& published = warp.block->launch->published;
    const std::lock_guard guard(published.lock);
    return look(published.at);
}

void put(Warp& warp, const Region& region, std::uint64_t address, const Knowledge* piece) {
    const auto keep_in = [&](KnowledgeAt& published) {
        if (!piece)
            published.erase(address);
        else if (published.size() < kMostAddresses || published.contains(address))
            published[address] = piece;
        else
            warp.block->launch->order_lost = true;
    };
    if (region.space == Space::shared) {
        keep_in(order_of(*warp.block).published);
        return;
    }
    PublishedKnowledge& published = warp.block->launch->published;
    const std::lock_guard guard(published.lock);
    keep_in(published.at);
}

bool covers(const Knowledge& piece, Cell cell, const Stamp& then) {
    if (piece.block != then.block) return false;
    if (then.epoch < piece.epoch) return true;
    const std::uint32_t stamp = cell >> kCellShift;
    if (then.reach == Reach::block) return stamp < piece.many;
    if (then.warp == piece.warp && stamp < piece.warp_floor) return true;
    const std::uint32_t first = then.warp * kLanes;
    if (then.reach == Reach::thread) {
        const std::uint32_t lane = cell & kCellLane;
        if (then.warp == piece.warp && (piece.lanes >> lane & 1u) && stamp <= piece.own) return true;
        return piece.stamps && first + lane < piece.stamps->size() && stamp <= (*piece.stamps)[first + lane];
    }
    if (then.warp == piece.warp && piece.lanes == kAllLanes && stamp <= piece.own) return true;
    if (!piece.stamps) return false;
    const auto from = piece.stamps->begin() + std::min<std::ptrdiff_t>(first, std::ssize(*piece.stamps));
    const auto to = piece.stamps->begin() + std::min<std::ptrdiff_t>(first + kLanes, std::ssize(*piece.stamps));
    return std::all_of(from, to, [stamp](std::uint32_t fenced) { return stamp <= fenced; });
}

void fence(Warp& warp, const Instruction& instruction) {
    fence_lanes(warp, warp.mask, instruction.strength.block_only);
}

}  // namespace

void publish(Warp& warp, int lane, const Region& region, std::uint64_t address, const Instruction& instruction) {
    if (instruction.strength.releases) fence_lanes(warp, 1u << lane, instruction.strength.block_only);
    if (!in_use(warp)) return;
    put(warp, region, address, to_publish(warp, lane));
}

void learn(Warp& warp, int lane, const Region& region, std::uint64_t address) {
    if (!in_use(warp)) return;
    take_in(warp, lane, at(warp, region, address));
}

void exchange(Warp& warp, int lane, const Region& region, std::uint64_t address, const Instruction& instruction) {
    if (instruction.strength.releases) fence_lanes(warp, 1u << lane, instruction.strength.block_only);
    if (!in_use(warp)) return;
    // The page is locked: nobody else is at this address.
    const Knowledge* found = at(warp, region, address);
    put(warp, region, address, joined(warp, found, to_publish(warp, lane)));
    take_in(warp, lane, found);
}

void share(Warp& warp, LaneMask lanes) {
    if (!warp.order) return;
    const Knowledge* all = nullptr;
    for_each_lane(lanes, [&](int lane) { all = joined(warp, all, order_of(warp, lane).known); });
    for_each_lane(lanes, [&](int lane) { know(order_of(warp, lane), all); });
}

namespace {

// Lanes that meet apart from the rest of their warp, perhaps in every round of a loop: one piece serves all rounds.
void meet_apart(Warp& warp, LaneMask lanes) {
    const Knowledge* known = order_of(warp, first_lane(lanes)).known;
    bool again = known && known->apart && known->block == warp.block->linear && known->warp == warp.number &&
                 known->lanes == lanes;
    for_each_lane(lanes, [&](int lane) { again &= order_of(warp, lane).known == known; });
    const std::uint32_t done = warp.last_stamp | 1;
    if (again) {
        const_cast<Knowledge*>(known)->own = done;  // of this worker's own store; it says no less than before
        return;
    }
    Knowledge piece = piece_of(warp, lanes);
    piece.own = done;
    piece.block_only = piece.apart = true;
    const Knowledge* kept = keep(warp, piece);
    for_each_lane(lanes, [&](int lane) {
        LaneOrder& order = order_of(warp, lane);
        if (!order.known && kept)
            know(order, kept);
        else
            know(order, joined(warp, order.known, kept));
    });
}

}  // namespace

void share_at_barrier(Warp& warp, LaneMask lanes, bool apart) {
    if (apart) {
        meet_apart(warp, lanes);
        warp.stamp = 0;
    }
    if (!warp.order) return;
    const Knowledge* all = nullptr;
    bool fenced = false;
    for (LaneMask left = lanes; left != 0;) {
        const LaneOrder& one = order_of(warp, first_lane(left));
        LaneMask alike = 0;  // lanes that fenced together, as they mostly do
        for_each_lane(left, [&](int lane) {
            const LaneOrder& other = order_of(warp, lane);
            alike |= static_cast<LaneMask>(other.fenced == one.fenced && other.own == one.own &&
                                           other.known == one.known && other.block_only == one.block_only)
                     << lane;
        });
        left &= ~alike;
        all = joined(warp, all, one.fenced ? fenced_piece(warp, alike, one) : one.known);
        fenced |= one.fenced;
    }
    for_each_lane(lanes, [&](int lane) {
        know(order_of(warp, lane), all);
        order_of(warp, lane).fenced = fenced;
    });
}

void share_at_barrier(ThreadBlock& block) {
    if (BlockOrder* order = block.order.get(); order && order->changed) take_snapshot(block, *order);
    const Knowledge* all = nullptr;
    for (Warp& warp : block.warps)
        if (warp.order && warp.alive) {
            share(warp, warp.alive);
            all = joined(warp, all, order_of(warp, first_lane(warp.alive)).known);
        }
    if (!all) return;
    for (Warp& warp : block.warps) for_each_lane(warp.alive, [&](int lane) { know(order_of(warp, lane), all); });
}

namespace {

// Of cells that stand for several lanes of the warp nobody knows which. Where lanes have met apart from the others,
// their own are assumed: a fault between two halves of a warp may be missed so, but none is told that is not there.
bool tells(const Warp& warp, int lane, const Knowledge& piece, Cell cell, const Stamp& then) {
    if (piece.block_only && piece.block != warp.block->linear) return false;
    if (covers(piece, cell, then)) return true;
    return piece.apart && piece.block == then.block && then.reach == Reach::warp && then.warp == piece.warp &&
           warp.number == piece.warp && (piece.lanes >> lane & 1u) && cell >> kCellShift <= piece.own;
}

// Calls visit(piece) for `known` and all that it came from, each once, the newest first, until it returns true.
template <class Visit>
void visit_pieces(const Knowledge* known, Visit&& visit) {
    std::unordered_set<const Knowledge*> seen;
    std::vector<const Knowledge*> open{known};
    while (!open.empty()) {
        const Knowledge* piece = open.back();
        open.pop_back();
        if (!seen.insert(piece).second) continue;
        if (visit(*piece)) return;
        for (const Knowledge* earlier : {piece->first, piece->second})
            if (earlier) open.push_back(earlier);
    }
}

// The pieces below `known`, by the block they tell of. Pieces never change, so that one sorting serves many questions.
const std::vector<const Knowledge*>& pieces_of(const Warp& warp, const Knowledge* known, std::uint32_t block) {
    BlockOrder& order = *warp.block->order;
    if (order.sorted != known) {
        order.by_block.clear();
        visit_pieces(known, [&order](const Knowledge& piece) {
            if (piece.block != kNoBlock) order.by_block[piece.block].push_back(&piece);
            return false;
        });
        order.sorted = known;
    }
    static const std::vector<const Knowledge*> none;
    const auto found = order.by_block.find(block);
    return found == order.by_block.end() ? none : found->second;
}

}  // namespace

namespace {

// Of a place that several blocks have read nobody knows which did. Whoever has learned from another block is believed
// to have learned from all of them, as all learn from all where a grid waits for itself.
bool knows_another_block(const Warp& warp, const Knowledge* known) {
    bool found = false;
    std::size_t looked = 0;
    visit_pieces(known, [&](const Knowledge& piece) {
        found = piece.block != kNoBlock && piece.block != warp.block->linear;
        return found || ++looked >= kMostLooked;
    });
    return found;
}

}  // namespace

bool knows(const Warp& warp, int lane, Cell cell, const Stamp& then) {
    if (!warp.order || then.reach == Reach::in_flight) return false;
    if (then.reach != Reach::grid && warp.block->launch->order_lost) return true;
    const Knowledge* known = warp.order->lanes[static_cast<std::size_t>(lane)].known;
    if (!known) return false;
    if (then.reach == Reach::grid) return knows_another_block(warp, known);
    bool told = false;
    std::size_t looked = 0;
    visit_pieces(known, [&](const Knowledge& piece) {
        told = tells(warp, lane, piece, cell, then);
        return told || ++looked >= kNear;
    });
    if (told || looked < kNear) return told;
    order_of(*warp.block);
    const auto& pieces = pieces_of(warp, known, then.block);
    return std::any_of(pieces.begin(), pieces.end(),
                       [&](const Knowledge* piece) { return tells(warp, lane, *piece, cell, then); });
}

void add_ordering_operations(OperationTable& table) {
    for (const std::string_view scope : {"cta", "cluster", "gpu", "sys"})
        for (const std::string_view semantics : {"", "sc.", "acq_rel.", "acquire.", "release."})
            table.add({"fence.", semantics, scope}, "", fence);
    for (const std::string_view level : {"cta", "gl", "sys"}) table.add({"membar.", level}, "", fence);
}

}  // namespace simt
