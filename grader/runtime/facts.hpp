// What Python tells of the device and the kernels, as grader/record/request.py writes it: a line each.
#pragma once

#include <istream>

#include "backend.hpp"

namespace grader {

// Read what follows the line's first word; false when it is not that.
bool read_device(std::istream& line, Device* device);
bool read_kernel(std::istream& line, Kernel* kernel);

}  // namespace grader
