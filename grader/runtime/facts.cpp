#include "facts.hpp"

namespace grader {

bool read_device(std::istream& line, Device* device) {
    line >> device->major >> device->minor >> device->multiprocessors >> device->threads_per_multiprocessor >>
        device->blocks_per_multiprocessor >> device->registers_per_multiprocessor >> device->shared_per_block >>
        device->shared_per_block_optin >> device->shared_per_multiprocessor >> device->shared_reserved >>
        device->l2_bytes >> device->bus_bits >> device->memory_khz >> device->clock_khz >> device->memory_bytes;
    std::getline(line >> std::ws, device->name);
    return !line.fail();
}

bool read_kernel(std::istream& line, Kernel* kernel) {
    std::size_t parameters = 0;
    line >> kernel->name >> kernel->registers >> kernel->static_shared >> kernel->local >> kernel->max_threads >>
        parameters;
    kernel->parameters.resize(line.fail() ? 0 : parameters);
    for (Parameter& parameter : kernel->parameters) line >> parameter.offset >> parameter.size;
    return !line.fail();
}

}  // namespace grader
