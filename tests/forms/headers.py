"""Kernels that call every function which cuda_fp16.h and cuda_bf16.h declare, made of the declarations."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
_DECLARATION = re.compile(r"__CUDA_(?:HOSTDEVICE_)?(?:FP16|BF16)_DECL__\s+([^;{}()]*?)\s*\b(\w+)\(([^;{}]*?)\)\s*[;{]")
# Shuffles without a mask, which no GPU has that nvcc 13 knows.
_GONE = "__CUDA_FP16_WSB_DEPRECATION_MESSAGE"
# What the types' own operators and conversions come to.
OPERATORS = """
template <class T, class T2>
__device__ void operators(T* one, T2* two, int* ints, float* floats, double* doubles, bool* truths) {
    T a = one[0], b = one[1];
    T2 c = two[0], d = two[1];
    one[2] = a + b, one[3] = a - b, one[4] = a * b, one[5] = a / b, one[6] = -a, one[7] = +a;
    two[2] = c + d, two[3] = c - d, two[4] = c * d, two[5] = c / d, two[6] = -c, two[7] = +c;
    a += b, a -= b, a *= b, a /= b, ++a, --a, a++, a--;
    c += d, c -= d, c *= d, c /= d, ++c, --c, c++, c--;
    one[8] = a, two[8] = c;
    truths[0] = a == b, truths[1] = a != b, truths[2] = a < b, truths[3] = a <= b, truths[4] = a > b;
    truths[5] = a >= b, truths[6] = c == d, truths[7] = c != d, truths[8] = c < d, truths[9] = c <= d;
    truths[10] = c > d, truths[11] = c >= d;
    truths[12] = bool(a);
    ints[0] = int(a), ints[1] = (unsigned)a, ints[2] = (short)a, ints[3] = (unsigned short)a, ints[4] = (signed char)a;
    ints[5] = (unsigned char)a, ints[6] = int((long long)a), ints[7] = int((unsigned long long)a), ints[8] = char(a);
    floats[0] = float(a), doubles[0] = double(float(b));
    one[9] = T(ints[9]), one[10] = T((unsigned)ints[9]), one[11] = T((short)ints[9]), one[12] = T((long long)ints[9]);
    one[13] = T((unsigned long long)ints[9]), one[14] = T(floats[1]), one[15] = T(doubles[1]);
    one[16] = T((unsigned short)ints[9]);
}
"""


@dataclass(frozen=True)
class Header:
    """A header, its types of one and of two numbers."""

    name: str
    one: str
    two: str

    def operators(self) -> str:
        given = f"{self.one}* a, {self.two}* b, int* c, float* d, double* e, bool* f"
        return f"{OPERATORS}\n__global__ void all_operators({given}) {{ operators(a, b, c, d, e, f); }}\n"


HEADERS = {
    "cuda_fp16": Header("cuda_fp16.h", "__half", "__half2"),
    "cuda_bf16": Header("cuda_bf16.h", "__nv_bfloat16", "__nv_bfloat162"),
}


def kernels(header: Header, include: Path) -> list[str]:
    """A line with a kernel for each function that the header declares."""
    text = _COMMENT.sub("", (include / header.name).read_text())
    found = []
    for number, match in enumerate(_DECLARATION.finditer(text)):
        result, name, parameters = (" ".join(part.split()) for part in match.groups())
        if _GONE not in match[0]:
            found.append(_kernel(number, result, name, [item.strip() for item in parameters.split(",")]))
    return found


def _kernel(number: int, result: str, name: str, parameters: list[str]) -> str:
    """Operands come from memory, one array each; a pointer is passed on."""
    taken, given = [], []
    for place, parameter in enumerate(parameters):
        declared = re.sub(r"\s*=.*|\b\w+$", "", re.sub(r"\s*=.*", "", parameter)).strip()
        if "*" in declared:
            taken.append(f"{declared.replace('*const', '*').replace('* const', '*')} a{place}")
            given.append(f"a{place}")
        else:
            taken.append(f"const {declared.replace('const ', '')}* a{place}")
            given.append(f"a{place}[threadIdx.x]")
    call = f"{name}({', '.join(given)})"
    if result == "void":
        return f"__global__ void f{number}({', '.join(taken)}) {{ {call}; }}"
    return f"__global__ void f{number}({', '.join([*taken, f'{result}* out'])}) {{ out[threadIdx.x] = {call}; }}"
