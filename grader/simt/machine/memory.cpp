// Memory instructions: loads and stores on global, shared, local, constant and parameter memory.
#include <algorithm>
#include <utility>

#include "access.hpp"
#include "operations.hpp"
#include "trace.hpp"

namespace simt {
namespace {

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
    const RangeLock lock(warp, *place.region, place.offset, bytes);  // value and knowledge change together
    if (instruction.strength.ordered) publish(warp, lane, *place.region, address, instruction);
    check_piece(warp, instruction, *place.region, place.offset, bytes, lane, AccessKind::write, false, from);
    std::memcpy(to, from, bytes);
}

bool same_pieces(LaneMask lanes, std::uint32_t bytes, const Staging& staging) {
    const std::byte* first = staging.data() + static_cast<std::uint32_t>(first_lane(lanes)) * bytes;
    bool same = true;
    for_each_lane(lanes, [&](int lane) {
        same &= std::memcmp(first, staging.data() + static_cast<std::uint32_t>(lane) * bytes, bytes) == 0;
    });
    return same;
}

}  // namespace

void fetch_piece(Warp& warp, const Instruction& instruction, int lane, std::uint64_t address, Window window,
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
    {
        const RangeLock lock(warp, *place.region, place.offset, bytes);
        check_piece(warp, instruction, *place.region, place.offset, bytes, lane, kind, false, nullptr);
        std::memcpy(to, from, bytes);
        if (instruction.strength.ordered) learn(warp, lane, *place.region, address);
    }
}

void store_pieces(Warp& warp, const Instruction& instruction, const Access& access, Window window, std::uint32_t bytes,
                  const Staging& staging) {
    const Target target = resolve(warp, instruction, access.start, window, bytes);
    count_access(warp, instruction, access, bytes, target.window, Traffic::store);
    const std::uint32_t total = bytes * static_cast<std::uint32_t>(lane_count(warp.mask));
    if (access.shape == Shape::row && !instruction.strength.ordered &&
        plain(warp, instruction, access, target, bytes, total) && target.region->writable) {
        const std::byte* from = staging.data() + static_cast<std::uint32_t>(access.first) * bytes;
        const RangeLock lock(warp, *target.region, target.offset, total);
        check_row(warp, instruction, *target.region, target.offset, total, bytes, access.first, AccessKind::write,
                  from);
        std::memcpy(target.region->data + target.offset, from, total);
        return;
    }
    // All lanes store one value in one place: which of them did it last, nobody can tell.
    const bool once = target.region && access.shape == Shape::uniform && same_pieces(warp.mask, bytes, staging);
    for_each_lane(once ? 1u << access.first : warp.mask, [&](int lane) {
        store_one(warp, instruction, lane, access.address(lane), window, bytes,
                  staging.data() + static_cast<std::uint32_t>(lane) * bytes);
    });
}

namespace {

// ---- loads ---------------------------------------------------------------------------------------------------------

// Lanes' pieces lie at data + lane * stride: into the registers, `part` by part.
template <class Memory, class Register, int N>
void deliver(Warp& warp, const Instruction& instruction, const std::byte* data) {
    for (int part = 0; part < N; ++part) {
        alignas(64) std::array<Register, kLanes> values;
        for (int lane = 0; lane < kLanes; ++lane) {
            Memory value;
            std::memcpy(&value, data + sizeof value * static_cast<std::size_t>(lane * N + part), sizeof value);
            values[static_cast<std::size_t>(lane)] = static_cast<Register>(value);
        }
        warp.assign(instruction.operand[part], values.data());
    }
}

template <class Memory, class Register, int N>
void deliver_one(Warp& warp, const Instruction& instruction, const std::byte* data) {
    for (int part = 0; part < N; ++part) {
        Memory value;
        std::memcpy(&value, data + sizeof value * static_cast<std::size_t>(part), sizeof value);
        alignas(64) std::array<Register, kLanes> values;
        values.fill(static_cast<Register>(value));
        warp.assign(instruction.operand[part], values.data());
    }
}

// A whole warp's row can be read where it lies; a part of one is copied, so that idle lanes read nothing.
template <class Memory, class Register, int N>
void deliver_row(Warp& warp, const Instruction& instruction, const Access& access, const std::byte* from,
                 std::uint32_t total) {
    if (warp.mask == kAllLanes) {
        deliver<Memory, Register, N>(warp, instruction, from);
        return;
    }
    Staging staging{};
    std::memcpy(staging.data() + sizeof(Memory) * N * static_cast<std::size_t>(access.first), from, total);
    deliver<Memory, Register, N>(warp, instruction, staging.data());
}

template <class Memory, class Register, int N>
void load_lanes(Warp& warp, const Instruction& instruction, const Access& access, Window window, AccessKind kind) {
    constexpr std::uint32_t bytes = sizeof(Memory) * N;
    Staging staging{};
    for_each_lane(warp.mask, [&](int lane) {
        fetch_piece(warp, instruction, lane, access.address(lane), window, bytes, kind,
                    staging.data() + static_cast<std::uint32_t>(lane) * bytes);
    });
    deliver<Memory, Register, N>(warp, instruction, staging.data());
}

template <Window W, class Memory, class Register, int N, AccessKind Kind>
void load(Warp& warp, const Instruction& instruction) {
    constexpr std::uint32_t bytes = sizeof(Memory) * N;
    const Access access = access_of(warp, instruction, instruction.operand[N], bytes);
    const Target target = resolve(warp, instruction, access.start, W, bytes);
    count_access(warp, instruction, access, bytes, target.window, Traffic::load);
    const auto lanes = static_cast<std::uint32_t>(lane_count(warp.mask));
    const bool row = access.shape == Shape::row;
    const std::uint32_t total = row ? bytes * lanes : bytes;
    const Watch watch(warp, instruction, access, W, bytes, false);
    if (access.shape == Shape::other || !plain(warp, instruction, access, target, bytes, total)) {
        load_lanes<Memory, Register, N>(warp, instruction, access, W, Kind);
        return;
    }
    {
        const RangeLock lock(warp, *target.region, target.offset, total);
        const std::byte* from = target.region->data + target.offset;
        if (row) {
            const bool settled = bytes == 4 && Kind == AccessKind::read && warp.mask == kAllLanes &&
                                 !instruction.strength.ordered && is_settled_row(warp, *target.region, target.offset);
            if (!settled)
                check_row(warp, instruction, *target.region, target.offset, total, bytes, access.first, Kind, nullptr);
            deliver_row<Memory, Register, N>(warp, instruction, access, from, total);
        } else {
            check_piece(warp, instruction, *target.region, target.offset, bytes, access.first, Kind, lanes > 1,
                        nullptr);
            deliver_one<Memory, Register, N>(warp, instruction, from);
        }
        if (instruction.strength.ordered)
            for_each_lane(warp.mask, [&](int lane) {  // not by its register: the value may lie there now
                const auto before = static_cast<std::uint64_t>(lane - access.first);
                learn(warp, lane, *target.region, access.start + (row ? bytes * before : 0));
            });
    }
}

// ---- words of shared memory ----------------------------------------------------------------------------------------

// Where a matrix product spends its time: a whole warp loads 4 bytes a lane from shared memory, one word for all or 32
// in a row, and nothing about it is new. Whatever differs is left to the general load: then false comes back and
// nothing has been done.
class SharedWords {
  public:
    SharedWords(Warp& warp, const Instruction& instruction)
        : warp_(warp), instruction_(instruction), count_(warp.worker->accesses[instruction.index]) {}

    bool load() {
        const std::uint32_t operand = instruction_.operand[1];
        if (warp_.mask != kAllLanes || !(operand & kNarrowAddress) || instruction_.strength.ordered ||
            warp_.watched != 0 || warp_.is_noted)
            return false;
        const auto* address = warp_.source<std::uint32_t>(operand);
        offset_ = address[0] + static_cast<std::uint32_t>(instruction_.immediate);
        if (count_.row ? is_row(address) : is_uniform(address)) return count_.row ? load_row() : load_one();
        count_.row = !count_.row;  // usually as it was the last time
        return false;
    }

  private:
    static bool is_row(const std::uint32_t* address) {
        std::uint32_t off = 0;
        for (std::uint32_t lane = 0; lane < kLanes; ++lane) off |= address[lane] ^ (address[0] + 4 * lane);
        return off == 0;
    }
    static bool is_uniform(const std::uint32_t* address) {
        std::uint32_t off = 0;
        for (int lane = 0; lane < kLanes; ++lane) off |= address[lane] ^ address[0];
        return off == 0;
    }

    bool reachable(std::uint32_t bytes) const {
        return offset_ % 4 == 0 && warp_.block->launch->variables[count_.variable].holds(offset_, bytes);
    }

    // Did ptxas make one instruction of it and its neighbours?
    bool is_wide() const { return instruction_.compiled != kUnknownWidth && instruction_.compiled > 4; }

    bool load_row() {
        const Region& region = *warp_.block->shared;
        if (!reachable(4 * kLanes) || is_wide() || !is_settled_row(warp_, region, offset_)) return false;
        std::memcpy(warp_.destination<std::uint32_t>(instruction_.operand[0]), region.data + offset_, 4 * kLanes);
        note();
        return true;
    }

    bool load_one() {
        Region& region = *warp_.block->shared;
        if (!reachable(4) || !settle_word(warp_, region, offset_, instruction_.site)) return false;
        std::uint32_t value;
        std::memcpy(&value, region.data + offset_, sizeof value);
        auto* to = warp_.destination<std::uint32_t>(instruction_.operand[0]);
        for (int lane = 0; lane < kLanes; ++lane) to[lane] = value;
        note();
        if (is_wide()) {
            AccessCount& wide = warp_.worker->wide[instruction_.index];
            const std::uint64_t wavefronts = instruction_.compiled == 16 ? 2 : 1;
            wide.requests += 1;
            wide.wavefronts += wavefronts;
            wide.ideal_wavefronts += wavefronts;
        }
        return true;
    }

    void note() {
        count_.requests += 1;
        count_.lanes += kLanes;
        count_.wavefronts += 1;
        count_.ideal_wavefronts += 1;
    }

    Warp& warp_;
    const Instruction& instruction_;
    AccessCount& count_;
    std::uint32_t offset_ = 0;
};

void load_shared_word(Warp& warp, const Instruction& instruction) {
    if (!SharedWords(warp, instruction).load())
        load<Window::shared, std::uint32_t, std::uint32_t, 1, AccessKind::read>(warp, instruction);
}

// ---- loads ahead of their condition
// ----------------------------------------------------------------------------------

// nvcc may load before it is known whether the value is wanted, and drop it where it is not. So nothing is said about
// bytes that nobody wrote; operand 1 receives the lanes whose bytes have a value, and whoever uses them asks there.
void load_tracked_word(Warp& warp, const Instruction& instruction) {
    constexpr std::uint32_t bytes = 4;
    Instruction plain = instruction;
    plain.operand[1] = instruction.operand[2];
    plain.strength.speculative = true;
    const Access access = access_of(warp, plain, plain.operand[1], bytes);
    LaneMask valid = 0;
    for_each_lane(warp.mask, [&](int lane) {
        Region& region = *warp.block->shared;
        const std::uint64_t offset = access.address(lane);
        const bool known = !region.holds(offset, bytes) || offset % bytes != 0 ||
                           region.shadow.page(offset).all_valid(static_cast<std::uint32_t>(offset % kPageBytes), bytes);
        valid |= static_cast<LaneMask>(known) << lane;
    });
    load<Window::shared, std::uint32_t, std::uint32_t, 1, AccessKind::read>(warp, plain);
    warp.set_predicate(instruction.operand[1], valid);
}

// ---- stores --------------------------------------------------------------------------------------------------------

// What was stored has no value after all: `bytes` bytes from `from` on of each lane's piece.
void take_values(Warp& warp, const Instruction& instruction, const Access& access, Window window, LaneMask lanes,
                 std::uint32_t from, std::uint32_t bytes) {
    for_each_lane(lanes, [&](int lane) {
        const std::uint64_t address = access.address(lane) + from;
        const Target place = resolve(warp, instruction, address, window, bytes);
        const std::size_t size = extent(warp, lane, place).size();
        if (place.offset > size || bytes > size - place.offset || address % bytes != 0) return;
        if (place.window == Window::local) {
            const auto valid = std::span(warp.local[static_cast<std::size_t>(lane)].valid).subspan(place.offset, bytes);
            std::fill(valid.begin(), valid.end(), 0);
        } else if (place.window == Window::shared) {
            place.region->shadow.page(place.offset)
                .clear_valid(static_cast<std::uint32_t>(place.offset % kPageBytes), bytes);
        }
    });
}

template <Window W, class Memory, class Register, int N>
void store(Warp& warp, const Instruction& instruction) {
    constexpr std::uint32_t bytes = sizeof(Memory) * N;
    alignas(64) Staging staging;
    for (int part = 0; part < N; ++part) {
        const Register* from = warp.source<Register>(instruction.operand[1 + part]);
        for (int lane = 0; lane < kLanes; ++lane) {
            const auto value = static_cast<Memory>(from[lane]);
            std::memcpy(staging.data() + sizeof value * static_cast<std::size_t>(lane * N + part), &value,
                        sizeof value);
        }
    }
    const Access access = access_of(warp, instruction, instruction.operand[0], bytes);
    {
        const Watch watch(warp, instruction, access, W, bytes, true);
        store_pieces(warp, instruction, access, W, bytes, staging);
    }
    for (std::uint32_t part = 0; part < N; ++part)
        if (const LaneMask lanes = std::exchange(warp.undefined[part], 0) & warp.mask)
            take_values(warp, instruction, access, W, lanes, part * sizeof(Memory), sizeof(Memory));
}

// ---- names ---------------------------------------------------------------------------------------------------------

template <class Memory, class Register, int N>
void add_width(OperationTable& table, std::string_view type) {
    constexpr std::string_view vector = N == 1 ? "" : N == 2 ? ".v2" : ".v4";
    const std::string registers(N, sizeof(Register) == 8 ? 'W' : 'w'), sources(N, sizeof(Register) == 8 ? 'R' : 'r');
    const std::string from = registers + "A", to = "A" + sources;
    constexpr AccessKind read = AccessKind::read;
    table.add({"ld.global.", type, vector}, from, load<Window::global, Memory, Register, N, read>);
    constexpr bool word = sizeof(Memory) * N == 4 && sizeof(Memory) == 4;
    table.add({"ld.shared.", type, vector}, from,
              word ? load_shared_word : load<Window::shared, Memory, Register, N, read>);
    table.add({"ld.local.", type, vector}, from, load<Window::local, Memory, Register, N, read>);
    table.add({"ld.generic.", type, vector}, from, load<Window::generic, Memory, Register, N, read>);
    table.add({"ld.const.", type, vector}, from, load<Window::global, Memory, Register, N, read>);
    table.add({"ld.global.nc.", type, vector}, from, load<Window::global, Memory, Register, N, AccessKind::read_only>);
    table.add({"ld.param.indexed.", type, vector}, from, load<Window::parameter, Memory, Register, N, read>);
    if constexpr (std::is_unsigned_v<Memory>) {  // a store takes bits, whatever they mean
        table.add({"st.global.", type, vector}, to, store<Window::global, Memory, Register, N>);
        table.add({"st.shared.", type, vector}, to, store<Window::shared, Memory, Register, N>);
        table.add({"st.local.", type, vector}, to, store<Window::local, Memory, Register, N>);
        table.add({"st.generic.", type, vector}, to, store<Window::generic, Memory, Register, N>);
    }
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
    add_type<std::uint32_t, std::uint32_t>(table, "b32");
    add_type<std::uint64_t, std::uint64_t>(table, "b64");
    table.add("ld.shared.tracked.b32", "wPA", load_tracked_word);
}

}  // namespace simt
