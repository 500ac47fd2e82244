// Meetings: some threads of a block come together, at a barrier for a part of the block or at an mbarrier. What each of
// them had done when it came is ordered before what those do who wait for all of them.
//
// What is known of a meeting is a time for each thread of the block. Who comes from one meeting to the next brings what
// he knew in the same form, so that however many rounds there are, one piece is enough.
#include <algorithm>
#include <utility>

#include "launch.hpp"
#include "ordering.hpp"
#include "warp.hpp"

namespace simt {
namespace {

constexpr std::size_t kMostMeetingBytes = 64u << 20;  // of a worker

bool is_of(const Knowledge* piece, const ThreadBlock& block) {
    return piece && piece->meeting && piece->block == block.linear;
}

void take_in(Meeting& meeting, Warp& warp, const Knowledge* known) {
    if (!known || known == meeting.folded || known == meeting.known) return;
    if (!is_of(known, *warp.block)) {
        meeting.known = joined(warp, meeting.known, known);
        return;
    }
    std::transform(known->stamps->begin(), known->stamps->end(), meeting.stamps.begin(), meeting.stamps.begin(),
                   [](std::uint32_t a, std::uint32_t b) { return std::max(a, b); });
    meeting.known = joined(warp, meeting.known, known->first);
    meeting.folded = known;
}

// Does `later` tell all that `earlier` does?
bool includes(const Knowledge& later, const Knowledge& earlier, const ThreadBlock& block) {
    if (!is_of(&later, block) || !is_of(&earlier, block)) return false;
    if (earlier.epoch > later.epoch || earlier.many > later.many) return false;
    if (earlier.first && earlier.first != later.first) return false;
    return std::equal(earlier.stamps->begin(), earlier.stamps->end(), later.stamps->begin(),
                      [](std::uint32_t a, std::uint32_t b) { return a <= b; });
}

}  // namespace

void come_to(Meeting& meeting, Warp& warp, LaneMask lanes) {
    if (meeting.stamps.empty()) meeting.stamps.resize(warp.block->launch->block.volume());
    const std::uint32_t done = warp.last_stamp | 1;
    // Lanes that have ended did all they did before the others came.
    for_each_lane(lanes | (warp.born & ~warp.alive), [&](int lane) {
        std::uint32_t& stamp = meeting.stamps[thread_in_block(warp, lane)];
        stamp = std::max(stamp, done);
    });
    if (warp.order) for_each_lane(lanes, [&](int lane) { take_in(meeting, warp, order_of(warp, lane).known); });
    warp.stamp = 0;  // what they do next is later
}

const Knowledge* conclude(Meeting& meeting, ThreadBlock& block) {
    Meeting over = std::exchange(meeting, {});
    if (over.stamps.empty()) return nullptr;
    Worker& worker = *block.warps[0].worker;
    const std::size_t bytes = over.stamps.size() * sizeof(std::uint32_t);
    if (worker.knowledge.meeting_bytes + bytes > kMostMeetingBytes) {
        block.launch->order_lost = true;
        return over.known;
    }
    worker.knowledge.meeting_bytes += bytes;
    Knowledge piece;
    piece.block = static_cast<std::uint32_t>(block.linear);
    piece.epoch = block.epoch;
    piece.warp = kNoOrder;  // no warp alone
    piece.stamps = &worker.knowledge.meetings.emplace_back(std::move(over.stamps));
    // Who reads where another warp has read too leaves no name. All of these are believed to have come; those who read
    // from here on have another stamp.
    piece.many = worker.next_stamp;
    block.many_stamp = 0;
    piece.meeting = true;
    piece.first = over.known;
    return keep(block.warps[0], piece);
}

void learn_from(Warp& warp, LaneMask lanes, const Knowledge* piece) {
    if (!piece) return;
    const Knowledge *before = nullptr, *after = piece;  // of the lane at hand, and mostly of all
    for_each_lane(lanes, [&](int lane) {
        LaneOrder& order = order_of(warp, lane);
        if (order.known != before) {
            before = order.known;
            after = !before || includes(*piece, *before, *warp.block) ? piece : joined(warp, before, piece);
        }
        know(order, after);
    });
}

}  // namespace simt
