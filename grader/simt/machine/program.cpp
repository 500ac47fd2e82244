// Decoding: program file -> Program. See docs/program-format.md for the file.
#include "program.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <limits>

#include "operations.hpp"
#include "specials.hpp"
#include "warp.hpp"

namespace simt {
namespace {

constexpr char kMagic[8] = {'G', 'R', 'S', 'I', 'M', 'T', '\r', '\n'};
constexpr std::uint32_t kMostItems = 1u << 22;          // in any list of the file
constexpr std::uint32_t kMostRegisterBytes = 1u << 24;  // a warp's register file
constexpr std::uint32_t kMostParameterBytes = 32768;
constexpr std::uint32_t kMostSharedBytes = 1u << 20, kMostLocalBytes = 1u << 20;

class Reader {
  public:
    explicit Reader(std::vector<char> bytes) : bytes_(std::move(bytes)) {}

    template <class T>
    T number() {
        T value;
        if (bytes_.size() - at_ < sizeof value) throw ProgramError("the program file ends too early");
        std::memcpy(&value, bytes_.data() + at_, sizeof value);
        at_ += sizeof value;
        return value;
    }
    std::uint32_t u32() { return number<std::uint32_t>(); }
    std::uint32_t count() {
        const std::uint32_t n = u32();
        if (n > kMostItems) throw ProgramError("the program file holds a list of " + std::to_string(n) + " items");
        return n;
    }
    std::string text() {
        const std::uint32_t n = count();
        if (bytes_.size() - at_ < n) throw ProgramError("the program file ends inside a string");
        std::string value(bytes_.data() + at_, n);
        at_ += n;
        if (value.find('\0') != std::string::npos) throw ProgramError("the program file holds a name with a zero byte");
        return value;
    }
    template <class Item>
    auto list(Item&& item) {
        std::vector<decltype(item())> items;
        for (std::uint32_t n = count(); n > 0; --n) items.push_back(item());
        return items;
    }
    bool at_end() const { return at_ == bytes_.size(); }

  private:
    std::vector<char> bytes_;
    std::size_t at_ = 0;
};

enum OperandKind : std::uint32_t { r32, r64, pred, constant32, constant64, predicate_constant, sink = 6, negated = 7 };

struct RawInstruction {
    std::uint32_t op, site, guard, compiled;
    std::vector<std::uint32_t> operands;
    std::int64_t immediate;
};

struct RawBlock {
    std::uint32_t first, count, next;
};

// The name of a memory instruction without its semantics and scope, which `strength` receives. Other names stay.
std::string without_strength(const std::string& name, Strength& strength) {
    if (name.starts_with("fence.") || name.starts_with("membar.")) strength.block_only = name.ends_with(".cta");
    const bool atomic = name.starts_with("atom.") || name.starts_with("red.");
    // One that makes an mbarrier is a plain store to it.
    const bool waits = name.starts_with("mbarrier.test_wait."), arrives = name.starts_with("mbarrier.arrive");
    const bool mbarrier = waits || arrives || name.starts_with("mbarrier.expect_tx") ||
                          name.starts_with("mbarrier.complete_tx") || name.starts_with("mbarrier.inval") ||
                          name.starts_with("cp.async.mbarrier.");
    if (!atomic && !mbarrier && !name.starts_with("ld.") && !name.starts_with("st.")) return name;
    strength.ordered = atomic || mbarrier;
    if (mbarrier && name.find(".relaxed.") == std::string::npos) {
        strength.acquires = waits;
        strength.releases = arrives;
    }
    std::string rest;
    for (std::size_t from = 0; from <= name.size();) {
        const std::size_t end = std::min(name.find('.', from), name.size());
        const std::string_view part = std::string_view(name).substr(from, end - from);
        from = end + 1;
        if (part == "volatile" || part == "mmio")
            strength.ordered = strength.is_volatile = true;
        else if (part == "relaxed")
            strength.ordered = true;
        else if (part == "acquire" || part == "release" || part == "acq_rel") {
            strength.ordered = true;
            strength.acquires |= part != "release";
            strength.releases |= part != "acquire";
        } else if (part == "cta")
            strength.block_only = true;
        else if (part != "gpu" && part != "sys" && part != "cluster") {
            if (!rest.empty()) rest += '.';
            rest += part;
        }
    }
    return rest;
}

// Matrix operations, which all lanes of a warp make together.
bool is_whole_warp(const std::string& name) {
    for (const char* family : {"wmma.", "mma.", "ldmatrix.", "stmatrix.", "movmatrix."})
        if (name.starts_with(family)) return true;
    return false;
}

// Turns one function's operands and instructions into their running form.
class FunctionDecoder {
  public:
    FunctionDecoder(const Program& program, Function& function, std::uint32_t constants32, std::uint32_t constants64)
        : program_(program), function_(function), constants32_(constants32), constants64_(constants64) {}

    Instruction decode(const RawInstruction& raw, std::uint32_t index) const {
        if (raw.op >= program_.op_names.size()) fail("an instruction has no name");
        const std::string& name = program_.op_names[raw.op];
        Instruction result;
        result.immediate = raw.immediate;
        result.guard = guard(raw.guard);
        result.site = static_cast<std::uint16_t>(raw.site < program_.sites.size() && raw.site < 65536 ? raw.site : 0);
        result.index = index;
        result.compiled = width(raw.compiled);
        const Operation* operation =
            operations().find(without_strength(name, result.strength) + (is_tracked(raw, name) ? ".tracked" : ""));
        result.run = operation ? operation->run : report_unsupported;
        result.text = static_cast<std::uint16_t>(unsupported_text(raw, name == "unsupported"));
        if (operation) place(raw, operation->operands, name, result);
        result.strength.fragment = is_whole_warp(name);
        if (name == "mov.variable" && (raw.immediate < 0 || raw.immediate >= std::int64_t(program_.variables.size())))
            fail("mov.variable names a variable that is not there");
        return result;
    }

    // 0 and the widths that accesses have, or kUnknownWidth.
    std::uint8_t width(std::uint32_t compiled) const {
        if (compiled == 0xffffffff) return kUnknownWidth;
        if (compiled > 16 || (compiled & (compiled - 1)) != 0)
            fail("an instruction was compiled to a width that no access has");
        return static_cast<std::uint8_t>(compiled);
    }

    // The predicate that guards a branch or an exit: same coding as Instruction::guard.
    std::uint32_t guard(std::uint32_t raw) const {
        if (raw == 0) return 0;
        const std::uint32_t slot = (raw - 1) >> 1;
        if (slot >= function_.predicates - kFirstPredicate) fail("a guard names a predicate that is not there");
        return 1 + 2 * (slot + kFirstPredicate) + ((raw - 1) & 1);
    }

    // The blocks that `brx` names, each by a constant; returns the table's place.
    std::uint32_t jump_table(const RawInstruction& raw, const std::vector<std::uint32_t>& narrow,
                             std::size_t blocks) const {
        std::vector<std::uint32_t> table;
        for (std::size_t i = 1; i < raw.operands.size(); ++i) {
            const std::uint32_t kind = raw.operands[i] >> 28, index = raw.operands[i] & 0x0fffffffu;
            if (kind != constant32 || index >= narrow.size() || narrow[index] >= blocks) fail("a jump leads nowhere");
            table.push_back(narrow[index]);
        }
        function_.jump_tables.push_back(std::move(table));
        return static_cast<std::uint32_t>(function_.jump_tables.size() - 1);
    }

    [[noreturn]] void fail(const std::string& what) const { throw ProgramError(function_.name + ": " + what); }

  private:
  public:
    // A shuffle that moves, beside the value, the mask of lanes that have one.
    static bool is_tracked(const RawInstruction& raw, const std::string& name) {
        return raw.operands.size() == 8 && name.starts_with("shfl.");
    }

  private:
    std::uint32_t unsupported_text(const RawInstruction& raw, bool carries_text) const {
        const std::uint64_t text = carries_text ? static_cast<std::uint64_t>(raw.immediate) : raw.op;
        return text < program_.op_names.size() && text < 65536 ? static_cast<std::uint32_t>(text) : raw.op & 0xffff;
    }

    void place(const RawInstruction& raw, std::string wanted, const std::string& name, Instruction& result) const {
        if (wanted == "r*") {  // the rest is a table
            if (raw.operands.empty()) fail(name + " has no operand");
            result.operand[0] = operand(raw.operands[0], 'r', name);
            return;
        }
        const bool listed = wanted.starts_with('*');
        if (listed) wanted.erase(0, 1);
        if (!wanted.empty() && wanted.back() == '+') {
            wanted.pop_back();
            while (wanted.size() < std::min<std::size_t>(raw.operands.size(), 8)) wanted += wanted.back();
            for (std::uint32_t& slot : result.operand) slot = kPredicateTrue;
        }
        if (raw.operands.size() != wanted.size())
            fail(name + " has " + std::to_string(raw.operands.size()) + " operands, not " +
                 std::to_string(wanted.size()));
        if (listed) {
            result.operand[0] = static_cast<std::uint32_t>(function_.operand_lists.size());
            for (std::size_t i = 0; i < wanted.size(); ++i)
                function_.operand_lists.push_back(operand(raw.operands[i], wanted[i], name));
            return;
        }
        for (std::size_t i = 0; i < wanted.size(); ++i) result.operand[i] = operand(raw.operands[i], wanted[i], name);
    }

    std::uint32_t operand(std::uint32_t raw, char wanted, const std::string& name) const {
        const std::uint32_t kind = raw >> 28, index = raw & 0x0fffffffu;
        switch (wanted) {
            case 'w':
            case 'r':
                if (wanted == 'w' && kind == sink) return function_.register_bytes();
                if (kind == r32 && index < function_.n32) return index * 4 * kLanes;
                if (wanted == 'r' && kind == constant32 && index < constants32_)
                    return kConstantFile | index * 4 * kLanes;
                break;
            case 'W':
            case 'R':
                if (wanted == 'W' && kind == sink) return function_.register_bytes();
                if (kind == r64 && index < function_.n64) return (function_.n32 * 4 + index * 8) * kLanes;
                if (wanted == 'R' && kind == constant64 && index < constants64_)
                    return kConstantFile | (constants32_ * 4 + index * 8) * kLanes;
                break;
            case 'o':
                return kind == sink ? kAbsent : operand(raw, 'r', name);
            case 'A':
                if (kind == r32 || kind == constant32) return kNarrowAddress | operand(raw, 'r', name);
                return operand(raw, 'R', name);
            case 'P':
                if (kind == sink) return kPredicateSink;
                if (kind == pred && index < function_.predicates - kFirstPredicate) return index + kFirstPredicate;
                break;
            case 'p':
                if (kind == predicate_constant && index < 2) return index;
                if ((kind == pred || kind == negated) && index < function_.predicates - kFirstPredicate)
                    return (index + kFirstPredicate) | (kind == negated ? kNegated : 0);
                break;
            default:
                break;
        }
        fail("an operand of " + name + " does not fit");
    }

    const Program& program_;
    Function& function_;
    std::uint32_t constants32_, constants64_;
};

Ending ending_of(const std::string& name) {
    if (name == "bra") return Ending::branch;
    if (name == "brx") return Ending::jump;
    if (name == "call") return Ending::call;
    if (name == "call.indirect") return Ending::call_indirect;
    if (name == "ret") return Ending::give_back;
    if (name == "exit") return Ending::leave;
    if (name == "bar.warp.sync" || is_whole_warp(name)) return Ending::collective;
    const bool barrier = name.starts_with("bar.") || name.starts_with("barrier.");
    if (barrier && !name.ends_with(".arrive")) return Ending::barrier;
    for (const char* collective : {"shfl.sync.", "vote.sync.", "match.", "redux.sync.", "elect.sync"})
        if (name.starts_with(collective)) return Ending::collective;
    if (name == "trap") return Ending::trap;
    return Ending::fall_through;
}

BarrierKind barrier_kind(const std::string& name) {
    if (name.ends_with(".red.popc.u32")) return BarrierKind::count;
    if (name.ends_with(".red.and.pred")) return BarrierKind::all;
    if (name.ends_with(".red.or.pred")) return BarrierKind::any;
    return BarrierKind::sync;
}

void fill_constants(Function& function, const std::vector<std::uint32_t>& narrow,
                    const std::vector<std::uint64_t>& wide) {
    function.constants.resize((narrow.size() * 4 + wide.size() * 8) * kLanes);
    std::byte* to = function.constants.data();
    const auto spread = [&to](auto value) {
        for (int lane = 0; lane < kLanes; ++lane, to += sizeof value) std::memcpy(to, &value, sizeof value);
    };
    for (const std::uint32_t value : narrow) spread(value);
    for (const std::uint64_t value : wide) spread(value);
}

void decode_blocks(Program& program, Function& function, const FunctionDecoder& decoder,
                   const std::vector<RawBlock>& blocks, const std::vector<RawInstruction>& instructions,
                   const std::vector<std::uint32_t>& narrow) {
    if (blocks.empty()) decoder.fail("it has no blocks");
    std::uint64_t covered = 0;
    for (const RawBlock& raw : blocks) {
        if (raw.first != covered || raw.count > instructions.size() - covered)
            decoder.fail("its blocks do not cover its instructions in order");
        covered += raw.count;
        Block block;
        block.first = static_cast<std::uint32_t>(function.instructions.size());
        block.next = raw.next;
        block.index = program.block_count++;
        block.issued = raw.count;
        for (std::uint32_t i = raw.first; i < raw.first + raw.count; ++i) {
            const RawInstruction& instruction = instructions[i];
            if (instruction.op >= program.op_names.size()) decoder.fail("an instruction has no name");
            const Ending ending = ending_of(program.op_names[instruction.op]);
            if (ending == Ending::fall_through) {
                function.instructions.push_back(decoder.decode(instruction, program.instruction_count++));
                continue;
            }
            if (i + 1 != raw.first + raw.count) decoder.fail("a block goes on after its end");
            block.ending = ending;
            block.last = decoder.decode(instruction, program.instruction_count++);
            if (ending == Ending::branch && instruction.immediate >= std::int64_t(blocks.size()))
                decoder.fail("a branch leads nowhere");
            if (ending == Ending::branch || ending == Ending::call) {
                if (instruction.immediate < 0 || instruction.immediate > kMostItems)
                    decoder.fail("a branch leads nowhere");
                block.target = static_cast<std::uint32_t>(instruction.immediate);
            }
            if (ending == Ending::barrier) {
                block.barrier = barrier_kind(program.op_names[instruction.op]);
                block.aligned = program.op_names[instruction.op].starts_with("bar.");
            }
            if (ending == Ending::collective) {
                const bool tracked = FunctionDecoder::is_tracked(instruction, program.op_names[instruction.op]);
                block.is_warp_barrier = program.op_names[instruction.op] == "bar.warp.sync";
                block.whole_warp = is_whole_warp(program.op_names[instruction.op]);
                block.mask_operand = static_cast<std::uint8_t>(
                    std::clamp<std::size_t>(instruction.operands.size(), 1, 8) - (tracked ? 2 : 1));
            }
            if (ending == Ending::jump) block.target = decoder.jump_table(instruction, narrow, blocks.size());
        }
        block.count = static_cast<std::uint32_t>(function.instructions.size()) - block.first;
        const bool may_stay = block.last.guard != 0 || block.ending == Ending::fall_through ||
                              block.ending == Ending::call || block.ending == Ending::call_indirect ||
                              block.ending == Ending::barrier || block.ending == Ending::collective;
        if (block.next >= blocks.size() && (block.next != kNoBlock || may_stay)) decoder.fail("a block leads nowhere");
        function.blocks.push_back(block);
    }
    if (covered != instructions.size()) decoder.fail("instructions lie outside its blocks");
}

RawInstruction read_instruction(Reader& in) {
    RawInstruction raw;
    raw.op = in.u32();
    raw.site = in.u32();
    raw.guard = in.u32();
    raw.compiled = in.u32();
    raw.operands = in.list([&in] { return in.u32(); });
    raw.immediate = in.number<std::int64_t>();
    return raw;
}

Function read_function(Reader& in, Program& program) {
    Function function;
    function.name = in.text();
    function.entry = in.u32() & 1;
    function.n32 = in.u32();
    function.n64 = in.u32();
    const std::uint32_t predicates = in.u32();
    if (std::uint64_t(function.n32) * 4 * kLanes + std::uint64_t(function.n64) * 8 * kLanes > kMostRegisterBytes ||
        predicates > kMostItems)
        throw ProgramError(function.name + ": too many registers");
    function.predicates = predicates + kFirstPredicate;
    function.parameter_bytes = in.u32();
    function.parameters = in.list([&in] { return Parameter{in.u32(), in.u32(), in.u32()}; });
    function.shared_bytes = in.u32();
    function.shared = in.list([&in] {
        SharedVariable variable;
        variable.name = in.text();
        variable.offset = in.u32();
        variable.size = in.u32();
        variable.align = in.u32();
        return variable;
    });
    function.local_bytes = in.u32();
    if (function.shared_bytes > kMostSharedBytes || function.local_bytes > kMostLocalBytes ||
        function.parameter_bytes > kMostParameterBytes)
        throw ProgramError(function.name + ": its shared, local or parameter memory is too large");
    function.result_bytes = in.u32();
    function.argument_bytes = in.u32();
    function.returned_bytes = in.u32();
    if (std::max({function.result_bytes, function.argument_bytes, function.returned_bytes}) > kMostParameterBytes)
        throw ProgramError(function.name + ": what its calls pass is too large");
    const auto narrow = in.list([&in] { return in.u32(); });
    const auto wide = in.list([&in] { return in.number<std::uint64_t>(); });
    if (narrow.size() * 4 + wide.size() * 8 > kMostRegisterBytes / kLanes)
        throw ProgramError(function.name + ": too many constants");
    fill_constants(function, narrow, wide);
    function.specials = in.list([&in, &function] {
        const std::string name = in.text();
        const Special special{find_special(name), in.u32()};
        if (special.which == SpecialRegister::unknown || special.slot >= function.n32)
            throw ProgramError(function.name + ": special register " + name + " does not fit");
        return special;
    });
    const auto blocks = in.list([&in] { return RawBlock{in.u32(), in.u32(), in.u32()}; });
    const auto instructions = in.list([&in] { return read_instruction(in); });
    const FunctionDecoder decoder(program, function, static_cast<std::uint32_t>(narrow.size()),
                                  static_cast<std::uint32_t>(wide.size()));
    decode_blocks(program, function, decoder, blocks, instructions, narrow);
    return function;
}

Variable read_variable(Reader& in) {
    Variable variable;
    variable.name = in.text();
    variable.constant = in.u32() == 2;
    variable.align = in.u32();
    variable.size = in.number<std::uint64_t>();
    variable.initial = in.list([&in] { return in.number<std::uint8_t>(); });
    variable.relocations =
        in.list([&in] { return Relocation{in.number<std::uint64_t>(), in.u32(), in.number<std::int64_t>()}; });
    if (variable.size > (1u << 30) || variable.initial.size() > variable.size)
        throw ProgramError("variable " + variable.name + " does not fit its size");
    return variable;
}

std::vector<char> whole_file(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) throw ProgramError("cannot read " + path);
    return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

void OperationTable::add(std::initializer_list<std::string_view> name, std::string_view operands, Handler run) {
    std::string whole;
    for (const std::string_view part : name) whole += part;
    table_.emplace(std::move(whole), Operation{run, std::string(operands)});
}

const OperationTable& operations() {
    static const OperationTable table = [] {
        OperationTable made;
        add_move_operations(made);
        add_integer_operations(made);
        add_bit_operations(made);
        add_floating_operations(made);
        add_compare_operations(made);
        add_convert_operations(made);
        add_half_operations(made);
        add_memory_operations(made);
        add_atomic_operations(made);
        add_collective_operations(made);
        add_fragment_operations(made);
        add_product_operations(made);
        add_ordering_operations(made);
        add_asynchronous_operations(made);
        add_mbarrier_operations(made);
        add_frame_operations(made);
        add_system_operations(made);
        add_control_operations(made);
        return made;
    }();
    return table;
}

const Function* Program::entry(const std::string& name) const {
    const auto found = std::find_if(functions.begin(), functions.end(),
                                    [&name](const Function& f) { return f.entry && f.name == name; });
    return found == functions.end() ? nullptr : &*found;
}

std::unique_ptr<Program> load_program(const std::string& path) {
    return decode_program(whole_file(path), path);
}

std::unique_ptr<Program> decode_program(std::vector<char> bytes, const std::string& path) {
    Reader in(std::move(bytes));
    for (const char expected : kMagic)
        if (in.number<char>() != expected) throw ProgramError(path + " is not a lowered program");
    const std::uint32_t version = in.u32();
    if (version != kProgramVersion)
        throw ProgramError(path + " has version " + std::to_string(version) + "; this machine reads version " +
                           std::to_string(kProgramVersion));
    auto program = std::make_unique<Program>();
    program->target = in.u32();
    program->op_names = in.list([&in] { return in.text(); });
    program->sites = in.list([&in] {
        Site site;
        site.line = in.u32();
        site.file = in.text();
        site.file_line = in.u32();
        site.function = in.text();
        site.callers = in.list([&in] { return in.u32(); });
        site.own = site.line == site.file_line;
        return site;
    });
    if (program->sites.empty()) program->sites.emplace_back();
    program->variables = in.list([&in] { return read_variable(in); });
    for (const Variable& variable : program->variables)
        for (const Relocation& relocation : variable.relocations)
            if (variable.size < 8 || relocation.offset > variable.size - 8)
                throw ProgramError("variable " + variable.name + " holds an address that does not fit");
    for (std::uint32_t n = in.count(); n > 0; --n) program->functions.push_back(read_function(in, *program));
    for (const Function& function : program->functions)
        for (const Block& block : function.blocks)
            if (block.ending == Ending::call && block.target >= program->functions.size())
                throw ProgramError(function.name + ": a call leads nowhere");
    if (!in.at_end()) throw ProgramError(path + " goes on after its end");
    return program;
}

}  // namespace simt
