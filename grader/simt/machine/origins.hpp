// Origins: where a value that is not a number was made.
//
// In a run that asks for it, each NaN carries in its own bits who made it: the instruction that got it from operands
// that were none has a number, and the number is the NaN's payload, kept by arithmetic and conversions. What lies in a
// result at the end then says where to look, through any number of registers, shuffles, buffers and launches.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "access.hpp"
#include "launch.hpp"

namespace simt {

// Floats as they lie in a register; of a pair the lower half comes first.
enum class FloatKind : std::uint8_t { none, f16, bf16, f16_pair, bf16_pair, f32, f64 };

inline constexpr int kMostOperands = 3;

// One instruction that made a NaN from operands that were none: the first time it did.
struct Origin {
    std::uint16_t site = 0, text = 0;
    std::uint64_t block = 0;
    std::uint32_t thread = 0;
    Dim3 grid, threads;
    std::vector<double> operands;
};

class NanOrigins {
  public:
    explicit NanOrigins(const Program& program);

    // Runs `instruction` for the lanes of Warp::mask, and marks what it makes.
    void run(Warp& warp, const Instruction& instruction);
    std::string report(const Program& program) const;  // JSON: origins by number, from 1 on

  private:
    struct Rule {
        FloatKind to = FloatKind::none, from = FloatKind::none;
        std::uint8_t first = 1, sources = 0;  // operands
        bool atomic = false;                  // what it makes lies in memory, in this window
        Window window = Window::generic;
        FloatKind added = FloatKind::none;  // of a product of matrices: what C holds
        std::uint8_t registers = 0;         // of its D
    };
    struct Before;

    static Rule rule_for(const std::string& name);
    static Rule rule_for_product(const std::string& name);
    void run_product(Warp& warp, const Instruction& instruction, const Rule& rule);
    void mark_registers(Warp& warp, const Instruction& instruction, const Rule& rule, const Before& before);
    void mark_memory(Warp& warp, const Instruction& instruction, const Rule& rule, const Before& before);
    std::uint32_t mark_of(Warp& warp, const Instruction& instruction, int lane, const std::vector<double>& operands,
                          const std::vector<std::uint64_t>& bits, FloatKind kind);

    std::vector<Rule> rules_;  // by Program::op_names
    std::vector<Origin> origins_;
    std::map<std::pair<std::uint16_t, std::uint16_t>, std::uint32_t> numbers_;  // by site and text
};

// Runs an instruction for the lanes of Warp::mask, and marks NaNs where somebody asks for that.
inline void execute(Warp& warp, const Instruction& instruction) {
    if (NanOrigins* const origins = warp.block->launch->origins)
        origins->run(warp, instruction);
    else
        instruction.run(warp, instruction);
}

}  // namespace simt
