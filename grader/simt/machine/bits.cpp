// Bits: permutations of bytes, logic tables, masks, fields and dot products of bytes (PTX ISA 9.1, section 9.7.1 and
// 9.7.8), and what else works on single words: address windows and clocks.
#include <array>
#include <chrono>

#include "elementwise.hpp"
#include "launch.hpp"
#include "operations.hpp"

namespace simt {
namespace {

using Word = std::uint32_t;

struct PermuteBytes {  // prmt, default mode
    std::uint32_t operator()(std::uint32_t a, std::uint32_t b, std::uint32_t selector) const {
        const std::uint64_t bytes = static_cast<std::uint64_t>(b) << 32 | a;
        std::uint32_t result = 0;
        for (int i = 0; i < 4; ++i) {
            const std::uint32_t pick = selector >> (4 * i) & 15;
            std::uint32_t byte = static_cast<std::uint32_t>(bytes >> (8 * (pick & 7))) & 0xff;
            if (pick & 8) byte = byte & 0x80 ? 0xff : 0;
            result |= byte << (8 * i);
        }
        return result;
    }
};

// prmt with a mode: each byte of the result comes from one of the eight by its place and the selector's lowest bits.
enum class Permute : std::uint8_t { forward, backward, replicate, clamp_left, clamp_right, replicate_half };

template <Permute P>
struct PermuteByMode {
    Word operator()(Word a, Word b, Word selector) const {
        const std::uint64_t bytes = static_cast<std::uint64_t>(b) << 32 | a;
        const int by = static_cast<int>(selector & 3);
        Word result = 0;
        for (int i = 0; i < 4; ++i) {
            const int pick = P == Permute::forward       ? by + i
                             : P == Permute::backward    ? (by - i) & 7
                             : P == Permute::replicate   ? by
                             : P == Permute::clamp_left  ? std::max(by, i)
                             : P == Permute::clamp_right ? std::min(by, i)
                                                         : (by & 1) * 2 + (i & 1);
            result |= (static_cast<Word>(bytes >> (8 * pick)) & 0xff) << (8 * i);
        }
        return result;
    }
};

void lop3(Warp& warp, const Instruction& instruction) {
    const auto* a = warp.source<std::uint32_t>(instruction.operand[1]);
    const auto* b = warp.source<std::uint32_t>(instruction.operand[2]);
    const auto* c = warp.source<std::uint32_t>(instruction.operand[3]);
    const std::uint32_t table = *warp.source<std::uint32_t>(instruction.operand[4]);
    std::array<std::uint32_t, kLanes> result{};
    for (std::uint32_t row = 0; row < 8; ++row) {
        if (!(table >> row & 1)) continue;
        for (int lane = 0; lane < kLanes; ++lane)
            result[lane] |=
                (row & 4 ? a[lane] : ~a[lane]) & (row & 2 ? b[lane] : ~b[lane]) & (row & 1 ? c[lane] : ~c[lane]);
    }
    warp.assign(instruction.operand[0], result.data());
}

// The offset-th set bit counted from bit `base`, upwards or downwards; all ones where there is none.
struct FindNthSet {
    Word operator()(Word mask, Word base, Word raw) const {
        const auto offset = static_cast<std::int32_t>(raw);
        if (base > 31) return ~0u;
        if (offset == 0) return mask >> base & 1 ? base : ~0u;
        const int step = offset > 0 ? 1 : -1;
        std::int64_t left = std::abs(static_cast<std::int64_t>(offset));
        for (int at = static_cast<int>(base); at >= 0 && at < 32; at += step)
            if ((mask >> at & 1) && --left == 0) return static_cast<Word>(at);
        return ~0u;
    }
};

template <bool Clamp>
struct BitMask {
    Word operator()(Word position, Word width) const {
        const Word from = Clamp ? std::min(position, 32u) : position & 31;
        const Word end = from + (Clamp ? std::min(width, 32u) : width & 31);
        return static_cast<Word>((1ull << std::min(end, 32u)) - (1ull << from));
    }
};

template <bool Clamp, bool Signed>
struct Extend {
    Word operator()(Word a, Word count) const {
        const Word bits = Clamp ? std::min(count, 32u) : count & 31;
        if (bits == 0) return 0;
        const Word kept = static_cast<Word>(a & ((1ull << bits) - 1));
        return Signed && bits < 32 && (kept >> (bits - 1) & 1) ? kept | ~0u << bits : kept;
    }
};

template <class A>
std::int64_t part(Word value, int index, int bits) {
    const Word raw = value >> (bits * index) & ((1u << bits) - 1);
    if constexpr (std::is_signed_v<A>)
        return bits == 8 ? static_cast<std::int8_t>(raw) : static_cast<std::int16_t>(raw);
    else
        return raw;
}

template <class A, class B>
struct DotFour {
    Word operator()(Word a, Word b, Word c) const {
        std::int64_t sum = c;
        for (int i = 0; i < 4; ++i) sum += part<A>(a, i, 8) * part<B>(b, i, 8);
        return static_cast<Word>(sum);
    }
};
// Two halves of a, with the lower or the upper two bytes of b.
template <class A, class B, bool Upper>
struct DotTwo {
    Word operator()(Word a, Word b, Word c) const {
        std::int64_t sum = c;
        for (int i = 0; i < 2; ++i) sum += part<A>(a, i, 16) * part<B>(b, i + (Upper ? 2 : 0), 8);
        return static_cast<Word>(sum);
    }
};

template <class F>
void where(Warp& warp, const Instruction& instruction) {
    const auto* address = warp.source<std::uint64_t>(instruction.operand[1]);
    LaneMask holds = 0;
    for (int lane = 0; lane < kLanes; ++lane) holds |= static_cast<LaneMask>(F{}(address[lane])) << lane;
    warp.set_predicate(instruction.operand[0], holds);
}
template <std::uint64_t Window>
struct InWindow {
    bool operator()(std::uint64_t address) const { return (address & ~(kWindowBytes - 1)) == Window; }
};

// Constant memory lies among global memory; what is neither there nor in a window is global. Parameters are, too.
bool in_constant(const Warp& warp, std::uint64_t address) {
    const Region* region = warp.block->launch->device->memory().nearest(address);
    return region && region->space == Space::constant && region->holds(address, 1);
}
template <bool Constant>
void where_in_memory(Warp& warp, const Instruction& instruction) {
    const auto* address = warp.source<std::uint64_t>(instruction.operand[1]);
    LaneMask holds = 0;
    for_each_lane(warp.mask, [&](int lane) {
        const std::uint64_t at = address[lane];
        const bool global = at < kSharedWindow || InWindow<kParameterWindow>{}(at);
        holds |= static_cast<LaneMask>(Constant ? in_constant(warp, at) : global && !in_constant(warp, at)) << lane;
    });
    warp.set_predicate(instruction.operand[0], holds);
}

// vabsdiff2, vabsdiff4: |a - b| of each part; with .add their sum on top of c.
template <int Bits, bool Sum>
struct AbsoluteDifferences {
    Word operator()(Word a, Word b, Word c) const {
        Word result = Sum ? c : 0;
        for (int at = 0; at < 32; at += Bits) {
            const Word mask = (1u << Bits) - 1, left = a >> at & mask, right = b >> at & mask;
            const Word difference = left < right ? right - left : left - right;
            result += Sum ? difference : difference << at;
        }
        return result;
    }
};

// A clock that goes on with the warp's instructions: it measures nothing, but it never stands still.
template <class T, int Shift>
void clock_value(Warp& warp, const Instruction& instruction) {
    write_lanes<T>(warp, instruction.operand[0], [&](int) { return static_cast<T>(warp.instructions >> Shift); });
}
template <class T, int Shift>
void nanoseconds(Warp& warp, const Instruction& instruction) {
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    const auto count = static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
    write_lanes<T>(warp, instruction.operand[0], [&](int) { return static_cast<T>(count >> Shift); });
}

template <class A, class B>
void add_dots(OperationTable& table, std::string_view a, std::string_view b) {
    table.add({"dp4a.", a, ".", b}, "wrrr", ternary<Word, Word, Word, Word, DotFour<A, B>>);
    table.add({"dp2a.lo.", a, ".", b}, "wrrr", ternary<Word, Word, Word, Word, DotTwo<A, B, false>>);
    table.add({"dp2a.hi.", a, ".", b}, "wrrr", ternary<Word, Word, Word, Word, DotTwo<A, B, true>>);
}

template <Permute P>
void add_permute(OperationTable& table, std::string_view mode) {
    table.add({"prmt.b32.", mode}, "wrrr", ternary<Word, Word, Word, Word, PermuteByMode<P>>);
}

}  // namespace

void add_bit_operations(OperationTable& table) {
    table.add("prmt.b32", "wrrr", ternary<Word, Word, Word, Word, PermuteBytes>);
    add_permute<Permute::forward>(table, "f4e");
    add_permute<Permute::backward>(table, "b4e");
    add_permute<Permute::replicate>(table, "rc8");
    add_permute<Permute::clamp_left>(table, "ecl");
    add_permute<Permute::clamp_right>(table, "ecr");
    add_permute<Permute::replicate_half>(table, "rc16");
    table.add("lop3.b32", "wrrrr", lop3);
    table.add("fns.b32", "wrrr", ternary<Word, Word, Word, Word, FindNthSet>);
    table.add("bmsk.clamp.b32", "wrr", binary<Word, Word, Word, BitMask<true>>);
    table.add("bmsk.wrap.b32", "wrr", binary<Word, Word, Word, BitMask<false>>);
    table.add("szext.clamp.u32", "wrr", binary<Word, Word, Word, Extend<true, false>>);
    table.add("szext.clamp.s32", "wrr", binary<Word, Word, Word, Extend<true, true>>);
    table.add("szext.wrap.u32", "wrr", binary<Word, Word, Word, Extend<false, false>>);
    table.add("szext.wrap.s32", "wrr", binary<Word, Word, Word, Extend<false, true>>);
    add_dots<std::uint8_t, std::uint8_t>(table, "u32", "u32");
    add_dots<std::int8_t, std::uint8_t>(table, "s32", "u32");
    add_dots<std::uint8_t, std::int8_t>(table, "u32", "s32");
    add_dots<std::int8_t, std::int8_t>(table, "s32", "s32");
    table.add("isspacep.shared", "PR", where<InWindow<kSharedWindow>>);
    table.add("isspacep.local", "PR", where<InWindow<kLocalWindow>>);
    table.add("isspacep.param", "PR", where<InWindow<kParameterWindow>>);
    table.add("isspacep.global", "PR", where_in_memory<false>);
    table.add("isspacep.const", "PR", where_in_memory<true>);
    table.add("vabsdiff2.u32.u32.u32", "wrrr", ternary<Word, Word, Word, Word, AbsoluteDifferences<16, false>>);
    table.add("vabsdiff2.u32.u32.u32.add", "wrrr", ternary<Word, Word, Word, Word, AbsoluteDifferences<16, true>>);
    table.add("vabsdiff4.u32.u32.u32", "wrrr", ternary<Word, Word, Word, Word, AbsoluteDifferences<8, false>>);
    table.add("vabsdiff4.u32.u32.u32.add", "wrrr", ternary<Word, Word, Word, Word, AbsoluteDifferences<8, true>>);
    table.add("mov.clock", "w", clock_value<Word, 0>);
    table.add("mov.clock_hi", "w", clock_value<Word, 32>);
    table.add("mov.clock64", "W", clock_value<std::uint64_t, 0>);
    table.add("mov.globaltimer", "W", nanoseconds<std::uint64_t, 0>);
    table.add("mov.globaltimer_lo", "w", nanoseconds<Word, 0>);
    table.add("mov.globaltimer_hi", "w", nanoseconds<Word, 32>);
    table.add("nanosleep.u32", "r", [](Warp& warp, const Instruction&) { warp.resting = true; });
}

}  // namespace simt
