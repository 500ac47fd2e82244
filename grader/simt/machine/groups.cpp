#include "groups.hpp"

#include <algorithm>
#include <array>

#include "frame.hpp"
#include "launch.hpp"
#include "operations.hpp"
#include "specials.hpp"
#include "waiting.hpp"

namespace simt {
namespace {

bool comes_first(const Group& a, const Group& b) {
    const Frame *at_a = a.frame, *at_b = b.frame;
    std::uint32_t block_a = a.block, block_b = b.block;
    const auto climb = [](const Frame*& frame, std::uint32_t& block) {
        block = frame->call_block;
        frame = frame->parent;
    };
    while (at_a != at_b) {
        if (at_a->depth >= at_b->depth)
            climb(at_a, block_a);
        else
            climb(at_b, block_b);
    }
    return block_a != block_b ? block_a < block_b : a.frame->depth > b.frame->depth;
}

class BlockEnd {
  public:
    BlockEnd(Warp& warp, const Block& block, Group& group) : warp_(warp), block_(block), group_(group) {}

    std::uint32_t go() {
        if (block_.ending == Ending::fall_through) return block_.next;
        const LaneMask chosen = guarded(warp_, block_.last, group_.lanes);
        switch (block_.ending) {
            case Ending::branch:
                return branch(chosen);
            case Ending::collective:
                return collective(chosen);
            case Ending::give_back:
                return come_back(chosen);
            case Ending::jump:
                jump(chosen);
                break;
            case Ending::call:
                enter(warp_.block->launch->program->functions[block_.target], chosen);
                break;
            case Ending::call_indirect:
                call_indirect(chosen);
                break;
            case Ending::leave:
                end_lanes(chosen);
                break;
            case Ending::trap:
                trap(chosen);
                break;
            default:
                return barrier(chosen);
        }
        group_.lanes &= ~chosen;
        return group_.lanes ? block_.next : kNoBlock;
    }

  private:
    std::uint32_t branch(LaneMask taken) {
        if (taken == group_.lanes) return block_.target;
        if (taken == 0) return block_.next;
        warp_.worker->blocks[block_.index].splits += 1;
        // The nearer place keeps the group, the other lanes wait for their number to come.
        const bool target_first = block_.target < block_.next;
        const LaneMask others = target_first ? group_.lanes & ~taken : taken;
        leave_group(others, target_first ? block_.next : block_.target);
        return target_first ? block_.target : block_.next;
    }

    // `lanes` go on at `block` as a group of their own.
    void leave_group(LaneMask lanes, std::uint32_t block) {
        Group other = group_;
        other.block = block;
        other.lanes = lanes;
        join(warp_, other);
        group_.lanes &= ~lanes;
    }

    void jump(LaneMask lanes) {
        const auto* index = warp_.source<std::uint32_t>(block_.last.operand[0]);
        const std::vector<std::uint32_t>& table = group_.frame->function->jump_tables[block_.target];
        for_each_lane(lanes, [&](int lane) {
            if (index[lane] >= table.size()) unknown_target(lane);
            leave_group(1u << lane, table[index[lane]]);
        });
    }

    void enter(const Function& callee, LaneMask lanes) {
        if (lanes == 0) return;
        Frame& frame = call(warp_, block_.last, callee, lanes, group_.block, block_.next);
        join(warp_, {&frame, 0, lanes, 0, 0});
    }

    // A pointer to a function: lanes that call the same one call it together.
    void call_indirect(LaneMask lanes) {
        const std::vector<Function>& functions = warp_.block->launch->program->functions;
        std::array<std::uint64_t, kLanes> address;
        std::copy_n(warp_.source<std::uint64_t>(block_.last.operand[0]), kLanes, address.begin());
        while (lanes != 0) {
            const int first = first_lane(lanes);
            const std::uint64_t wanted = address[static_cast<std::size_t>(first)];
            const std::uint64_t index = (wanted - kFunctionBase) / kFunctionStride;
            if (wanted < kFunctionBase || wanted % kFunctionStride != 0 || index >= functions.size())
                unknown_target(first);
            LaneMask same = 0;
            for_each_lane(
                lanes, [&](int lane) { same |= address[static_cast<std::size_t>(lane)] == wanted ? 1u << lane : 0u; });
            enter(functions[index], same);
            lanes &= ~same;
        }
    }

    [[noreturn]] void unknown_target(int lane) {
        warp_.set_mask(1u << lane);
        report_unsupported(warp_, block_.last);
        throw Stopped{};
    }

    // Of a kernel that is the end, of a called function the way back.
    std::uint32_t come_back(LaneMask lanes) {
        Frame& frame = *group_.frame;
        group_.lanes &= ~lanes;
        const std::uint32_t next = group_.lanes ? block_.next : kNoBlock;
        if (!frame.parent) {
            end_lanes(lanes);
        } else if (lanes != 0) {
            join(warp_, {frame.parent, frame.return_block, lanes, 0, frame.call_block});
            give_back(warp_, frame, lanes);  // the frame may be gone now
        }
        return next;
    }

    void end_lanes(LaneMask lanes) {
        if (lanes == 0) return;
        note_ended(warp_, group_, lanes);
        forget_lanes(warp_, *group_.frame, lanes);
    }

    void trap(LaneMask lanes) {
        if (lanes == 0) return;
        Finding finding;
        finding.fault = Fault::device_trap;
        if (waits_for_grid_in_vain()) finding.text = "grid";
        for_each_lane(lanes, [&](int lane) { report(warp_, block_.last, lane, finding); });
        throw Stopped{};
    }

    // `grid.sync()` stops a kernel that has no workspace for it: code of the header, in a kernel that asks for that.
    bool waits_for_grid_in_vain() const {
        const Launch& launch = *warp_.block->launch;
        const auto& specials = group_.frame->function->specials;
        return !launch.options.cooperative && !launch.program->sites[block_.last.site].own &&
               std::any_of(specials.begin(), specials.end(),
                           [](const Special& special) { return special.which == SpecialRegister::envreg1; });
    }

    std::uint32_t barrier(LaneMask lanes) {
        refuse_unknown(lanes);
        park_at_barrier(warp_, block_, group_, lanes);
        group_.lanes &= ~lanes;
        return group_.lanes ? block_.next : kNoBlock;
    }

    // Each lane brings a mask of its own; lanes that bring the same one wait for each other.
    std::uint32_t collective(LaneMask lanes) {
        refuse_unknown(lanes);
        const LaneMask gone = run_or_park(warp_, block_, group_, lanes);
        group_.lanes &= ~gone;
        return group_.lanes ? block_.next : kNoBlock;
    }

    void refuse_unknown(LaneMask lanes) {
        if (lanes == 0 || block_.last.run != report_unsupported) return;
        warp_.set_mask(lanes);
        report_unsupported(warp_, block_.last);
    }

    Warp& warp_;
    const Block& block_;
    Group& group_;
};

}  // namespace

void join(Warp& warp, const Group& joining) {
    if (joining.lanes == 0) return;
    for (Group& group : warp.groups)
        if (group.frame == joining.frame && group.block == joining.block) {
            group.lanes |= joining.lanes;
            group.back_edges = std::min(group.back_edges, joining.back_edges);
            group.worked = std::max(group.worked, joining.worked);
            return;
        }
    warp.groups.push_back(joining);
}

Group take_next(Warp& warp) {
    auto best = warp.groups.begin();
    for (auto group = best; group != warp.groups.end(); ++group) {
        const bool tired = group->back_edges >= kTurn, best_tired = best->back_edges >= kTurn;
        if (tired != best_tired ? best_tired : comes_first(*group, *best)) best = group;
    }
    const Group taken = *best;
    *best = warp.groups.back();
    warp.groups.pop_back();
    return taken;
}

std::uint32_t run_end(Warp& warp, const Block& block, Group& group) {
    return BlockEnd(warp, block, group).go();
}

namespace {
void nothing(Warp&, const Instruction&) {}  // its meaning lies in BlockEnd
}  // namespace

void add_control_operations(OperationTable& table) {
    for (const char* name : {"bra", "call", "ret", "exit", "trap"}) table.add(name, "", nothing);
    table.add("call.indirect", "R", nothing);
    table.add("brx", "r*", nothing);
    for (const std::string_view verb : {"bar", "barrier"}) {
        table.add({verb, ".sync"}, "ro", nothing);
        table.add({verb, ".arrive"}, "rr", arrive);
        table.add({verb, ".red.popc.u32"}, "wrop", nothing);
        table.add({verb, ".red.and.pred"}, "Prop", nothing);
        table.add({verb, ".red.or.pred"}, "Prop", nothing);
    }
}

}  // namespace simt
