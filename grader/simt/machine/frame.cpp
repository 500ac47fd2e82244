#include "frame.hpp"

#include <algorithm>

#include "elementwise.hpp"
#include "launch.hpp"
#include "operations.hpp"
#include "specials.hpp"

namespace simt {
namespace {

constexpr std::uint32_t kMostDepth = 1024, kMostLocalBytes = 1u << 19;  // a thread's stack
constexpr std::uint64_t kMostRegisterBytes = 64u << 20;                 // of a warp's calls

std::uint64_t local_limit(const Warp& warp) {
    return std::min<std::uint64_t>(kMostLocalBytes, kMostLocalOfBlock / warp.block->launch->block.volume());
}

void prepare(Warp& warp, Frame& frame, const Function& function) {
    frame.function = &function;
    frame.registers.assign(function.register_file_bytes(), std::byte{0});
    frame.predicates.assign(function.predicates, 0);
    frame.predicates[kPredicateTrue] = kAllLanes;
    frame.arguments.assign(std::size_t{function.argument_bytes} * kLanes, std::byte{0});
    frame.returned.assign(std::size_t{function.returned_bytes} * kLanes, std::byte{0});
    fill_specials(warp, frame);
}

// Fresh local memory for the frame; what an earlier call left there has no value any more.
void make_local(Warp& warp, const Frame& frame, LaneMask lanes) {
    if (frame.function->local_bytes == 0) return;
    const std::size_t end = std::size_t{frame.local_base} + frame.function->local_bytes;
    for_each_lane(lanes, [&](int lane) {
        LocalMemory& local = warp.local[static_cast<std::size_t>(lane)];
        local.bytes.resize(end);
        local.valid.resize(end);
        std::fill(local.valid.begin() + frame.local_base, local.valid.end(), 0);
    });
}

// Copies `lanes`' blocks from one frame to another; the blocks may differ in size.
void pass(const std::vector<std::byte>& from, std::uint32_t from_bytes, std::vector<std::byte>& to,
          std::uint32_t to_bytes, LaneMask lanes) {
    const std::uint32_t bytes = std::min(from_bytes, to_bytes);
    for_each_lane(lanes, [&](int lane) {
        const auto number = static_cast<std::size_t>(lane);
        std::copy_n(from.begin() + static_cast<std::ptrdiff_t>(number * from_bytes), bytes,
                    to.begin() + static_cast<std::ptrdiff_t>(number * to_bytes));
    });
}

template <class T, int N>
void put(Warp& warp, const Instruction& instruction, std::vector<std::byte>& block, std::uint32_t block_bytes) {
    const auto offset = static_cast<std::uint64_t>(instruction.immediate);
    if (offset > block_bytes || sizeof(T) * N > block_bytes - offset) return;
    for (int part = 0; part < N; ++part) {
        const auto* from =
            warp.source<std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>>(instruction.operand[part]);
        for_each_lane(warp.mask, [&](int lane) {
            const T value = static_cast<T>(from[lane]);
            std::memcpy(block.data() + static_cast<std::size_t>(lane) * block_bytes + offset + sizeof(T) * part, &value,
                        sizeof value);
        });
    }
}

template <class T, class Register, int N>
void get(Warp& warp, const Instruction& instruction, const std::vector<std::byte>& block, std::uint32_t block_bytes) {
    const auto offset = static_cast<std::uint64_t>(instruction.immediate);
    if (offset > block_bytes || sizeof(T) * N > block_bytes - offset) return;
    for (int part = 0; part < N; ++part) {
        Register* to = warp.destination<Register>(instruction.operand[part]);
        for_each_lane(warp.mask, [&](int lane) {
            T value;
            std::memcpy(&value, block.data() + static_cast<std::size_t>(lane) * block_bytes + offset + sizeof(T) * part,
                        sizeof value);
            to[lane] = static_cast<Register>(value);
        });
    }
}

template <class T, int N>
void store_argument(Warp& warp, const Instruction& instruction) {
    put<T, N>(warp, instruction, warp.frame->arguments, warp.frame->function->argument_bytes);
}
template <class T, int N>
void store_result(Warp& warp, const Instruction& instruction) {
    put<T, N>(warp, instruction, warp.frame->results, warp.frame->function->result_bytes);
}
template <class T, class Register, int N>
void load_result(Warp& warp, const Instruction& instruction) {
    get<T, Register, N>(warp, instruction, warp.frame->returned, warp.frame->function->returned_bytes);
}

// A kernel's parameters are the launch's, a called function's each lane's own.
template <class T, class Register, int N>
void load_parameter(Warp& warp, const Instruction& instruction) {
    if (warp.frame->parent) {
        get<T, Register, N>(warp, instruction, warp.frame->parameters, warp.frame->function->parameter_bytes);
        return;
    }
    const std::vector<std::byte>& parameters = warp.block->launch->parameters;
    for (int part = 0; part < N; ++part) {
        const std::uint64_t offset =
            static_cast<std::uint64_t>(instruction.immediate) + sizeof(T) * static_cast<std::uint64_t>(part);
        T value{};
        if (offset <= parameters.size() && sizeof value <= parameters.size() - offset)
            std::memcpy(&value, parameters.data() + offset, sizeof value);
        std::array<Register, kLanes> all;
        all.fill(static_cast<Register>(value));
        warp.assign(instruction.operand[part], all.data());
    }
}

template <class T, class Register, int N>
void add_width(OperationTable& table, std::string_view type) {
    constexpr std::string_view vector = N == 1 ? "" : N == 2 ? ".v2" : ".v4";
    const std::string results(N, sizeof(Register) == 8 ? 'W' : 'w'), sources(N, sizeof(Register) == 8 ? 'R' : 'r');
    if constexpr (std::is_unsigned_v<T>) {  // a store takes bits, whatever they mean
        table.add({"st.argument.", type, vector}, sources, store_argument<T, N>);
        table.add({"st.result.", type, vector}, sources, store_result<T, N>);
    }
    table.add({"ld.result.", type, vector}, results, load_result<T, Register, N>);
    table.add({"ld.param.", type, vector}, results, load_parameter<T, Register, N>);
}

template <class T, class Register>
void add_type(OperationTable& table, std::string_view type) {
    add_width<T, Register, 1>(table, type);
    add_width<T, Register, 2>(table, type);
    if constexpr (sizeof(T) * 4 <= 16) add_width<T, Register, 4>(table, type);
}

}  // namespace

Frame& first_frame(Warp& warp) {
    if (warp.frames.empty()) warp.frames.push_back(std::make_unique<Frame>());
    warp.frames.resize(1);
    Frame& frame = *warp.frames[0];
    prepare(warp, frame, *warp.block->launch->function);
    frame.lanes = warp.alive;
    make_local(warp, frame, warp.alive);
    return frame;
}

Frame& call(Warp& warp, const Instruction& instruction, const Function& callee, LaneMask lanes,
            std::uint32_t call_block, std::uint32_t return_block) {
    Frame& caller = *warp.frame;
    const std::uint64_t base = (std::uint64_t{caller.local_base} + caller.function->local_bytes + 15) / 16 * 16;
    const bool deep = caller.depth + 1 >= kMostDepth ||
                      std::uint64_t{callee.register_file_bytes()} * warp.frames.size() > kMostRegisterBytes;
    if (deep || base + callee.local_bytes > local_limit(warp)) {
        Finding finding;
        finding.fault = Fault::device_trap;
        finding.text = "stack";
        for_each_lane(lanes, [&](int lane) { report(warp, instruction, lane, finding); });
        throw Stopped{};
    }
    Frame& frame = *warp.frames.emplace_back(std::make_unique<Frame>());
    prepare(warp, frame, callee);
    frame.parent = &caller;
    frame.call_block = call_block;
    frame.return_block = return_block;
    frame.depth = caller.depth + 1;
    frame.local_base = static_cast<std::uint32_t>(base);
    frame.lanes = lanes;
    frame.parameters.assign(std::size_t{callee.parameter_bytes} * kLanes, std::byte{0});
    frame.results.assign(std::size_t{callee.result_bytes} * kLanes, std::byte{0});
    pass(caller.arguments, caller.function->argument_bytes, frame.parameters, callee.parameter_bytes, lanes);
    make_local(warp, frame, lanes);
    return frame;
}

void give_back(Warp& warp, Frame& frame, LaneMask lanes) {
    pass(frame.results, frame.function->result_bytes, frame.parent->returned, frame.parent->function->returned_bytes,
         lanes);
    frame.lanes &= ~lanes;
    if (frame.lanes == 0) std::erase_if(warp.frames, [&frame](const auto& held) { return held.get() == &frame; });
}

void forget_lanes(Warp& warp, Frame& frame, LaneMask lanes) {
    warp.alive &= ~lanes;
    for (Frame* at = &frame; at != nullptr;) {
        Frame* parent = at->parent;
        at->lanes &= ~lanes;
        if (parent && at->lanes == 0) std::erase_if(warp.frames, [at](const auto& held) { return held.get() == at; });
        at = parent;
    }
}

void add_frame_operations(OperationTable& table) {
    add_type<std::uint8_t, std::uint32_t>(table, "u8");
    add_type<std::int8_t, std::uint32_t>(table, "s8");
    add_type<std::uint16_t, std::uint32_t>(table, "u16");
    add_type<std::int16_t, std::uint32_t>(table, "s16");
    add_type<std::uint32_t, std::uint32_t>(table, "b32");
    add_type<std::uint64_t, std::uint64_t>(table, "b64");
}

}  // namespace simt
