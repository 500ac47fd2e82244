// Memory instructions: loads and stores on global, shared, local, constant and parameter memory.
//
// A warp's access is classed before anything else: one address for all lanes, adjacent lanes side by side (a row), or
// anything else. The first two are checked and moved as one interval, the last lane by lane.
#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <utility>

#include "checks.hpp"
#include "counters.hpp"
#include "launch.hpp"
#include "operations.hpp"
#include "warp.hpp"

namespace simt {
namespace {

enum class Window : std::uint8_t { global, shared, local, parameter, generic };
enum class Shape : std::uint8_t { uniform, row, other };

struct Access {
    std::array<std::uint64_t, kLanes> address;
    Shape shape;
    int first;  // lowest lane that takes part
};

// True when the lanes from `first` on touch pieces of `stride` bytes side by side.
bool is_row(const std::uint64_t* address, LaneMask lanes, int first, std::uint64_t stride) {
    const LaneMask run = lanes >> first;
    if (run & (run + 1)) return false;  // a hole
    const int count = lane_count(lanes);
    std::uint64_t off = 0;
    const std::uint64_t start = address[first];
    if (count == kLanes) {
        for (int i = 0; i < kLanes; ++i) off |= address[i] ^ (start + stride * static_cast<std::uint64_t>(i));
        return off == 0;
    }
    for (int i = 0; i < count; ++i) off |= address[first + i] ^ (start + stride * static_cast<std::uint64_t>(i));
    return off == 0;
}

bool is_uniform(const std::uint64_t* address, LaneMask lanes, int first) {
    std::uint64_t off = 0;
    if (lanes == kAllLanes) {
        for (int i = 0; i < kLanes; ++i) off |= address[i] ^ address[0];
    } else {
        for_each_lane(lanes, [&](int lane) { off |= address[lane] ^ address[first]; });
    }
    return off == 0;
}

Access gather(const Warp& warp, const Instruction& instruction, std::uint32_t operand, std::uint32_t bytes) {
    Access access;
    const auto add = static_cast<std::uint64_t>(instruction.immediate);
    if (operand & kNarrowAddress) {
        const auto* from = warp.source<std::uint32_t>(operand);
        for (int lane = 0; lane < kLanes; ++lane) access.address[lane] = static_cast<std::uint32_t>(from[lane] + add);
    } else {
        const auto* from = warp.source<std::uint64_t>(operand);
        for (int lane = 0; lane < kLanes; ++lane) access.address[lane] = from[lane] + add;
    }
    access.first = first_lane(warp.mask);
    access.shape = is_row(access.address.data(), warp.mask, access.first, bytes) ? Shape::row
                   : is_uniform(access.address.data(), warp.mask, access.first)  ? Shape::uniform
                                                                                 : Shape::other;
    return access;
}

// Where an address leads: a region and the place in it, or (no region) a lane's own local memory or parameters.
struct Target {
    Region* region;
    std::uint64_t offset;
    Window window;
};

Window window_of(std::uint64_t address) {
    const std::uint64_t high = address & ~(kWindowBytes - 1);
    return high == kSharedWindow      ? Window::shared
           : high == kLocalWindow     ? Window::local
           : high == kParameterWindow ? Window::parameter
                                      : Window::global;
}

Target resolve(Warp& warp, const Instruction& instruction, std::uint64_t address, Window window, std::uint32_t bytes) {
    if (window == Window::generic) {
        window = window_of(address);
        if (window == Window::shared || window == Window::local) address &= kWindowBytes - 1;
    }
    if (window == Window::parameter) return {nullptr, address - kParameterWindow, window};
    if (window == Window::local) return {nullptr, address, window};
    if (window == Window::shared) return {warp.block->shared.get(), address, window};
    Region*& hint = warp.worker->accesses[instruction.index].hint;
    if (!hint || !hint->holds(address, bytes)) hint = warp.block->launch->device->memory().nearest(address);
    return {hint, hint ? address - hint->base : address, window};
}

const char* space_name(Window window) {
    switch (window) {
        case Window::shared:
            return "shared";
        case Window::local:
            return "local";
        case Window::parameter:
            return "param";
        default:
            return "global";
    }
}

std::span<std::byte> parameters_of(Warp& warp, int lane) {
    if (!warp.frame->parent) return warp.block->launch->parameters;
    const std::size_t bytes = warp.frame->function->parameter_bytes;
    return std::span(warp.frame->parameters).subspan(static_cast<std::size_t>(lane) * bytes, bytes);
}

// All bytes that one lane can reach where the target lies.
std::span<std::byte> extent(Warp& warp, int lane, const Target& target) {
    if (target.region) return {target.region->data, target.region->size};
    if (target.window == Window::parameter) return parameters_of(warp, lane);
    if (target.window == Window::local) return warp.local[static_cast<std::size_t>(lane)].bytes;
    return {};
}

void report_access(Warp& warp, const Instruction& instruction, int lane, Fault fault, const Target& target,
                   std::uint64_t address, std::uint32_t bytes, bool write) {
    Finding finding;
    finding.fault = fault;
    finding.space = space_name(target.window);
    finding.address = address;
    finding.bytes = bytes;
    finding.write = write;
    finding.offset = static_cast<std::int64_t>(target.offset);
    finding.region_bytes = extent(warp, lane, target).size();
    if (target.region) finding.region = target.region->name;
    report(warp, instruction, lane, std::move(finding));
}

// The memory behind one lane's access, or null after a report.
std::byte* place_of(Warp& warp, const Instruction& instruction, int lane, const Target& target, std::uint64_t address,
                    std::uint32_t bytes, bool write) {
    const std::span<std::byte> all = extent(warp, lane, target);
    Fault fault;
    if (target.offset > all.size() || bytes > all.size() - target.offset)
        fault = write ? Fault::out_of_bounds_write : Fault::out_of_bounds_read;
    else if (address % bytes != 0)
        fault = Fault::misaligned_access;
    else if (write && (target.window == Window::parameter || (target.region && !target.region->writable)))
        fault = Fault::read_only_violation;
    else
        return all.data() + target.offset;
    report_access(warp, instruction, lane, fault, target, address, bytes, write);
    return nullptr;
}

// Local memory has no races, but bytes without a value.
void check_local(Warp& warp, const Instruction& instruction, int lane, const Target& target, std::uint64_t address,
                 std::uint32_t bytes, bool write) {
    if (target.window != Window::local) return;
    LocalMemory& local = warp.local[static_cast<std::size_t>(lane)];
    const auto valid = std::span(local.valid).subspan(target.offset, bytes);
    if (write)
        std::fill(valid.begin(), valid.end(), 1);
    else if (!std::all_of(valid.begin(), valid.end(), [](std::uint8_t one) { return one != 0; }))
        report_access(warp, instruction, lane, Fault::uninitialised_read, target, address, bytes, false);
}

// Locks the pages that [offset, offset + bytes) lies in; at most two, lower one first.
class RangeLock {
  public:
    RangeLock(Warp& warp, Region& region, std::uint64_t offset, std::uint32_t bytes)
        : needed_(warp.block->launch->parallel && region.space == Space::global),
          first_(region.shadow.page(offset), needed_),
          last_(region.shadow.page(offset + bytes - 1),
                needed_ && offset / kPageBytes != (offset + bytes - 1) / kPageBytes) {}

  private:
    bool needed_;
    PageLock first_, last_;
};

void count_access(Warp& warp, const Instruction& instruction, const Access& access, std::uint32_t bytes,
                  Window window) {
    AccessCount& count = warp.worker->accesses[instruction.index];
    const auto lanes = static_cast<std::uint64_t>(lane_count(warp.mask));
    count.requests += 1;
    count.lanes += lanes;
    if (window == Window::local || window == Window::parameter) return;
    if (window == Window::shared) {
        const bool free = bytes <= 4 && (access.shape == Shape::uniform || (access.shape == Shape::row && bytes == 4));
        const Cost cost = free ? Cost{1, 1} : shared_wavefronts(access.address.data(), warp.mask, bytes);
        count.wavefronts += cost.actual;
        count.ideal_wavefronts += cost.ideal;
        return;
    }
    const std::uint64_t start = access.address[access.first];
    const Cost cost = access.shape == Shape::row       ? row_sectors(start, lanes * bytes)
                      : access.shape == Shape::uniform ? Cost{1, 1}
                                                       : global_sectors(access.address.data(), warp.mask, bytes);
    count.sectors += cost.actual;
    count.ideal_sectors += cost.ideal;
}

// Whole row or single piece inside one region, aligned, and (for a store) writable?
bool plain(const Access& access, const Target& target, std::uint32_t bytes, std::uint64_t total) {
    return target.region && access.address[access.first] % bytes == 0 && target.offset <= target.region->size &&
           total <= target.region->size - target.offset;
}

// Lanes' pieces side by side, as they lie in memory.
using Staging = std::array<std::byte, kLanes * 16>;

// What a load brings: lane's piece at data + (lane - first) * stride. Pages stay locked as long as it lives.
struct Fetched {
    const std::byte* data;
    std::uint32_t stride;
    std::optional<RangeLock> lock;
};

void fetch_one(Warp& warp, const Instruction& instruction, int lane, std::uint64_t address, Window window,
               std::uint32_t bytes, AccessKind kind, std::byte* to) {
    const Target place = resolve(warp, instruction, address, window, bytes);
    const std::byte* from = place_of(warp, instruction, lane, place, address, bytes, false);
    if (!from) {
        std::memset(to, 0, bytes);
        return;
    }
    if (!place.region) {
        check_local(warp, instruction, lane, place, address, bytes, false);
        std::memcpy(to, from, bytes);
        return;
    }
    const RangeLock lock(warp, *place.region, place.offset, bytes);
    check_piece(warp, instruction, *place.region, place.offset, bytes, lane, kind, false, nullptr);
    std::memcpy(to, from, bytes);
}

void fetch(Warp& warp, const Instruction& instruction, std::uint32_t operand, Window window, std::uint32_t bytes,
           AccessKind kind, int& first, Staging& staging, Fetched& fetched) {
    const Access access = gather(warp, instruction, operand, bytes);
    first = access.first;
    const Target target = resolve(warp, instruction, access.address[first], window, bytes);
    count_access(warp, instruction, access, bytes, target.window);
    const auto lanes = static_cast<std::uint32_t>(lane_count(warp.mask));
    const std::uint32_t total = access.shape == Shape::row ? bytes * lanes : bytes;
    if (access.shape != Shape::other && plain(access, target, bytes, total)) {
        fetched.lock.emplace(warp, *target.region, target.offset, total);
        fetched.data = target.region->data + target.offset;
        fetched.stride = access.shape == Shape::row ? bytes : 0;
        if (access.shape == Shape::row)
            check_row(warp, instruction, *target.region, target.offset, total, bytes, first, kind, nullptr);
        else
            check_piece(warp, instruction, *target.region, target.offset, bytes, first, kind, lanes > 1, nullptr);
        return;
    }
    for_each_lane(warp.mask, [&](int lane) {
        fetch_one(warp, instruction, lane, access.address[lane], window, bytes, kind,
                  staging.data() + static_cast<std::uint32_t>(lane - first) * bytes);
    });
    fetched.data = staging.data();
    fetched.stride = bytes;
}

template <Window W, class Memory, class Register, int N, AccessKind Kind>
void load(Warp& warp, const Instruction& instruction) {
    Staging staging;
    Fetched fetched;
    int first = 0;
    fetch(warp, instruction, instruction.operand[N], W, sizeof(Memory) * N, Kind, first, staging, fetched);
    for (int part = 0; part < N; ++part) {
        Register* to = warp.destination<Register>(instruction.operand[part]);
        const std::byte* from = fetched.data + sizeof(Memory) * static_cast<std::size_t>(part);
        if (N == 1 && sizeof(Memory) == sizeof(Register) && warp.mask == kAllLanes &&
            fetched.stride == sizeof(Memory)) {
            std::memcpy(to, from, sizeof(Memory) * kLanes);
            continue;
        }
        for_each_lane(warp.mask, [&](int lane) {
            Memory value;
            std::memcpy(&value, from + static_cast<std::uint32_t>(lane - first) * fetched.stride, sizeof value);
            to[lane] = static_cast<Register>(value);
        });
    }
}

void store_one(Warp& warp, const Instruction& instruction, int lane, std::uint64_t address, Window window,
               std::uint32_t bytes, const std::byte* from) {
    const Target place = resolve(warp, instruction, address, window, bytes);
    std::byte* to = place_of(warp, instruction, lane, place, address, bytes, true);
    if (!to) return;
    if (!place.region) {
        check_local(warp, instruction, lane, place, address, bytes, true);
        std::memcpy(to, from, bytes);
        return;
    }
    const RangeLock lock(warp, *place.region, place.offset, bytes);
    check_piece(warp, instruction, *place.region, place.offset, bytes, lane, AccessKind::write, false, from);
    std::memcpy(to, from, bytes);
}

// What was stored has no value after all: `bytes` bytes from `from` on of each lane's piece.
void take_values(Warp& warp, const Instruction& instruction, const Access& access, Window window, LaneMask lanes,
                 std::uint32_t from, std::uint32_t bytes) {
    for_each_lane(lanes, [&](int lane) {
        const std::uint64_t address = access.address[lane] + from;
        const Target place = resolve(warp, instruction, address, window, bytes);
        const std::size_t size = extent(warp, lane, place).size();
        if (place.offset > size || bytes > size - place.offset) return;
        if (place.window == Window::local) {
            const auto valid = std::span(warp.local[static_cast<std::size_t>(lane)].valid).subspan(place.offset, bytes);
            std::fill(valid.begin(), valid.end(), 0);
        } else if (place.window == Window::shared) {
            place.region->shadow.page(place.offset)
                .clear_valid(static_cast<std::uint32_t>(place.offset % kPageBytes), bytes);
        }
    });
}

bool same_pieces(LaneMask lanes, std::uint32_t bytes, const Staging& staging) {
    const std::byte* first = staging.data() + static_cast<std::uint32_t>(first_lane(lanes)) * bytes;
    bool same = true;
    for_each_lane(lanes, [&](int lane) {
        same &= std::memcmp(first, staging.data() + static_cast<std::uint32_t>(lane) * bytes, bytes) == 0;
    });
    return same;
}

// Pieces lie at their lane's place in `staging`. Returns where they went.
Access store_pieces(Warp& warp, const Instruction& instruction, Window window, std::uint32_t bytes,
                    const Staging& staging) {
    const Access access = gather(warp, instruction, instruction.operand[0], bytes);
    const Target target = resolve(warp, instruction, access.address[access.first], window, bytes);
    count_access(warp, instruction, access, bytes, target.window);
    const std::uint32_t total = bytes * static_cast<std::uint32_t>(lane_count(warp.mask));
    if (access.shape == Shape::row && plain(access, target, bytes, total) && target.region->writable) {
        const std::byte* from = staging.data() + static_cast<std::uint32_t>(access.first) * bytes;
        const RangeLock lock(warp, *target.region, target.offset, total);
        check_row(warp, instruction, *target.region, target.offset, total, bytes, access.first, AccessKind::write,
                  from);
        std::memcpy(target.region->data + target.offset, from, total);
        return access;
    }
    // All lanes store one value in one place: which of them did it last, nobody can tell.
    const bool once = target.region && access.shape == Shape::uniform && same_pieces(warp.mask, bytes, staging);
    for_each_lane(once ? 1u << access.first : warp.mask, [&](int lane) {
        store_one(warp, instruction, lane, access.address[lane], window, bytes,
                  staging.data() + static_cast<std::uint32_t>(lane) * bytes);
    });
    return access;
}

template <Window W, class Memory, class Register, int N>
void store(Warp& warp, const Instruction& instruction) {
    Staging staging;
    for (int part = 0; part < N; ++part) {
        const Register* from = warp.source<Register>(instruction.operand[1 + part]);
        for (int lane = 0; lane < kLanes; ++lane) {
            const auto value = static_cast<Memory>(from[lane]);
            std::memcpy(staging.data() + sizeof value * static_cast<std::size_t>(lane * N + part), &value,
                        sizeof value);
        }
    }
    const Access access = store_pieces(warp, instruction, W, sizeof(Memory) * N, staging);
    for (std::uint32_t part = 0; part < N; ++part)
        if (const LaneMask lanes = std::exchange(warp.undefined[part], 0) & warp.mask)
            take_values(warp, instruction, access, W, lanes, part * sizeof(Memory), sizeof(Memory));
}

template <class Memory, class Register, int N>
void add_width(OperationTable& table, std::string_view type) {
    constexpr std::string_view vector = N == 1 ? "" : N == 2 ? ".v2" : ".v4";
    const std::string registers(N, sizeof(Register) == 8 ? 'W' : 'w'), sources(N, sizeof(Register) == 8 ? 'R' : 'r');
    const std::string from = registers + "A", to = "A" + sources;
    for (const std::string_view strength : {"", "volatile."}) {
        table.add({"ld.", strength, "global.", type, vector}, from,
                  load<Window::global, Memory, Register, N, AccessKind::read>);
        table.add({"ld.", strength, "shared.", type, vector}, from,
                  load<Window::shared, Memory, Register, N, AccessKind::read>);
        table.add({"ld.", strength, "local.", type, vector}, from,
                  load<Window::local, Memory, Register, N, AccessKind::read>);
        table.add({"ld.", strength, "generic.", type, vector}, from,
                  load<Window::generic, Memory, Register, N, AccessKind::read>);
        table.add({"st.", strength, "global.", type, vector}, to, store<Window::global, Memory, Register, N>);
        table.add({"st.", strength, "shared.", type, vector}, to, store<Window::shared, Memory, Register, N>);
        table.add({"st.", strength, "local.", type, vector}, to, store<Window::local, Memory, Register, N>);
        table.add({"st.", strength, "generic.", type, vector}, to, store<Window::generic, Memory, Register, N>);
    }
    table.add({"ld.const.", type, vector}, from, load<Window::global, Memory, Register, N, AccessKind::read>);
    table.add({"ld.global.nc.", type, vector}, from, load<Window::global, Memory, Register, N, AccessKind::read_only>);
    table.add({"ld.param.indexed.", type, vector}, from,
              load<Window::parameter, Memory, Register, N, AccessKind::read>);
}

template <class Memory, class Register>
void add_type(OperationTable& table, std::string_view type) {
    add_width<Memory, Register, 1>(table, type);
    add_width<Memory, Register, 2>(table, type);
    if constexpr (sizeof(Memory) * 4 <= 16) add_width<Memory, Register, 4>(table, type);
}

}  // namespace

void add_memory_operations(OperationTable& table) {
    add_type<std::uint8_t, std::uint32_t>(table, "u8");
    add_type<std::int8_t, std::uint32_t>(table, "s8");
    add_type<std::uint16_t, std::uint32_t>(table, "u16");
    add_type<std::int16_t, std::uint32_t>(table, "s16");
    add_type<std::uint16_t, std::uint32_t>(table, "b16");
    add_type<std::uint8_t, std::uint32_t>(table, "b8");
    add_type<std::uint32_t, std::uint32_t>(table, "b32");
    add_type<std::uint64_t, std::uint64_t>(table, "b64");
}

}  // namespace simt
