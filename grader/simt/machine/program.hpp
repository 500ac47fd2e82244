// Program: the lowered program file (docs/program-format.md), decoded and checked.
//
// Every slot, block and table index is checked while the file is read, so that nothing which runs afterwards has to.
// An instruction that this machine does not know is kept and reported only when a lane reaches it.
#pragma once

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <vector>

#include "lanes.hpp"

namespace simt {

struct Warp;
struct Instruction;
using Handler = void (*)(Warp&, const Instruction&);

inline constexpr std::uint32_t kProgramVersion = 3;
inline constexpr std::uint8_t kUnknownWidth = 255;  // Instruction::compiled
inline constexpr std::uint32_t kNoBlock = 0xffffffffu;
inline constexpr std::uint32_t kConstantFile = 0x80000000u;   // operand lies in the constant file, not in the registers
inline constexpr std::uint32_t kNarrowAddress = 0x40000000u;  // the address operand is a 32-bit register
inline constexpr std::uint32_t kNegated = 0x80000000u;        // predicate operand is read inverted

inline constexpr std::uint32_t kAbsent = 0xffffffffu;  // an operand that may be missing and is

// Predicate file: slot 0 is always false, slot 1 always true, slot 2 swallows what a sink receives.
inline constexpr std::uint32_t kPredicateFalse = 0, kPredicateTrue = 1, kPredicateSink = 2, kFirstPredicate = 3;

struct ProgramError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

struct Site {
    std::uint32_t line = 0;  // of the learner's file; 0 = none
    std::string file;
    std::uint32_t file_line = 0;
    std::string function;
    std::vector<std::uint32_t> callers;  // lines of the learner's file, of the calls that led here, innermost first
    bool own = false;                    // the code itself stands in the learner's file
};

struct Relocation {
    std::uint64_t offset;
    std::uint32_t variable;  // with bit 31 set: a function
    std::int64_t addend;
};

struct Variable {
    std::string name;
    bool constant = false;
    std::uint32_t align = 1;
    std::uint64_t size = 0;
    std::vector<std::uint8_t> initial;
    std::vector<Relocation> relocations;
};

// What PTX calls the semantics and the scope of a memory instruction: `st.release.gpu`, `atom.acq_rel.cta`,
// `ld.volatile`.
struct Strength {
    bool ordered : 1 = false;  // relaxed or stronger: two such accesses are no race
    bool is_volatile : 1 = false;
    bool releases : 1 = false, acquires : 1 = false;
    bool block_only : 1 = false;   // scope .cta
    bool speculative : 1 = false;  // its value may not be wanted: whether it has one is asked later
    bool fragment : 1 = false;     // of a matrix, which is wanted whole, though the code stands in a header
};

// One cache line. Register operands are byte offsets into the warp's register file (or, with kConstantFile, into the
// function's constants); predicate operands are slots.
struct alignas(64) Instruction {
    Handler run = nullptr;
    std::uint32_t operand[8] = {};
    std::int64_t immediate = 0;
    std::uint32_t guard = 0;  // 0 none, else 1 + 2 * predicate slot + (1 if negated)
    std::uint16_t site = 0;
    std::uint16_t text = 0;                 // index into Program::op_names
    std::uint32_t index = 0;                // place in Program::instruction_count: where its counters are
    Strength strength;                      // of a memory instruction or a fence
    std::uint8_t compiled = kUnknownWidth;  // bytes a lane moves in the machine instruction made of it; 0: none
};
static_assert(sizeof(Instruction) == 64);

enum class Ending : std::uint8_t {
    fall_through,
    branch,
    jump,  // brx: to one of a table
    call,
    call_indirect,
    give_back,  // ret
    leave,      // exit
    barrier,
    collective,  // waits for the lanes of its warp that its mask names
    trap,
};

// What a barrier gives its threads: nothing, or what it makes of a predicate of each.
enum class BarrierKind : std::uint8_t { sync, count, all, any };

struct Block {
    std::uint32_t first = 0, count = 0;  // straight-line instructions, the ending apart
    std::uint32_t next = kNoBlock;
    Ending ending = Ending::fall_through;
    BarrierKind barrier = BarrierKind::sync;
    bool aligned = false;             // a barrier for whole warps only
    bool is_warp_barrier = false;     // a collective that orders memory: __syncwarp
    bool whole_warp = false;          // a collective without a mask: all 32 lanes
    std::uint8_t mask_operand = 0;    // of a collective: which operand names the lanes
    std::uint32_t target = kNoBlock;  // of a branch; of a call the function, of a jump its table
    Instruction last;                 // the ending itself, where it is an instruction
    std::uint32_t issued = 0;         // instructions a warp issues when it runs the block, the ending included
    std::uint32_t index = 0;          // place in the counters of blocks
};

struct Parameter {
    std::uint32_t offset, size, align;
};

struct SharedVariable {
    std::string name;
    std::uint32_t offset, size, align;
};

enum class SpecialRegister : std::uint8_t;

struct Special {
    SpecialRegister which;
    std::uint32_t slot;
};

struct Function {
    std::string name;
    bool entry = false;
    std::uint32_t n32 = 0, n64 = 0, predicates = 0;  // predicates includes the three fixed ones
    std::uint32_t parameter_bytes = 0, shared_bytes = 0, local_bytes = 0;
    std::uint32_t result_bytes = 0, argument_bytes = 0,
                  returned_bytes = 0;  // of calls: own result, calls' arguments, their results
    std::vector<Parameter> parameters;
    std::vector<SharedVariable> shared;
    std::vector<Special> specials;
    LineVector<std::byte> constants;  // each value 32 times: 128 bytes a 32-bit constant, 256 a 64-bit one
    std::vector<Block> blocks;
    std::vector<std::vector<std::uint32_t>> jump_tables;
    std::vector<std::uint32_t> operand_lists;  // of instructions with more operands than fit, one behind the other
    std::vector<Instruction> instructions;

    // Behind the registers lies room for one more, which swallows what nobody reads.
    std::uint32_t register_bytes() const { return n32 * 4 * kLanes + n64 * 8 * kLanes; }
    std::uint32_t register_file_bytes() const { return register_bytes() + 8 * kLanes; }
};

struct Program {
    std::uint32_t target = 0;
    std::vector<std::string> op_names;
    std::vector<Site> sites;
    std::vector<Variable> variables;
    std::vector<Function> functions;
    std::uint32_t instruction_count = 0, block_count = 0;

    const Function* entry(const std::string& name) const;
};

// Reads `path`. Throws ProgramError with one sentence that says what does not fit.
std::unique_ptr<Program> load_program(const std::string& path);
std::unique_ptr<Program> decode_program(std::vector<char> bytes, const std::string& path);

}  // namespace simt
