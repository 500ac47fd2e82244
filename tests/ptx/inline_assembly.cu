// What only inline assembly writes: scopes, labels in scopes, guards, sinks, odd registers.
#include <cuda_runtime.h>

__global__ void guards(int* out, const float* x, int n) {
    int r;
    asm("{ .reg .pred p; .reg .b32 t; setp.ne.s32 p, %1, 0; mov.b32 t, 5; @p add.s32 t, t, 1; @!p sub.s32 t, t, 1;"
        " mov.b32 %0, t; }"
        : "=r"(r)
        : "r"(n));
    out[0] = r;
    float v;
    asm volatile("{ .reg .pred p; setp.gt.s32 p, %2, 3; @p ld.global.f32 %0, [%1]; @!p mov.f32 %0, 0f3F800000; }"
                 : "=f"(v)
                 : "l"(x), "r"(n));
    out[1] = v;
    asm volatile("{.reg.pred a, b, c; setp.lt.and.s32 a|b, %0, 5, 1; and.pred c, a, b; @c exit;}" ::"r"(r));
    asm volatile("{.reg .pred p; setp.eq.s32 p, %0, 7; @p st.global.u32 [%1], 3; selp.b32 %0, 1, 2, p;}"
                 : "+r"(r)
                 : "l"(out));
    out[2] = r;
}

__global__ void labels(int* out) {
    int r;
    asm volatile(
        "{ .reg .pred P1; WAIT: ld.volatile.global.u32 %0, [%1]; setp.eq.u32 P1, %0, 3; @P1 bra DONE;"
        " bra WAIT; DONE: }"
        : "=r"(r)
        : "l"(out));
    out[1] = r;
    asm volatile(
        "{ .reg .pred P1; WAIT: ld.volatile.global.u32 %0, [%1]; setp.eq.u32 P1, %0, 4; @P1 bra DONE;"
        " bra WAIT; DONE: }"
        : "=r"(r)
        : "l"(out));
    out[2] = r;
}

__global__ void specials(unsigned* out, unsigned long long* wide) {
    unsigned lane, below, multiprocessor;
    asm("mov.u32 %0, %%laneid;" : "=r"(lane));
    asm("mov.u32 %0, %%lanemask_lt;" : "=r"(below));
    asm("mov.u32 %0, %%smid;" : "=r"(multiprocessor));
    out[0] = lane + below + multiprocessor + warpSize;
    unsigned long long t;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t));
    wide[0] = t + clock64();
}

__global__ void parts(unsigned* out, const float* x, unsigned long long w) {
    unsigned low, high, sum, carry;
    asm("mov.b64 {%0, %1}, %2;" : "=r"(low), "=r"(high) : "l"(w));
    asm("add.cc.u32 %0, %2, %3;\n\taddc.u32 %1, %3, 0;" : "=r"(sum), "=r"(carry) : "r"(low), "r"(high));
    out[0] = sum + carry;
    asm("{.reg .b32 t; mov.b64 {_, t}, %1; lop3.b32 %0, t, %2, %3, 0x96;}" : "=r"(sum) : "l"(w), "r"(low), "r"(high));
    out[1] = sum;
    float v;
    asm volatile("prefetch.global.L2 [%0];" ::"l"(x));
    asm volatile("ld.global.nc.L1::no_allocate.L2::128B.f32 %0, [%1+16];" : "=f"(v) : "l"(x));
    asm volatile("st.global.cs.f32 [%0], %1;" ::"l"(out), "f"(v));
    asm volatile("{.reg .b32 q; vabsdiff4.u32.u32.u32 q, %0, %1, 0; st.global.u32 [%2], q;}" ::"r"(low), "r"(high),
                 "l"(out + 2));
}
