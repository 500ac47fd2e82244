// What all programs here share: a call that must not fail, and the last word.
#pragma once

#include <cuda_runtime.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CHECK(call)                                                                              \
    do {                                                                                         \
        const cudaError_t error_ = (call);                                                       \
        if (error_ != cudaSuccess) {                                                             \
            std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(error_)); \
            std::exit(2);                                                                        \
        }                                                                                        \
    } while (0)

// Notes what went wrong; the program's exit code comes from verdict().
inline int& mistakes() {
    static int count = 0;
    return count;
}

inline void expect(bool holds, const char* what) {
    if (holds) return;
    std::printf("wrong: %s\n", what);
    ++mistakes();
}

inline int verdict() {
    std::puts(mistakes() == 0 ? "PASS" : "FAIL");
    return mistakes() != 0;
}

// The same values in every run, between -1 and 1.
inline std::vector<float> noise(std::size_t count, unsigned seed) {
    std::vector<float> values(count);
    for (float& value : values) {
        seed = seed * 1664525u + 1013904223u;
        value = static_cast<float>(seed >> 8) / 8388608.0f - 1.0f;
    }
    return values;
}

template <typename T>
T* on_device(const std::vector<T>& values) {
    T* memory = nullptr;
    CHECK(cudaMalloc(&memory, values.size() * sizeof(T)));
    CHECK(cudaMemcpy(memory, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice));
    return memory;
}

template <typename T>
std::vector<T> on_host(const T* memory, std::size_t count) {
    std::vector<T> values(count);
    CHECK(cudaMemcpy(values.data(), memory, count * sizeof(T), cudaMemcpyDeviceToHost));
    return values;
}

inline double largest_difference(const std::vector<float>& got, const std::vector<double>& wanted) {
    double largest = 0.0;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
        const double difference = std::fabs(static_cast<double>(got[i]) - wanted[i]);
        if (!(difference <= largest)) largest = difference;  // not a number counts as well
    }
    return largest;
}
