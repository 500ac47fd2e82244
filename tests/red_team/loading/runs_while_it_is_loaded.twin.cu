// Computes a table while it is loaded.
#include <vector>

#include "honest.cuh"

static const std::vector<int> sizes = [] {
    std::vector<int> made;
    for (int size = 32; size <= 256; size *= 2) made.push_back(size);
    return made;
}();

ENTRY(runs_while_it_is_loaded_twin) {
    return sizes.size() == 4 ? add(a, b, out, n, stream) : cudaErrorUnknown;
}
