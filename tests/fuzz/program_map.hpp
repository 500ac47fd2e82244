// Program map: where the numbers of a program file lie (docs/program-format.md), so that damage can be done with care.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace fuzz {

using Bytes = std::vector<char>;

enum class Kind : std::uint8_t {
    count,  // of a list, or of a string's bytes
    plain,  // lines, alignments, flags
    size,   // of registers, memory, parameters
    constant32,
    constant64,
    slot,
    first,  // a block's first instruction, and how many it has
    next,   // a block's number
    op,
    site,
    guard,
    width,
    operand,
    immediate,
};
inline constexpr std::size_t kKinds = static_cast<std::size_t>(Kind::immediate) + 1;

struct Field {
    std::size_t at, bytes;  // 4 or 8
};

struct Extent {
    std::size_t begin, end;
};

struct FunctionMap {
    std::string name;
    bool entry = false;
    std::uint32_t parameter_bytes = 0;
    std::vector<Extent> instructions;
};

struct ProgramMap {
    std::vector<Field> fields[kKinds];
    std::vector<Extent> op_names;  // each with its length
    std::vector<std::string> variables;
    std::vector<FunctionMap> functions;

    const std::vector<Field>& of(Kind kind) const { return fields[static_cast<std::size_t>(kind)]; }
};

// As much of the file as can be followed.
ProgramMap map_program(const Bytes& bytes);

// The string that lies in `extent`, behind its length.
std::string text_in(const Bytes& bytes, const Extent& extent);

}  // namespace fuzz
