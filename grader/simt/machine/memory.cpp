// Memory instructions: loads, stores and atomics on global, shared, local and constant memory.
//
// A warp's access is classed before anything else: one address for all lanes, adjacent lanes side by side (a row), or
// anything else. The first two are checked and moved as one interval, the last lane by lane.
#include <algorithm>
#include <array>
#include <type_traits>

#include "checks.hpp"
#include "counters.hpp"
#include "launch.hpp"
#include "operations.hpp"
#include "warp.hpp"

namespace simt {
namespace {

enum class Window : std::uint8_t { global, shared, local, generic };
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

// Where an address leads: a region and the place in it, or a lane's local memory.
struct Target {
    Region* region;
    std::uint64_t offset;
    Window window;
};

Target resolve(Warp& warp, const Instruction& instruction, std::uint64_t address, Window window, std::uint32_t bytes) {
    if (window == Window::generic) {
        const std::uint64_t high = address & ~(kWindowBytes - 1);
        window = high == kSharedWindow ? Window::shared : high == kLocalWindow ? Window::local : Window::global;
        if (window != Window::global) address -= high;
    }
    if (window == Window::local) return {nullptr, address, window};
    if (window == Window::shared) return {warp.block->shared.get(), address, window};
    Region*& hint = warp.worker->accesses[instruction.index].hint;
    if (!hint || !hint->holds(address, bytes)) hint = warp.block->launch->device->memory().nearest(address);
    return {hint, hint ? address - hint->base : address, window};
}

const char* space_name(Window window) { return window == Window::shared ? "shared" : window == Window::local ? "local" : "global"; }

void report_access(Warp& warp, const Instruction& instruction, int lane, Fault fault, const Target& target, std::uint64_t address,
                   std::uint32_t bytes, bool write) {
    Finding finding;
    finding.fault = fault;
    finding.space = space_name(target.window);
    finding.address = address;
    finding.bytes = bytes;
    finding.write = write;
    finding.offset = static_cast<std::int64_t>(target.offset);
    if (target.region) {
        finding.region = target.region->name;
        finding.region_bytes = target.region->size;
    } else if (target.window == Window::local) {
        finding.region_bytes = warp.block->launch->function->local_bytes;
    }
    report(warp, instruction, lane, std::move(finding));
}

// The memory behind one lane's access, or null after a report.
std::byte* place_of(Warp& warp, const Instruction& instruction, int lane, const Target& target, std::uint64_t address,
                    std::uint32_t bytes, bool write) {
    const std::uint64_t size = target.region ? target.region->size
                               : target.window == Window::local ? warp.block->launch->function->local_bytes : 0;
    if (target.offset > size || bytes > size - target.offset) {
        report_access(warp, instruction, lane, write ? Fault::out_of_bounds_write : Fault::out_of_bounds_read, target, address, bytes, write);
        return nullptr;
    }
    if (address % bytes != 0) {
        report_access(warp, instruction, lane, Fault::misaligned_access, target, address, bytes, write);
        return nullptr;
    }
    if (write && target.region && !target.region->writable) {
        report_access(warp, instruction, lane, Fault::read_only_violation, target, address, bytes, write);
        return nullptr;
    }
    if (target.region) return target.region->data + target.offset;
    return warp.local.data() + static_cast<std::size_t>(lane) * size + target.offset;
}

// Locks the pages that [offset, offset + bytes) lies in; at most two, lower one first.
class RangeLock {
  public:
    RangeLock(Warp& warp, Region& region, std::uint64_t offset, std::uint32_t bytes)
        : needed_(warp.block->launch->parallel && region.space == Space::global),
          first_(region.shadow.page(offset), needed_),
          last_(region.shadow.page(offset + bytes - 1), needed_ && offset / kPageBytes != (offset + bytes - 1) / kPageBytes) {}

  private:
    bool needed_;
    PageLock first_, last_;
};

void count_access(Warp& warp, const Instruction& instruction, const Access& access, std::uint32_t bytes, Window window) {
    AccessCount& count = warp.worker->accesses[instruction.index];
    const auto lanes = static_cast<std::uint64_t>(lane_count(warp.mask));
    count.requests += 1;
    count.lanes += lanes;
    if (window == Window::local) return;
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

template <class Memory, int N>
struct Piece {
    Memory part[N];
};

template <class Memory, class Register, int N>
void load_part(const Warp& warp, const Instruction& instruction, int lane, const Piece<Memory, N>& value) {
    for (int part = 0; part < N; ++part)
        warp.destination<Register>(instruction.operand[part])[lane] = static_cast<Register>(value.part[part]);
}

template <class Memory, class Register, int N>
void load_row(const Warp& warp, const Instruction& instruction, int first, const std::byte* from) {
    const int count = lane_count(warp.mask);
    if constexpr (N == 1 && std::is_same_v<Memory, Register>) {
        std::memcpy(warp.destination<Register>(instruction.operand[0]) + first, from, sizeof(Memory) * static_cast<std::size_t>(count));
    } else {
        for (int part = 0; part < N; ++part) {
            Register* to = warp.destination<Register>(instruction.operand[part]) + first;
            for (int i = 0; i < count; ++i) {
                Memory value;
                std::memcpy(&value, from + sizeof(Memory) * static_cast<std::size_t>(i * N + part), sizeof value);
                to[i] = static_cast<Register>(value);
            }
        }
    }
}

template <Window W, class Memory, class Register, int N, AccessKind Kind>
void load(Warp& warp, const Instruction& instruction) {
    constexpr std::uint32_t bytes = sizeof(Memory) * N;
    const Access access = gather(warp, instruction, instruction.operand[N], bytes);
    const std::uint64_t start = access.address[access.first];
    const Target target = resolve(warp, instruction, start, W, bytes);
    count_access(warp, instruction, access, bytes, target.window);
    if (target.region && access.shape != Shape::other && start % bytes == 0) {
        const std::uint32_t total = access.shape == Shape::row ? bytes * static_cast<std::uint32_t>(lane_count(warp.mask)) : bytes;
        if (target.offset <= target.region->size && total <= target.region->size - target.offset) {
            const RangeLock lock(warp, *target.region, target.offset, total);
            const std::byte* from = target.region->data + target.offset;
            if (access.shape == Shape::row) {
                check_row(warp, instruction, *target.region, target.offset, total, bytes, access.first, Kind, nullptr);
                load_row<Memory, Register, N>(warp, instruction, access.first, from);
                return;
            }
            check_piece(warp, instruction, *target.region, target.offset, bytes, access.first, Kind, lane_count(warp.mask) > 1, nullptr);
            Piece<Memory, N> value;
            std::memcpy(&value, from, sizeof value);
            for_each_lane(warp.mask, [&](int lane) { load_part<Memory, Register, N>(warp, instruction, lane, value); });
            return;
        }
    }
    for_each_lane(warp.mask, [&](int lane) {
        const std::uint64_t address = access.address[lane];
        const Target place = resolve(warp, instruction, address, W, bytes);
        Piece<Memory, N> value{};
        if (const std::byte* from = place_of(warp, instruction, lane, place, address, bytes, false)) {
            if (place.region) {
                const RangeLock lock(warp, *place.region, place.offset, bytes);
                check_piece(warp, instruction, *place.region, place.offset, bytes, lane, Kind, false, nullptr);
                std::memcpy(&value, from, sizeof value);
            } else {
                std::memcpy(&value, from, sizeof value);
            }
        }
        load_part<Memory, Register, N>(warp, instruction, lane, value);
    });
}

template <class Memory, class Register, int N>
Piece<Memory, N> stored_piece(const Warp& warp, const Instruction& instruction, int lane) {
    Piece<Memory, N> value;
    for (int part = 0; part < N; ++part)
        value.part[part] = static_cast<Memory>(warp.source<Register>(instruction.operand[1 + part])[lane]);
    return value;
}

template <Window W, class Memory, class Register, int N>
void store(Warp& warp, const Instruction& instruction) {
    constexpr std::uint32_t bytes = sizeof(Memory) * N;
    const Access access = gather(warp, instruction, instruction.operand[0], bytes);
    const std::uint64_t start = access.address[access.first];
    const Target target = resolve(warp, instruction, start, W, bytes);
    count_access(warp, instruction, access, bytes, target.window);
    if (target.region && target.region->writable && access.shape == Shape::row && start % bytes == 0) {
        const std::uint32_t total = bytes * static_cast<std::uint32_t>(lane_count(warp.mask));
        if (target.offset <= target.region->size && total <= target.region->size - target.offset) {
            std::array<Piece<Memory, N>, kLanes> row;
            for (int lane = access.first; lane < access.first + lane_count(warp.mask); ++lane)
                row[static_cast<std::size_t>(lane - access.first)] = stored_piece<Memory, Register, N>(warp, instruction, lane);
            const RangeLock lock(warp, *target.region, target.offset, total);
            check_row(warp, instruction, *target.region, target.offset, total, bytes, access.first, AccessKind::write,
                      reinterpret_cast<const std::byte*>(row.data()));
            std::memcpy(target.region->data + target.offset, row.data(), total);
            return;
        }
    }
    for_each_lane(warp.mask, [&](int lane) {
        const std::uint64_t address = access.address[lane];
        const Target place = resolve(warp, instruction, address, W, bytes);
        std::byte* to = place_of(warp, instruction, lane, place, address, bytes, true);
        if (!to) return;
        const Piece<Memory, N> value = stored_piece<Memory, Register, N>(warp, instruction, lane);
        if (place.region) {
            const RangeLock lock(warp, *place.region, place.offset, bytes);
            check_piece(warp, instruction, *place.region, place.offset, bytes, lane, AccessKind::write, false,
                        reinterpret_cast<const std::byte*>(&value));
            std::memcpy(to, &value, sizeof value);
        } else {
            std::memcpy(to, &value, sizeof value);
        }
    });
}

template <class Memory, class Register>
void load_parameter(Warp& warp, const Instruction& instruction) {
    const std::vector<std::byte>& parameters = warp.block->launch->parameters;
    Memory value{};
    const auto offset = static_cast<std::uint64_t>(instruction.immediate);
    if (offset <= parameters.size() && sizeof value <= parameters.size() - offset)
        std::memcpy(&value, parameters.data() + offset, sizeof value);
    std::array<Register, kLanes> all;
    all.fill(static_cast<Register>(value));
    warp.assign(instruction.operand[0], all.data());
}

template <class Memory, class Register, int N>
void load_parameters(Warp& warp, const Instruction& instruction) {
    for (int part = 0; part < N; ++part) {
        Instruction one = instruction;
        one.operand[0] = instruction.operand[part];
        one.immediate = instruction.immediate + part * static_cast<std::int64_t>(sizeof(Memory));
        load_parameter<Memory, Register>(warp, one);
    }
}

template <class Memory, class Register, int N>
void add_width(OperationTable& table, const std::string& type) {
    const std::string tail = "." + type + (N > 1 ? ".v" + std::to_string(N) : "");
    const std::string registers(N, sizeof(Register) == 8 ? 'W' : 'w'), sources(N, sizeof(Register) == 8 ? 'R' : 'r');
    for (const std::string strength : {"", "volatile."}) {
        table.add("ld." + strength + "global" + tail, registers + "A", load<Window::global, Memory, Register, N, AccessKind::read>);
        table.add("ld." + strength + "shared" + tail, registers + "A", load<Window::shared, Memory, Register, N, AccessKind::read>);
        table.add("ld." + strength + "local" + tail, registers + "A", load<Window::local, Memory, Register, N, AccessKind::read>);
        table.add("ld." + strength + "generic" + tail, registers + "A", load<Window::generic, Memory, Register, N, AccessKind::read>);
        table.add("st." + strength + "global" + tail, "A" + sources, store<Window::global, Memory, Register, N>);
        table.add("st." + strength + "shared" + tail, "A" + sources, store<Window::shared, Memory, Register, N>);
        table.add("st." + strength + "local" + tail, "A" + sources, store<Window::local, Memory, Register, N>);
        table.add("st." + strength + "generic" + tail, "A" + sources, store<Window::generic, Memory, Register, N>);
    }
    table.add("ld.const" + tail, registers + "A", load<Window::global, Memory, Register, N, AccessKind::read>);
    table.add("ld.global.nc" + tail, registers + "A", load<Window::global, Memory, Register, N, AccessKind::read_only>);
    table.add("ld.param" + tail, registers, load_parameters<Memory, Register, N>);
}

template <class Memory, class Register>
void add_type(OperationTable& table, const std::string& type) {
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
    add_type<std::int32_t, std::uint64_t>(table, "s32");
    add_type<std::uint32_t, std::uint64_t>(table, "u32");
}

}  // namespace simt
