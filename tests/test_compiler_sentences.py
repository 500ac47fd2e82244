"""What learners really mistype, compiled by the real nvcc: one sentence a line, with the thing and the next step.

Each source says at the end of a line what must be told of it, `//: like this`; of other lines nothing is told. Errors
of meaning share a file, since nvcc goes on after them; errors of spelling have one each.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from grader.build import BuildFailed, build
from grader.explain import diagnostics
from tests.fresh_cache import fresh_cache

ENTRY = """
extern "C" cudaError_t entry(const float* a, float* out, int n, cudaStream_t stream) {
    add<<<4, 256, 0, stream>>>(a, out, n);
    return cudaGetLastError();
}
"""
KERNEL = """
__global__ void add(const float* a, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = a[i];
}
"""


def of(body: str) -> str:
    return f"\n__global__ void k(float* o, int n) {{\n    {body}\n}}\n"


MISTAKES = {
    "names": """
__global__ void k(const float* a, float* out, int n) {
    int i = threadldx.x;  //: Did you mean `threadIdx`?
    __syncthread();  //: Did you mean `__syncthreads`?
    out[i] = blockDim.X;  //: `dim3` has no `.X`: its members are `.x`, `.y`, `.z`
    __shared__ float As[32];
    As[i] = as[i];  //: Did you mean `As`?
    for (int j = 0; j < n; ++j) { float sum = a[j]; out[j] = sum; }
    out[i] = sum;  //: `sum` is not known here: the one of line 8
    out[i] = TILE;  //: `TILE` is not declared
    printf("%d", i);  //: `#include <cstdio>`
    assert(i < n);  //: `#include <cassert>`
    out[i] = FLT_MAX;  //: `#include <cfloat>`
    uint64_t wide = 3;  //: `#include <cstdint>`
    out[i] = __shfl_downsync(0xffffffff, a[i], 1);  //: Did you mean `__shfl_down_sync`?
    later(out);  //: it stands further down, on line 21
    std::cout << i;  //: `#include <iostream>`
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> f;  //: `#include <mma.h>` and `using namespace nvcuda;`
}

__device__ void later(float* out) { out[0] = 1; }

extern "C" cudaError_t entry() { return cudaSucces; }  //: Did you mean `cudaSuccess`?
""",
    "types": """
__global__ void k(const float* a, float* out, int n) {
    int i = blockIdx * blockDim + threadIdx;  //: take its `.x`, `.y` or `.z`
    out[threadIdx] = 1;  //: take its `.x`, `.y` or `.z`
    float4 v = a[i];  //: `make_float4(x, y, …)`
    out[i] = make_float4(1, 2, 3, 4);  //: take its `.x`, `.y`, `.z` or `.w`
    float4 w = reinterpret_cast<float4*>(a)[i];  //: `reinterpret_cast<const float4*>`
    float4* u = a;  //: `reinterpret_cast<float4 *>(pointer)`
    float4 sum = w + w;  //: CUDA has no `+` for `float4`
    out[i] = w[0];  //: A `float4` is no array
    float* p = n;  //: `int` is a number, and an address (`float *`) is needed
    float s = a;  //: `const float *` is an address, and `float` is needed: is `[i]` missing?
    float* q = a;  //: Make it `const float *` here too
    out[i] = *n;  //: `*` follows an address, and `int` is none
    out[i][i] = 1;  //: `[row * columns + column]`
    out[i / 2.0f] = 2;  //: An index must be a whole number
    out[i] = a[i] % 2;  //: `fmodf`
    out.x = 3;  //: `float *` has no members
    out[i] = threadIdx->x;  //: a `.` is right
    a[i] = 1;  //: `a` cannot be written: it is `const`
    threadIdx.x = 3;  //: `threadIdx` is given to each thread
    float m[2]; m = a;  //: An array such as `m` cannot be assigned
    float t[2] = {1, 2, 3};  //: more values between `{ }` than there is room for
    int n = 3;  //: `n` is defined twice
    atomicAdd(&a[i], 1.0f);  //: its first argument is `const`
    atomicAdd(out[i], 1.0f);  //: `&` is missing
    atomicMax(out, 1.0f);  //: `atomicMax` does not exist for these types: (float *, float)
    out[i] = __shfl_down_sync(a[i], 1);  //: wants the mask of lanes first
    return 1;  //: a kernel returns nothing (`return;`)
}
""",
    "shared memory": """
__global__ void k(float* out, int n) {
    __shared__ float s[n];  //: The size of a `__shared__` array must be known
    __shared__ float t[32] = {0};  //: cannot be given a first value
    __shared__ float u[];  //: The size of the array is missing
    out[0] = s[0] + t[0];
}
__global__ void k1(float* o) { extern __shared__ float x[]; o[0] = x[0]; }
__global__ void k2(double* o) { extern __shared__ double x[]; o[0] = x[0]; }  //: on line 8 it has another
extern "C" cudaError_t entry() {
    __shared__ float s[32];  //: belongs to the blocks of a kernel
    return cudaGetLastError();
}
""",
    "launches": KERNEL
    + """
template <int T> __global__ void tile(float* o) { o[0] = T; }
__device__ float twice(float x) { return 2 * x; }
void host(float* o) { o[0] = 1; }
extern "C" cudaError_t entry(const float* a, float* out, int n, cudaStream_t stream) {
    add(a, out, n);  //: it needs `<<<blocks, threads, 0, stream>>>`
    add<<4, 256>>(a, out, n);  //: three angle brackets on each side
    add<<<4, 256, 0, stream>>>(a, out);  //: The launch of `add` gives fewer arguments
    add<<<4, 256, 0, stream>>>(a, out, n, n);  //: The launch of `add` gives more arguments
    add<<<4, 256, 0, stream>>>(n, out, n);  //: gives `int` where the kernel takes `const float *`
    add<<<4, 256, 0, stream>>>(a, a, n);  //: gives an input (`const float *`)
    add<<<4, 256, stream>>>(a, out, n);  //: The stream stands third
    add<<<stream, 4, 256>>>(a, out, n);  //: in the wrong order
    add<<<4, 256, 0, stream, 1>>>(a, out, n);  //: at most four values
    tile<<<1, 1, 0, stream>>>(out);  //: `tile` is a template
    tile<n><<<1, 1, 0, stream>>>(out);  //: The value between `< >` must be known
    host<<<1, 1, 0, stream>>>(out);  //: mark the function `__global__`
    twice<<<1, 1, 0, stream>>>(2.f);  //: mark the function `__global__`
    float four = twice(2.f);  //: `__device__` function, and host code cannot call it
    __syncthreads();  //: exists in kernels only
    return add<<<4, 256, 0, stream>>>(a, out, n);  //: `return cudaGetLastError();` on the next
}
""",
    "what only the GPU's compiler sees": """
#include <algorithm>
#include <limits>
__global__ void add(float* o) { o[0] = 1; }
__global__ void k(const float* a, float* out, int n) {
    out[0] = std::max(a[0], 0.0f);  //: write `max` without `std::`, or `fmaxf` for floats
    out[1] = std::numeric_limits<float>::max();  //: `INFINITY`, or `FLT_MAX`
    add<<<1, 1>>>(out);  //: make what it needs a `__device__` function
    float v[n];  //: must be known when the file is compiled
    out[3] = __shfl_down(a[0], 1);  //: `__shfl_down_sync` with a mask
    throw 3;  //: A kernel cannot `throw`
}
""",
    "what belongs to the host": """
#include <iostream>
#include <vector>
float factor = 3.f;
void host(float* o) { o[0] = 1; }
__global__ void k(const float* a, float* out, int n) {
    std::vector<float> w(3);  //: `std::vector` belongs to the host
    out[2] = factor;  //: `factor` is a variable of the host
    host(out);  //: `host` is a host function, and a kernel cannot call it: mark it `__device__`
    std::cout << n;  //: a kernel cannot use it
}
""",
    "half": """
#include <cuda_fp16.h>
__global__ void k(half* o, float x) {
    o[0] = o[1] * x;  //: `half` and another type meet in `*`: convert first, `__half2float(h)`
}
__global__ float k2(float* o) { return o[0]; }  //: A kernel returns nothing
extern "C" template <int T> __global__ void k3(float* o) { o[0] = T; }  //: A template cannot be `extern "C"`
template <int T> __global__ void k4(float* o) { static_assert(T % 32 == 0, "T is no multiple"); }  //: T is no multiple
template __global__ void k4<16>(float* o);
""",
    "half and max": """
#include <cuda_fp16.h>
__global__ void k(half* o) {
    o[1] = max(o[1], o[2]);  //: Several versions of `max` fit equally well
}
""",
    "half without its header": "\n__global__ void k(half* o) {  //: `#include <cuda_fp16.h>`\n    o[0] = 1;\n}\n",
    "word misspelt": "\n__globl__ void k(float* o) { o[0] = 1; }  //: Did you mean `__global__`?\n",
    "type misspelt": "\n__global__ void k(flaot* o) { o[0] = 1; }  //: Did you mean `float`?\n",
    "no type": "\n__global__ k(float* o) { o[0] = 1; }  //: `void` for a kernel\n",
    "restrict": "\n__global__ void k(float* restrict o) { o[0] = 1; }  //: it is `__restrict__`\n",
    "semicolon": """
__global__ void k(float* out, int n) {
    float sum = 0  //: A `;` is missing at the end of this line

    // what comes next
    for (int j = 0; j < n; ++j) sum += j;
    out[0] = sum;
}
""",
    "semicolon after a launch": KERNEL + ENTRY.replace("n);", "n)  //: A `;` is missing at the end of this line"),
    "operator": of("o[0] = 2 n;  //: missing before `n`: a `;`, or an op"),
    "parenthesis": of("if (n > 0 o[0] = 1;  //: A `)` or a `,` is missing"),
    "one parenthesis more": of("o[0] = (1 + 2));  //: There is a `)` too many"),
    "bracket": of("o[n = 1;  //: A `]` is missing before `;`"),
    "commas in for": of("for (int j = 0, j < n, ++j) o[j] = 1;  //: with `;`"),
    "else": of("if (n > 0); o[0] = 1; else o[0] = 2;  //: has no `if`"),
    "brace": "\n__global__ void k(float* o, int n) {  //: A `}` is missing\n    if (n > 0) {\n        o[0] = 1;\n}\n"
    + KERNEL
    + ENTRY,
    "one brace more": "\n__global__ void k(float* o) {\n    o[0] = 1;\n    }\n}  //: There is a `}` too many above\n",
    "text": '\n#include <cstdio>\n__global__ void k(float* o) {\n    printf("o);  //: never closed\n    o[0] = 1;\n}\n',
    "comment": "\n/* what it does  //: never closed\n" + KERNEL,
    "launch brackets": KERNEL + ENTRY.replace("stream>>>(a, out, n);", "stream>>(a, out, n);  //: needs `>>>`"),
    "launch commas": KERNEL
    + ENTRY.replace("4, 256, 0, stream>>>(a, out, n);", "4 256>>>(a, out, n);  //: with commas between"),
    "define": """
#define T 16;
__global__ void k(float* out) {
    __shared__ float s[T];  //: `#define T` on line 2 ends with a `;`
    out[0] = s[0];
}
""",
    "header misspelt": '\n#include "cuda_runtme.h"  //: The header `cuda_runtme.h` does not exist\n',
    "header not closed": "\n#include <cuda_runtime.h  //: is not closed\n",
    "index on the host": """
extern "C" int entry() {
    return threadIdx.x;  //: in host code there is no thread or block to ask for
}
""",
    "no body": """
float f(float x);
extern "C" float entry() { return f(2); }  //: `f(float)` is declared, but defined nowhere
""",
    "no return": '\nextern "C" cudaError_t entry() {\n}  //: ends without `return`\n',
    "too much shared memory": """
__global__ void k(float* out, int n) {  //: 65,536 bytes, and 49,152 are the most
    __shared__ float s[16384];
    s[threadIdx.x] = n;
    __syncthreads();
    out[0] = s[n];
}
""",
}
WITHOUT_LINE = {
    "no body on the GPU": (
        "__device__ float f(float x);\n__global__ void k(float* o) { o[0] = f(o[0]); }\n",
        "`f` is declared, but defined nowhere",
    ),
    "too many constants": (
        "__constant__ float c[20000];\n__global__ void k(float* o, int n) { o[0] = c[n]; }\n",
        "80,000 bytes, and 65,536 are the most",
    ),
}
_TOLD = re.compile(r"//: (?P<told>.+)$")


@pytest.fixture(scope="module", autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with fresh_cache(tmp_path_factory.mktemp("cache")) as directory:
        yield directory


def compiled(directory: Path, text: str) -> str:
    source = directory / "part.cu"
    source.write_text(text)
    with pytest.raises(BuildFailed) as failed:
        build(source)
    return failed.value.diagnostics


@pytest.mark.parametrize("name", MISTAKES)
def test_each_mistake_is_one_sentence_at_its_line(name: str, tmp_path: Path) -> None:
    text = "#include <cuda_runtime.h>" + MISTAKES[name]
    expected = {
        number: found["told"] for number, line in enumerate(text.split("\n"), 1) if (found := _TOLD.search(line))
    }
    said = diagnostics(compiled(tmp_path, text), most=100, source=text)
    told = {diagnostic.line: diagnostic.sentence for diagnostic in said}
    wrong = {line: (told.get(line), part) for line, part in expected.items() if part not in (told.get(line) or "")}
    assert wrong == {}
    assert set(told) == set(expected), {line: told[line] for line in set(told) - set(expected)}
    assert len(said) == len(told)


@pytest.mark.parametrize("name", WITHOUT_LINE)
def test_what_has_no_line_has_a_sentence_all_the_same(name: str, tmp_path: Path) -> None:
    text, part = WITHOUT_LINE[name]
    (found,) = diagnostics(compiled(tmp_path, text), source=text)
    assert found.line is None
    assert part in found.sentence
