// What C++ brings along: functions, recursion, tables, classes, templates, structures by value, printf, assert.
//
// Every entry gets x[n] and writes out; what it makes stands in language.py under the kernel's name.
#include <cuda_runtime.h>

#include <cassert>
#include <cstdio>

#define ENTRY(kernel, blocks, threads)                                                          \
    extern "C" cudaError_t kernel##_entry(const int* x, int* out, int n, cudaStream_t stream) { \
        kernel<<<blocks, threads, 0, stream>>>(x, out, n);                                      \
        return cudaGetLastError();                                                              \
    }

// ---- functions -----------------------------------------------------------------------------------------------------

__device__ __noinline__ int fibonacci(int n) {
    return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}
__global__ void recursion_by_lane(const int* x, int* out, int n) {
    const int i = threadIdx.x;
    if (i < n) out[i] = fibonacci(x[i] % 9);
}
ENTRY(recursion_by_lane, 1, 64)

// Each of two functions calls the other, and lanes part at every level.
__device__ int odd_steps(int n);
__device__ __noinline__ int even_steps(int n) {
    return n <= 1 ? 0 : 1 + (n % 2 ? odd_steps(n) : even_steps(n / 2));
}
__device__ __noinline__ int odd_steps(int n) {
    return 10 + even_steps(3 * n + 1);
}
__global__ void two_functions_call_each_other(const int* x, int* out, int n) {
    out[threadIdx.x] = even_steps(threadIdx.x + 1);
}
ENTRY(two_functions_call_each_other, 1, 30)

__device__ __noinline__ int doubled(int value) {
    return 2 * value;
}
__device__ __noinline__ int squared(int value) {
    return value * value;
}
__device__ __noinline__ int negated(int value) {
    return -value;
}
using Function = int (*)(int);
__constant__ Function functions[3] = {doubled, squared, negated};

__global__ void through_function_pointers(const int* x, int* out, int n) {
    const int i = threadIdx.x;
    Function chosen = functions[i % 3];
    if (x[i] == 0) chosen = negated;
    out[i] = chosen(x[i]) + functions[(i / 3) % 3](i);
}
ENTRY(through_function_pointers, 1, 96)

// A function that waits for its warp, called from two places.
__device__ __noinline__ int sum_with_neighbours(int* tile, int value) {
    const int lane = threadIdx.x % 32;
    tile[lane] = value;
    __syncwarp();
    const int sum = tile[(lane + 1) % 32] + tile[(lane + 31) % 32];
    __syncwarp();
    return sum;
}
__global__ void barriers_in_a_function(const int* x, int* out, int n) {
    __shared__ int tiles[2][32];
    const int i = threadIdx.x;
    int* tile = tiles[i / 32];
    int value = x[i];
    value = i < 32 ? sum_with_neighbours(tile, value) : sum_with_neighbours(tile, 2 * value);
    out[i] = sum_with_neighbours(tile, value);
}
ENTRY(barriers_in_a_function, 1, 64)

// ---- classes -------------------------------------------------------------------------------------------------------

struct Shape {
    __device__ virtual int area() const = 0;
    __device__ int twice() const { return 2 * area(); }
};
struct Square : Shape {
    int side;
    __device__ explicit Square(int a) : side(a) {}
    __device__ int area() const override { return side * side; }
};
struct Rectangle : Shape {
    int width, height;
    __device__ Rectangle(int a, int b) : width(a), height(b) {}
    __device__ int area() const override { return width * height; }
};
__device__ __noinline__ int measured(const Shape& shape) {
    return shape.twice() + shape.area();
}
__global__ void virtual_calls(const int* x, int* out, int n) {
    const int i = threadIdx.x;
    const Square square(x[i]);
    const Rectangle rectangle(x[i], i);
    const Shape* shapes[2] = {&square, &rectangle};
    out[i] = measured(*shapes[i % 2]);
}
ENTRY(virtual_calls, 1, 64)

template <typename T, int kCount>
struct Vector {
    T items[kCount];
    __device__ T& operator[](int k) { return items[k]; }
    __device__ Vector operator+(const Vector& other) const {
        Vector sum;
#pragma unroll
        for (int k = 0; k < kCount; ++k) sum.items[k] = items[k] + other.items[k];
        return sum;
    }
};
template <typename T, int kCount, typename Fill>
__device__ Vector<T, kCount> filled(Fill fill) {
    Vector<T, kCount> vector;
    for (int k = 0; k < kCount; ++k) vector[k] = fill(k);
    return vector;
}
__global__ void templates_and_lambdas(const int* x, int* out, int n) {
    const int i = threadIdx.x;
    auto a = filled<int, 5>([&](int k) { return x[(i + k) % n]; });
    auto b = filled<int, 5>([=](int k) { return i * k; });
    auto sum = a + b + a;
    out[i] = sum[i % 5];
}
ENTRY(templates_and_lambdas, 1, 64)

struct Settings {
    double scale;
    short shift[3];
    char sign;
};
__global__ void structures_by_value(const Settings settings, const int* x, int* out, const Settings other) {
    const int i = threadIdx.x;
    out[i] = static_cast<int>(x[i] * settings.scale) + settings.shift[i % 3] + other.shift[(i + 1) % 3];
    if (other.sign == '-') out[i] = -out[i];
}
extern "C" cudaError_t structures_by_value_entry(const int* x, int* out, int, cudaStream_t stream) {
    const Settings one = {1.5, {10, 20, 30}, '+'}, two = {2.0, {1, 2, 3}, '-'};
    structures_by_value<<<1, 64, 0, stream>>>(one, x, out, two);
    return cudaGetLastError();
}

struct Particle {
    int place;
    short speed;
    signed char mass;
};
__device__ __noinline__ Particle moved(Particle particle, int rounds) {
    particle.place += particle.speed * rounds;
    particle.speed = static_cast<short>(particle.speed / particle.mass);
    return particle;
}
__global__ void structures_in_and_out_of_calls(const int* x, int* out, int n) {
    const int i = threadIdx.x;
    Particle particle = {i, static_cast<short>(x[i]), static_cast<signed char>(1 + i % 3)};
    for (int round = 0; round < 3; ++round) particle = moved(particle, round + 1);
    out[i] = particle.place;
}
ENTRY(structures_in_and_out_of_calls, 1, 64)

// ---- variables of the module ---------------------------------------------------------------------------------------

__constant__ int weights[8] = {1, 3, 5, 7, 11, 13, 17, 19};
__constant__ int factors[4];

__global__ void constant_tables(const int* x, int* out, int n) {
    const int i = threadIdx.x;
    out[i] = x[i] * weights[i % 8] + factors[i / 8 % 4] + weights[7];
}
extern "C" cudaError_t constant_tables_entry(const int* x, int* out, int n, cudaStream_t stream) {
    const int values[4] = {100, 200, 300, 400};
    const cudaError_t error =
        cudaMemcpyToSymbolAsync(factors, values, sizeof(values), 0, cudaMemcpyHostToDevice, stream);
    if (error != cudaSuccess) return error;
    constant_tables<<<1, 64, 0, stream>>>(x, out, n);
    return cudaGetLastError();
}

__device__ int visits[4];
__device__ int names[3] = {70, 80, 90};

__global__ void count_visits(const int* x, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(&visits[x[i] & 3], 1);
}
__global__ void tell_and_reset(int* out) {
    out[threadIdx.x] = visits[threadIdx.x] + names[threadIdx.x % 3];
    visits[threadIdx.x] = 0;
}
extern "C" cudaError_t counters_of_the_module_entry(const int* x, int* out, int n, cudaStream_t stream) {
    count_visits<<<4, 64, 0, stream>>>(x, n);
    tell_and_reset<<<1, 4, 0, stream>>>(out);
    return cudaGetLastError();
}

// ---- local memory and ways through the code ------------------------------------------------------------------------

__global__ void sorted_in_local_memory(const int* x, int* out, int n) {
    const int i = threadIdx.x;
    int items[8];
    for (int k = 0; k < 8; ++k) items[k] = x[8 * i + k];
    for (int k = 1; k < 8; ++k) {
        const int item = items[k];
        int at = k;
        for (; at > 0 && items[at - 1] > item; --at) items[at] = items[at - 1];
        items[at] = item;
    }
    for (int k = 0; k < 8; ++k) out[8 * i + k] = items[k];
}
ENTRY(sorted_in_local_memory, 1, 32)

__global__ void a_small_interpreter(const int* x, int* out, int n) {
    const int i = threadIdx.x;
    int stack[6], depth = 0;
    stack[depth++] = i;
    for (int k = 0; k < 12; ++k) {
        switch ((x[k] + i) % 6) {
            case 0:
                if (depth < 6) stack[depth++] = k;
                break;
            case 1:
                if (depth > 1) {
                    stack[depth - 2] += stack[depth - 1];
                    --depth;
                }
                break;
            case 2:
                stack[depth - 1] *= 3;
                break;
            case 3:
                if (stack[depth - 1] > 50) stack[depth - 1] -= 50;
                break;
            case 4:
                goto next;
            default:
                stack[0] += 1;
        }
        stack[depth - 1] ^= 1;
    next:;
    }
    out[i] = stack[depth - 1];
}
ENTRY(a_small_interpreter, 1, 64)

__global__ void loops_with_two_exits(const int* x, int* out, int n) {
    const int i = threadIdx.x;
    int found = -1;
    for (int row = 0; row < 8 && found < 0; ++row) {
        for (int column = 0; column < 8; ++column) {
            const int value = x[row * 8 + column];
            if (value == i) {
                found = row * 8 + column;
                break;
            }
            if (value < -40) break;
            if (value < 0) continue;
        }
    }
    out[i] = found;
}
ENTRY(loops_with_two_exits, 1, 50)

__global__ void bits_of_floats(const int* x, int* out, int n) {
    const int i = threadIdx.x;
    union {
        float number;
        int bits;
    } view;
    view.number = static_cast<float>(x[i]);
    out[i] = (view.bits & 0x7fffff) + (__float_as_int(0.5f * x[i]) >> 23) + static_cast<int>(__int_as_float(view.bits));
}
ENTRY(bits_of_floats, 1, 64)

__global__ void lane_by_assembly(const int* x, int* out, int n) {
    unsigned lane, below;
    asm("mov.u32 %0, %%laneid;" : "=r"(lane));
    asm("mov.u32 %0, %%lanemask_lt;" : "=r"(below));
    int sum;
    asm("{\n\t.reg .s32 twice;\n\tadd.s32 twice, %1, %1;\n\tadd.s32 %0, twice, %2;\n\t}"
        : "=r"(sum)
        : "r"(x[threadIdx.x]), "r"(static_cast<int>(lane)));
    out[threadIdx.x] = sum + __popc(below);
}
ENTRY(lane_by_assembly, 1, 64)

// ---- words to the outside ------------------------------------------------------------------------------------------

__global__ void says_what_it_sees(const int* x, int* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    assert(i < n && x[i] > -1000);
    out[i] = x[i];
    if (threadIdx.x == 3) printf("block %d of %s: %d, %.2f\n", blockIdx.x, "two", i, i * 0.25);
}
ENTRY(says_what_it_sees, 2, 16)

__global__ void reads_by_ldg(const int* x, int* out, int n) {
    const int i = threadIdx.x;
    const int4 four = __ldg(reinterpret_cast<const int4*>(x) + i);
    out[i] = four.x + 2 * four.y + 3 * four.z + 4 * four.w + __ldg(x + i);
}
ENTRY(reads_by_ldg, 1, 16)

__global__ void every_thread_of_three_dimensions(const int* x, int* out, int n) {
    const int i = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    const int b = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
    out[b * 30 + i] = x[i] * 100 + b;
}
ENTRY(every_thread_of_three_dimensions, dim3(2, 3, 2), dim3(5, 3, 2))
