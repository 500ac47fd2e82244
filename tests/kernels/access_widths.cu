// One kernel for each space and width: it loads and stores a value in inline PTX, which no compiler makes wider.
#define ONE(name, space, load, store, letter, word)                                           \
    __global__ void name(long long address) {                                                 \
        word x;                                                                               \
        asm volatile("ld" space "." load " %0, [%1];" : "=" letter(x) : "l"(address));        \
        asm volatile("st" space "." store " [%0], %1;" ::"l"(address), letter(x) : "memory"); \
    }
#define TWO(name, space, type, letter, word)                                                                     \
    __global__ void name(long long address) {                                                                    \
        word x, y;                                                                                               \
        asm volatile("ld" space ".v2." type " {%0, %1}, [%2];" : "=" letter(x), "=" letter(y) : "l"(address));   \
        asm volatile("st" space ".v2." type " [%0], {%1, %2};" ::"l"(address), letter(x), letter(y) : "memory"); \
    }
#define FOUR(name, space, type, letter, word)                                                                \
    __global__ void name(long long address) {                                                                \
        word x, y, z, w;                                                                                     \
        asm volatile("ld" space ".v4." type " {%0, %1, %2, %3}, [%4];"                                       \
                     : "=" letter(x), "=" letter(y), "=" letter(z), "=" letter(w)                            \
                     : "l"(address));                                                                        \
        asm volatile("st" space ".v4." type " [%0], {%1, %2, %3, %4};" ::"l"(address), letter(x), letter(y), \
                     letter(z), letter(w)                                                                    \
                     : "memory");                                                                            \
    }
#define ALL(name, space)                                 \
    ONE(name##_u8, space, "u8", "u8", "h", short)        \
    ONE(name##_s8, space, "s8", "u8", "h", short)        \
    ONE(name##_u16, space, "u16", "u16", "h", short)     \
    ONE(name##_s16, space, "s16", "u16", "h", short)     \
    ONE(name##_b32, space, "b32", "b32", "r", int)       \
    ONE(name##_b64, space, "b64", "b64", "l", long long) \
    TWO(name##_v2_b32, space, "b32", "r", int)           \
    TWO(name##_v2_b64, space, "b64", "l", long long)     \
    FOUR(name##_v4_b32, space, "b32", "r", int)

ALL(shared, ".shared")
ALL(global, ".global")
ALL(local, ".local")
ALL(generic, "")
