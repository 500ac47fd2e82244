#include "origins.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <limits>
#include <string_view>

#include "half.hpp"
#include "json.hpp"
#include "operations.hpp"

namespace simt {
namespace {

// Payloads that are no number of an origin: 0 is a NaN from outside, all ones is what the hardware makes.
struct Format {
    int bits;
    std::uint64_t infinity, quiet, payload;
};

Format format_of(FloatKind kind) {
    switch (kind) {
        case FloatKind::f16:
        case FloatKind::f16_pair:
            return {16, 0x7c00, 0x7e00, 0x1ff};
        case FloatKind::bf16:
        case FloatKind::bf16_pair:
            return {16, 0x7f80, 0x7fc0, 0x3f};
        case FloatKind::f64:
            return {64, 0x7ff0'0000'0000'0000, 0x7ff8'0000'0000'0000, 0x7'ffff'ffff'ffff};
        default:
            return {32, 0x7f80'0000, 0x7fc0'0000, 0x3f'ffff};
    }
}

bool is_pair(FloatKind kind) {
    return kind == FloatKind::f16_pair || kind == FloatKind::bf16_pair;
}

bool is_nan(FloatKind kind, std::uint64_t bits) {
    const Format format = format_of(kind);
    const std::uint64_t sign = 1ull << (format.bits - 1);
    return (bits & (sign - 1)) > format.infinity;
}

// A float's payload begins with what a bf16 has room for, since nvcc makes floats of bf16 by shifting: these bits of
// the number come first.
constexpr int kShared = 6, kBehind = 16;

std::uint64_t marked(FloatKind kind, std::uint32_t number) {
    const std::uint64_t payload =
        kind == FloatKind::f32 ? std::uint64_t{number & ((1u << kShared) - 1)} << kBehind | number >> kShared : number;
    return format_of(kind).quiet | payload;
}

std::uint32_t number_in(FloatKind kind, std::uint64_t bits) {
    const Format format = format_of(kind);
    const std::uint64_t payload = bits & format.payload;
    if (payload == format.payload || (kind == FloatKind::f64 && payload > format_of(FloatKind::f32).payload)) return 0;
    if (kind != FloatKind::f32) return static_cast<std::uint32_t>(payload);
    return static_cast<std::uint32_t>((payload & ((1u << kBehind) - 1)) << kShared | payload >> kBehind);
}

double value(FloatKind kind, std::uint64_t bits) {
    switch (kind) {
        case FloatKind::f64:
            return std::bit_cast<double>(bits);
        case FloatKind::f32:
            return static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
        case FloatKind::bf16:
        case FloatKind::bf16_pair:
            return value_of<Bf16>(static_cast<std::uint32_t>(bits));
        default:
            return value_of<F16>(static_cast<std::uint32_t>(bits));
    }
}

// Element `half` (0 or 1) of what lies there.
std::uint64_t element(FloatKind kind, const std::byte* at, int half) {
    const int bits = format_of(kind).bits;
    std::uint64_t one = 0;
    std::memcpy(&one, at + (bits == 16 ? 2 * half : 0), static_cast<std::size_t>(bits) / 8);
    return one;
}

// In memory: of a pair both.
std::uint32_t bytes_of(FloatKind kind) {
    return is_pair(kind) ? 4 : static_cast<std::uint32_t>(format_of(kind).bits / 8);
}

std::byte* memory_at(Warp& warp, const Instruction& instruction, Window window, std::uint64_t address,
                     std::uint32_t bytes) {
    const Target place = resolve(warp, instruction, address, window, bytes);
    const bool inside =
        place.region && place.offset <= place.region->size && bytes <= place.region->size - place.offset;
    return inside ? place.region->data + place.offset : nullptr;
}

void set_element(FloatKind kind, std::byte* slot, int half, std::uint64_t bits) {
    const int width = format_of(kind).bits;
    if (width != 16) {
        std::memcpy(slot, &bits, static_cast<std::size_t>(width) / 8);
        return;
    }
    const auto narrow = static_cast<std::uint16_t>(bits);
    std::memcpy(slot + 2 * half, &narrow, sizeof narrow);
}

std::size_t slot_bytes(FloatKind kind) {
    return kind == FloatKind::f64 ? 8 : 4;
}

FloatKind kind_of(std::string_view type) {
    constexpr std::pair<std::string_view, FloatKind> kinds[] = {
        {"f16", FloatKind::f16},          {"bf16", FloatKind::bf16}, {"f16x2", FloatKind::f16_pair},
        {"bf16x2", FloatKind::bf16_pair}, {"f32", FloatKind::f32},   {"f64", FloatKind::f64}};
    for (const auto& [name, kind] : kinds)
        if (name == type) return kind;
    return FloatKind::none;
}

std::vector<std::string_view> parts_of(std::string_view name) {
    std::vector<std::string_view> parts;
    for (std::size_t from = 0; from <= name.size();) {
        const std::size_t end = std::min(name.find('.', from), name.size());
        parts.push_back(name.substr(from, end - from));
        from = end + 1;
    }
    return parts;
}

struct Arithmetic {
    std::string_view base;
    std::uint8_t sources;
};
constexpr Arithmetic kArithmetic[] = {{"add", 2},  {"sub", 2},   {"mul", 2}, {"div", 2},      {"min", 2},
                                      {"max", 2},  {"fma", 3},   {"mad", 3}, {"copysign", 2}, {"rcp", 1},
                                      {"sqrt", 1}, {"rsqrt", 1}, {"sin", 1}, {"cos", 1},      {"lg2", 1},
                                      {"ex2", 1},  {"tanh", 1},  {"neg", 1}, {"abs", 1}};

}  // namespace

// What operands held before the instruction ran: its result may go where one of them lies.
struct NanOrigins::Before {
    std::array<std::array<std::byte, 8 * kLanes>, kMostOperands> source{};
    std::array<std::uint64_t, kLanes> address{}, memory{};

    std::uint64_t operand(const Rule& rule, int which, int lane, int half) const {
        const std::byte* at =
            source[static_cast<std::size_t>(which)].data() + slot_bytes(rule.from) * static_cast<std::size_t>(lane);
        return element(rule.from, at, is_pair(rule.from) ? half : 0);
    }
};

NanOrigins::Rule NanOrigins::rule_for(const std::string& name) {
    const std::vector<std::string_view> parts = parts_of(name);
    const FloatKind last = kind_of(parts.back());
    if (last == FloatKind::none || parts.size() < 2) return {};
    if (parts[0] == "cvt") {
        const FloatKind to = kind_of(parts[parts.size() - 2]);
        const auto sources = static_cast<std::uint8_t>(is_pair(to) && !is_pair(last) ? 2 : 1);
        return to == FloatKind::none ? Rule{} : Rule{to, last, 1, sources, false, Window::generic};
    }
    const bool atomic = parts[0] == "atom" || parts[0] == "red";
    const auto says = [&](std::string_view part) { return std::find(parts.begin(), parts.end(), part) != parts.end(); };
    if (atomic && says("add"))
        return {last, last, static_cast<std::uint8_t>(parts[0] == "atom" ? 2 : 1),
                1,    true, says("shared") ? Window::shared : Window::generic};
    for (const Arithmetic& known : kArithmetic)
        if (known.base == parts[0]) return {last, last, 1, known.sources, false, Window::generic};
    return {};
}

// `wmma.mma.m16n16k16.f32.f16.f16.f32`: the shape, then D, A, B and C.
NanOrigins::Rule NanOrigins::rule_for_product(const std::string& name) {
    const std::vector<std::string_view> parts = parts_of(name);
    const Operation* operation = operations().find(name);
    if (!operation || parts.size() < 6) return {};
    const auto packed = [&](std::size_t from_end) {  // as they lie in a register
        const FloatKind kind = kind_of(parts[parts.size() - from_end]);
        return kind == FloatKind::f16 ? FloatKind::f16_pair : kind == FloatKind::bf16 ? FloatKind::bf16_pair : kind;
    };
    Rule rule{packed(4), packed(3)};
    rule.added = packed(1);
    if (rule.from == FloatKind::none) rule.from = FloatKind::f32;  // tf32
    rule.registers = static_cast<std::uint8_t>(
        std::ranges::count_if(operation->operands, [](char kind) { return kind == 'w' || kind == 'W'; }));
    rule.sources = static_cast<std::uint8_t>(
        std::ranges::count_if(operation->operands, [](char kind) { return kind == 'r' || kind == 'R'; }));
    return rule.added == FloatKind::none ? Rule{} : rule;
}

NanOrigins::NanOrigins(const Program& program) {
    for (const std::string& name : program.op_names)
        rules_.push_back(name.starts_with("mma.") || name.starts_with("wmma.mma.") ? rule_for_product(name)
                                                                                   : rule_for(name));
}

void NanOrigins::run(Warp& warp, const Instruction& instruction) {
    const Rule rule = rules_[instruction.text];
    if (rule.to == FloatKind::none || instruction.run == report_unsupported) {
        instruction.run(warp, instruction);
        return;
    }
    if (rule.added != FloatKind::none) {
        run_product(warp, instruction, rule);
        return;
    }
    Before before;
    for (std::uint8_t i = 0; i < rule.sources; ++i)
        std::memcpy(before.source[i].data(), warp.source<std::byte>(instruction.operand[rule.first + i]),
                    slot_bytes(rule.from) * kLanes);
    if (!rule.atomic) {
        instruction.run(warp, instruction);
        mark_registers(warp, instruction, rule, before);
        return;
    }
    const std::uint32_t bytes = bytes_of(rule.to);
    before.address = access_of(warp, instruction, instruction.operand[rule.first - 1], bytes).addresses();
    for_each_lane(warp.mask, [&](int lane) {
        const auto at = static_cast<std::size_t>(lane);
        if (const std::byte* memory = memory_at(warp, instruction, rule.window, before.address[at], bytes))
            std::memcpy(&before.memory[at], memory, bytes);
    });
    instruction.run(warp, instruction);
    mark_memory(warp, instruction, rule, before);
}

// The number for a NaN that was made of `operands`, whose bits are given too; 0 where one of them was a NaN already,
// but not one with a number.
std::uint32_t NanOrigins::mark_of(Warp& warp, const Instruction& instruction, int lane,
                                  const std::vector<double>& operands, const std::vector<std::uint64_t>& bits,
                                  FloatKind kind) {
    bool given = false;
    for (const std::uint64_t one : bits) {
        if (!is_nan(kind, one)) continue;
        given = true;
        if (const std::uint32_t number = number_in(kind, one)) return number;
    }
    if (given) return 0;
    const auto [found, fresh] = numbers_.try_emplace({instruction.site, instruction.text}, origins_.size() + 1);
    if (fresh)
        origins_.push_back({instruction.site, instruction.text, warp.block->linear, thread_in_block(warp, lane),
                            warp.block->launch->grid, warp.block->launch->block, operands});
    return found->second;
}

// An element of D takes over the number of its own element of C, else the first one that is found in A or B: of which
// row or column a NaN came in does not matter for the line that made it.
void NanOrigins::run_product(Warp& warp, const Instruction& instruction, const Rule& rule) {
    const std::uint32_t* operands = warp.frame->function->operand_lists.data() + instruction.operand[0];
    const int halves = is_pair(rule.to) ? 2 : 1;
    const auto bits_at = [&](std::uint32_t operand, FloatKind kind, int lane, int half) {
        return element(kind, warp.source<std::byte>(operand) + slot_bytes(kind) * static_cast<std::size_t>(lane), half);
    };
    const int added = rule.added == rule.to               ? rule.registers
                      : rule.added == FloatKind::f16_pair ? rule.registers / 2
                                                          : rule.registers * 2;
    std::vector<std::uint64_t> factors, sums;  // those that are NaN
    for (int i = 0; i < rule.sources; ++i) {
        const bool is_sum = i >= rule.sources - added;
        const FloatKind kind = is_sum ? rule.added : rule.from;
        for (int lane = 0; lane < kLanes; ++lane)
            for (int half = 0; half < (is_pair(kind) ? 2 : 1); ++half) {
                const std::uint64_t bits = bits_at(operands[rule.registers + i], kind, lane, half);
                if (is_sum && rule.added == rule.to)
                    sums.push_back(bits);
                else if (is_nan(kind, bits))
                    factors.push_back(marked(rule.to, number_in(kind, bits)));
            }
    }
    instruction.run(warp, instruction);
    for_each_lane(warp.mask, [&](int lane) {
        for (int i = 0; i < rule.registers * halves; ++i) {
            auto* slot = warp.destination<std::byte>(operands[i / halves]) +
                         slot_bytes(rule.to) * static_cast<std::size_t>(lane);
            if (!is_nan(rule.to, element(rule.to, slot, i % halves))) continue;
            const std::size_t own = static_cast<std::size_t>((i / halves * kLanes + lane) * halves + i % halves);
            std::vector<std::uint64_t> bits = factors;
            if (own < sums.size() && is_nan(rule.to, sums[own])) bits.insert(bits.begin(), sums[own]);
            const std::uint32_t number = mark_of(warp, instruction, lane, {}, bits, rule.to);
            if (number != 0 && number < format_of(rule.to).payload)
                set_element(rule.to, slot, i % halves, marked(rule.to, number));
        }
    });
}

void NanOrigins::mark_registers(Warp& warp, const Instruction& instruction, const Rule& rule, const Before& before) {
    const Format format = format_of(rule.to);
    auto* to = warp.destination<std::byte>(instruction.operand[0]);
    for_each_lane(warp.mask, [&](int lane) {
        std::byte* slot = to + slot_bytes(rule.to) * static_cast<std::size_t>(lane);
        for (int half = 0; half < (is_pair(rule.to) ? 2 : 1); ++half) {
            if (!is_nan(rule.to, element(rule.to, slot, half))) continue;
            std::vector<double> operands;
            std::vector<std::uint64_t> bits;
            const bool packs = is_pair(rule.to) && !is_pair(rule.from);  // cvt.rn.f16x2.f32 d, upper, lower
            for (int i = packs ? 1 - half : 0; i < (packs ? 2 - half : rule.sources); ++i) {
                bits.push_back(before.operand(rule, i, lane, half));
                operands.push_back(value(rule.from, bits.back()));
            }
            const std::uint32_t number = mark_of(warp, instruction, lane, operands, bits, rule.from);
            if (number != 0 && number < format.payload) set_element(rule.to, slot, half, marked(rule.to, number));
        }
    });
}

void NanOrigins::mark_memory(Warp& warp, const Instruction& instruction, const Rule& rule, const Before& before) {
    const Format format = format_of(rule.to);
    for_each_lane(warp.mask, [&](int lane) {
        const auto at = static_cast<std::size_t>(lane);
        std::byte* memory = memory_at(warp, instruction, rule.window, before.address[at], bytes_of(rule.to));
        for (int half = 0; memory && half < (is_pair(rule.to) ? 2 : 1); ++half) {
            const std::uint64_t held = element(rule.to, memory, half);
            if (!is_nan(rule.to, held) || number_in(rule.to, held) != 0) continue;
            std::vector<std::uint64_t> bits{
                element(rule.to, reinterpret_cast<const std::byte*>(&before.memory[at]), half)};
            std::vector<double> operands{value(rule.to, bits.back())};
            for_each_lane(warp.mask, [&](int other) {  // whichever of them met there
                if (before.address[static_cast<std::size_t>(other)] != before.address[at]) return;
                bits.push_back(before.operand(rule, 0, other, half));
                operands.push_back(value(rule.from, bits.back()));
            });
            const std::uint32_t number = mark_of(warp, instruction, lane, operands, bits, rule.from);
            if (number != 0 && number < format.payload) set_element(rule.to, memory, half, marked(rule.to, number));
        }
    });
}

std::string NanOrigins::report(const Program& program) const {
    const auto triple = [](Json& json, std::string_view name, std::uint64_t linear, const Dim3& size) {
        json.key(name).open('[');
        json.value(linear % size.x).value(linear / size.x % size.y).value(linear / size.x / size.y).close(']');
    };
    Json json;
    json.open('[');
    for (const Origin& origin : origins_) {
        const Site& site = program.sites[origin.site < program.sites.size() ? origin.site : 0];
        json.open('{').key("line");
        site.line == 0 ? json.null() : json.value(site.line);
        json.field("op", program.op_names[origin.text]);
        triple(json, "block", origin.block, origin.grid);
        triple(json, "thread", origin.thread, origin.threads);
        json.key("operands").open('[');
        for (const double operand : origin.operands) {
            char text[32];
            const auto end = std::to_chars(text, text + sizeof text, operand).ptr;
            json.value(std::string_view(text, end));
        }
        json.close(']').close('}');
    }
    return json.close(']').text();
}

}  // namespace simt
