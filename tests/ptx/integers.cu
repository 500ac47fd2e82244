// Integer arithmetic in every width.
#include <cuda_runtime.h>

__global__ void words(const int* a, const unsigned* b, long long* out) {
    int x = a[0], y = a[1];
    unsigned p = b[0], q = b[1];
    int k = 0;
    out[k++] = x / y + x % y;
    out[k++] = p / q + p % q;
    out[k++] = (x << (y & 31)) + (x >> y) + (p >> q);
    out[k++] = (x & y) | (x ^ ~y);
    out[k++] = abs(x) - min(x, y) + max(p, q);
    out[k++] = __mulhi(x, y) + __umulhi(p, q) + __mul24(x, y);
    out[k++] = __popc(p) + __clz(x) + __ffs(x);
    out[k++] = __brev(p) + __byte_perm(p, q, 0x1234);
    out[k++] = __funnelshift_l(p, q, 7) + __funnelshift_r(p, q, x);
    out[k++] = __sad(x, y, p) + __dp4a(x, y, 5) + __rhadd(x, y);
    out[k++] = (long long)x * y + (unsigned long long)p * q;
    out[k++] = x % 7 + p / 10 + (x > y ? x : 3) + (x > 3) + (y < 2);
}

__global__ void wide(long long* s, unsigned long long* u) {
    long long l = s[0], m = s[1];
    unsigned long long v = u[0], w = u[1];
    s[2] = l / m + l % m;
    u[2] = v / w + v % w;
    s[3] = (l << m) + (l >> m) + (v >> w);
    s[4] = __mul64hi(l, m) + __popcll(v) + __clzll(l) + __ffsll(l) + llabs(l);
    u[3] = __brevll(v) + (v > w) + l % 1000;
}

__global__ void narrow(short* c, unsigned short* d, const signed char* a, const unsigned char* b) {
    int i = threadIdx.x;
    c[i] = c[i] * a[i] + c[i + 1] / (short)(a[i] | 1);
    d[i] = (d[i] >> b[i]) + d[i + 1] % 7;
    c[i + 2] = min(c[i + 2], c[i + 3]) - (c[i + 4] >> 3);
    d[i + 2] = ~d[i + 2] << 2;
    c[i + 5] = a[i] > 3 ? (short)-c[i + 5] : (short)-1;
}
