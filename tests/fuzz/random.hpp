// Random: numbers that depend on the seeds they were started with and on nothing else.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>

namespace fuzz {

class Random {
  public:
    Random(std::initializer_list<std::uint64_t> seeds) {
        for (const std::uint64_t seed : seeds) state_ = next() ^ seed;
    }
    std::uint64_t next() {  // splitmix64
        std::uint64_t z = state_ += 0x9E3779B97F4A7C15u;
        z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
        z = (z ^ z >> 27) * 0x94D049BB133111EBu;
        return z ^ z >> 31;
    }
    std::uint64_t below(std::uint64_t count) { return next() % count; }
    bool one_in(std::uint64_t count) { return below(count) == 0; }
    // A number of any size: as likely small as large.
    std::uint64_t any() { return next() >> below(64); }
    template <class Items>
    const auto& of(const Items& items) {
        return *std::next(std::begin(items), static_cast<std::ptrdiff_t>(below(std::size(items))));
    }
    template <class T>
    T of(std::initializer_list<T> items) {
        return *(items.begin() + below(items.size()));
    }

  private:
    std::uint64_t state_ = 0;
};

}  // namespace fuzz
