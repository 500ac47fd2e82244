// Edits: one change to a program file, chosen at random.
#pragma once

#include <string>
#include <vector>

#include "program_map.hpp"
#include "random.hpp"

namespace fuzz {

// `names` are operations that an instruction may be renamed to.
void edit(Bytes& bytes, const std::vector<std::string>& names, Random& random);

}  // namespace fuzz
