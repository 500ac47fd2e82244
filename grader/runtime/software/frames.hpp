// Where in the program, or in a built object that is called as a function, a call came from.
#pragma once

#include "../backend.hpp"

namespace grader {

// The code that places are looked for in: where it begins, and the addresses that it has.
struct Watched {
    std::uintptr_t base = 0, first = 0, last = 0;
};

// Finds a loaded library by its path in memory, or with null the program; loads the unwinder.
Watched frames_find(const char* library);
// All threads look there from now on.
void frames_watch(const Watched& program);
// This thread looks there; null: where all threads look.
void frames_watch_here(const Watched* library);
// Return addresses of this thread that lie there, counted from its start, innermost first.
Place frames_here();
// The same, beginning with an instruction at `address` itself, as a signal handler knows it.
Place frames_from(std::uintptr_t address);

}  // namespace grader
