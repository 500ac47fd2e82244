// What ends a launcher early, told with the place it happened: bad memory, forbidden calls, time, abort, exceptions.
#pragma once

namespace grader {

struct Times {
    long cpu_milliseconds;
    long wall_milliseconds;
};

// Installs the handlers and starts both clocks. Returns null, or what the machine refused.
const char* watch_faults(const Times& times);
// While the loader runs, it may open this one file (it is handed library_descriptor) and look for no other.
void loading(const char* library);
void loaded();

}  // namespace grader
