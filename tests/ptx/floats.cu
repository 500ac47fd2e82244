// Floating point, the functions nvcc expands among it.
#include <cuda_fp16.h>
#include <cuda_runtime.h>

__global__ void single(const float* a, float* out, int n) {
    float x = a[threadIdx.x], y = a[threadIdx.x + 1];
    int k = 0;
    out[k++] = x / y + sqrtf(x) + rsqrtf(y) + fmaf(x, y, x);
    out[k++] = sinf(x);
    out[k++] = expf(x) + logf(y) + tanhf(x);
    out[k++] = powf(x, y);
    out[k++] = fminf(x, y) + fmaxf(x, y) + fabsf(x) + copysignf(x, y);
    out[k++] = floorf(x) + ceilf(x) + truncf(y) + rintf(x) + roundf(y);
    out[k++] = __expf(x) + __logf(x) + __sinf(x) + __cosf(y) + __fdividef(x, y);
    out[k++] = __fadd_rz(x, y) + __fmaf_rd(x, y, x) + __fsqrt_ru(x) + __saturatef(x);
    out[k++] = isnan(x) + isinf(y) + (x > y) + (x != y) + (x <= 3.f ? x : y);
    out[k++] = (int)x + (unsigned)y + (long long)x + (short)y + (unsigned char)x;
    out[k++] = (float)n + (float)(unsigned)n + (float)(long long)n + __int_as_float(n);
}

__global__ void twice(const double* a, double* out, int n) {
    double x = a[threadIdx.x], y = a[threadIdx.x + 1];
    int k = 0;
    out[k++] = x / y + sqrt(x) + fma(x, y, x);
    out[k++] = exp(x);
    out[k++] = floor(x) + rint(y) + fmin(x, y) + fabs(x);
    out[k++] = (float)x + (int)x + (long long)y + n + (unsigned)n + (long long)n;
    out[k++] = __hiloint2double(3, n) + __double2hiint(x) + (x > y) + (x != x);
}

__global__ void half_precision(const half* a, half* out, half2* two, float* f) {
    half x = a[threadIdx.x], y = a[threadIdx.x + 1];
    out[0] = x * y + x;
    out[1] = x > y ? hsqrt(x) : __hmax(x, y);
    out[2] = __float2half(f[0]);
    f[1] = __half2float(x);
    two[0] = __hfma2(two[1], two[2], two[3]);
    two[4] = __floats2half2_rn(f[2], f[3]);
    f[4] = __low2float(two[5]) + __high2float(two[6]);
}
