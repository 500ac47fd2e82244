// Matrix operations: what those on memory and the products share.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

#include "matrix.hpp"
#include "operations.hpp"
#include "warp.hpp"

namespace simt {

// The operands of an instruction whose list of them lies beside it (`*` in Operation::operands).
inline const std::uint32_t* operands_of(const Warp& warp, const Instruction& instruction) {
    return warp.frame->function->operand_lists.data() + instruction.operand[0];
}

constexpr std::string_view name_of(Number number) {
    constexpr std::string_view names[] = {"f16", "bf16", "tf32", "f32", "f64", "s8", "u8", "s32"};
    return names[static_cast<std::size_t>(number)];
}

inline std::string joined(std::initializer_list<std::string_view> parts) {
    std::string whole;
    for (const std::string_view part : parts) whole += part;
    return whole;
}

// What Operation::operands calls `count` registers of one kind.
inline std::string repeated(char kind, int count) {
    return std::string(static_cast<std::size_t>(count), kind);
}

}  // namespace simt
