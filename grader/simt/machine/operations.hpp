// Operations: the table from an operation's name in the program file to the code that runs it.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "program.hpp"

namespace simt {

// `operands` says what each operand must be, destinations first:
//   w W  a 32-bit, 64-bit destination register      r R  a 32-bit, 64-bit source (register or constant)
//   P    a predicate destination (or a sink)         p    a predicate source (constants and negation allowed)
//   o    a 32-bit source that may be missing: kAbsent
//   r*   a 32-bit source and a table (brx)
//   *    first of all: the operands lie in Function::operand_lists, from Instruction::operand[0] on
//   +    what stands before it may come again, up to 8 operands; predicates that do not come are true
//   A    an address: a 64-bit or 32-bit source; kNarrowAddress marks the latter
struct Operation {
    Handler run;
    std::string operands;
};

class OperationTable {
  public:
    // Out of line, with the name in parts: thousands of templates call it.
    void add(std::initializer_list<std::string_view> name, std::string_view operands, Handler run);
    void add(std::string_view name, std::string_view operands, Handler run) { add({name}, operands, run); }
    const Operation* find(const std::string& name) const {
        const auto found = table_.find(name);
        return found == table_.end() ? nullptr : &found->second;
    }
    std::vector<std::string> names() const {
        std::vector<std::string> all;
        for (const auto& [name, operation] : table_) all.push_back(name);
        return all;
    }

  private:
    std::unordered_map<std::string, Operation> table_;
};

void add_integer_operations(OperationTable&);       // integer.cpp
void add_bit_operations(OperationTable&);           // bits.cpp
void add_floating_operations(OperationTable&);      // floating.cpp
void add_compare_operations(OperationTable&);       // compare.cpp
void add_half_operations(OperationTable&);          // half.cpp
void add_convert_operations(OperationTable&);       // convert.cpp
void add_move_operations(OperationTable&);          // move.cpp
void add_memory_operations(OperationTable&);        // memory.cpp
void add_atomic_operations(OperationTable&);        // atomics.cpp
void add_collective_operations(OperationTable&);    // collective.cpp
void add_fragment_operations(OperationTable&);      // matrix_memory.cpp
void add_product_operations(OperationTable&);       // matrix_products.cpp
void add_ordering_operations(OperationTable&);      // ordering.cpp
void add_asynchronous_operations(OperationTable&);  // asynchronous.cpp
void add_mbarrier_operations(OperationTable&);      // mbarrier.cpp
void add_frame_operations(OperationTable&);         // frame.cpp
void add_system_operations(OperationTable&);        // system.cpp
void add_control_operations(OperationTable&);       // groups.cpp
const OperationTable& operations();                 // program.cpp: all of them, made once

}  // namespace simt
