// Where in the program a call came from.
#pragma once

#include "../backend.hpp"

namespace grader {

// Finds the program in memory and loads the unwinder; from the library's constructor.
void frames_prepare();
// Return addresses of this thread that lie in the program, counted from its start, innermost first.
Place frames_here();
// The same, beginning with an instruction at `address` itself, as a signal handler knows it.
Place frames_from(std::uintptr_t address);

}  // namespace grader
