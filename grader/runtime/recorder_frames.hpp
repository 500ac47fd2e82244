// Where in the learner's object a call came from.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace grader {

// Set before the object is loaded; its address is found when it is first needed, which may be while it loads.
void frames_watch(const char* library);
// Loads the unwinder, which the filter would not let it do later.
void frames_prepare();

struct Stack {
    std::array<void*, 96> addresses;
    std::size_t count = 0;
};
Stack walk();

// Is it in the learner's object, and how far from the start of it? A return address points after its call.
bool offset_of(const void* address, std::uint64_t* offset);
// Offsets of the stack's return addresses that are, innermost first.
std::size_t frames(std::uint64_t* offsets, std::size_t capacity);

}  // namespace grader
