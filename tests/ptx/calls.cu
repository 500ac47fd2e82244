// Calls that stay calls.
#include <cuda_runtime.h>

#include <cassert>
#include <cstdio>

struct Record {
    float x;
    double y;
    int z[3];
};

__device__ __noinline__ float add(float x, float y) {
    return x + y;
}

__device__ __noinline__ void store(float* p, size_t i, float v) {
    p[i] = v;
}

__device__ __noinline__ Record update(float x, Record r) {
    r.x = x;
    r.y += x;
    r.z[1]++;
    return r;
}

__device__ __noinline__ int fibonacci(int n) {
    return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

typedef float (*Operation)(float, float);
__device__ __noinline__ float subtract(float x, float y) {
    return x - y;
}
__device__ Operation operations[2] = {add, subtract};

struct Shape {
    __device__ virtual float area() const = 0;
};
struct Square : Shape {
    float side;
    __device__ float area() const override { return side * side; }
};
struct Circle : Shape {
    float radius;
    __device__ float area() const override { return 3 * radius * radius; }
};

__global__ void direct(const float* a, const float* b, float* out, int n) {
    int i = threadIdx.x;
    if (i >= n) return;
    Record r = update(a[i], Record{b[i], 2.0, {1, 2, 3}});
    store(out, i, add(a[i], b[i]) + (float)r.y + r.z[1]);
}

__global__ void recursive(int* out, int n) {
    out[threadIdx.x] = fibonacci(n);
}

__global__ void indirect(float* out, int k) {
    out[threadIdx.x] = operations[k](out[0], out[1]);
}

__global__ void dispatched(float* out, int n) {
    Square square;
    square.side = 2;
    Circle circle;
    circle.radius = n;
    const Shape* shape = n > 3 ? (const Shape*)&square : &circle;
    out[0] = shape->area();
}

__global__ void system_calls(int* out, int n) {
    assert(out[0] > n);
    printf("%d %f %s\n", n, 1.5f, "word");
    int* p = (int*)malloc(n);
    p[0] = 1;
    out[1] = p[0];
    free(p);
    if (out[1] == 3) __trap();
}
