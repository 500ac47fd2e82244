// Launches what tests/access_patterns.py lists, once each and in its order, for a profiler to count.
// Usage: counting < table. Lines of the table: "merged KERNEL" or "KERNEL w0 w1 … w31".
#include <cstdio>
#include <functional>
#include <iostream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "../kernels/access_patterns.cu"
#include "../kernels/merged.cu"

constexpr int kBytes = 1 << 16;

using Launch = std::function<void(const int* where, void* in, void* out)>;

template <class T>
Launch over(void (*kernel)(const int*, const T*, T*)) {
    return [kernel](const int* where, void* in, void* out) {
        kernel<<<1, 32>>>(where, static_cast<const T*>(in), static_cast<T*>(out));
    };
}

#define ONE(operation, type) {#operation "_" #type, over(operation##_##type)}
#define ALL(operation) \
    ONE(operation, char), ONE(operation, short), ONE(operation, int), ONE(operation, int2), ONE(operation, int4)

int main() {
    const float* in;
    float* out;
    int* where;
    cudaMalloc(const_cast<float**>(&in), kBytes);
    cudaMalloc(&out, kBytes);
    cudaMalloc(&where, 32 * sizeof(int));
    const std::map<std::string, Launch> by_table = {ALL(load_shared),  ALL(store_shared),    ALL(load_global),
                                                    ALL(store_global), ONE(add_shared, int), ONE(add_global, int)};
    const std::map<std::string, std::function<void()>> merged = {
        {"column", [=] { column<<<1, 32>>>(in, out); }},
        {"padded", [=] { padded<<<1, 32>>>(in, out); }},
        {"gemm16", [=] { gemm16<<<dim3(2, 2), dim3(16, 16)>>>(in, in, out, 32); }},
        {"gemm32", [=] { gemm32<<<dim3(2, 2), dim3(32, 32)>>>(in, in, out, 64); }},
        {"transpose", [=] { transpose<<<dim3(2, 2), dim3(32, 8)>>>(in, out, 64); }},
        {"row_stores", [=] { row_stores<<<1, 32>>>(in, out); }},
        {"backwards", [=] { backwards<<<1, 32>>>(in, out); }},
        {"with_a_gap", [=] { with_a_gap<<<1, 32>>>(in, out); }},
        {"global_pairs", [=] { global_pairs<<<1, 32>>>(in, out); }},
        {"bytes", [=] { bytes<<<1, 32>>>((const unsigned char*)in, (unsigned char*)out); }},
        {"rolled", [=] { rolled<<<1, 32>>>(in, out, 15); }},
        {"array_in_registers", [=] { array_in_registers<<<1, 32>>>(in, out, 3); }},
        {"calls", [=] { calls<<<1, 32>>>(in, out); }},
    };
    for (std::string line; std::getline(std::cin, line);) {
        std::istringstream words(line);
        std::string name;
        words >> name;
        if (name == "merged") {
            words >> name;
            merged.at(name)();
        } else {
            std::vector<int> table(32);
            for (int& place : table) words >> place;
            cudaMemcpy(where, table.data(), 32 * sizeof(int), cudaMemcpyHostToDevice);
            by_table.at(name)(where, const_cast<float*>(in), out);
        }
    }
    const cudaError_t error = cudaDeviceSynchronize();
    std::puts(cudaGetErrorString(error));
    return error != cudaSuccess;
}
