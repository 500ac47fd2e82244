"""What nvcc's usual errors mean: its wording and the line it repeats, to a sentence of the catalogue.

The first rule that fits speaks. `said` is searched in the error's own words, `code` in the line of source that nvcc
repeats below them and in the types that it lists; the named groups of both fill the sentence.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import get_close_matches


@dataclass(frozen=True)
class Rule:
    """One meaning of one error; `key` is its sentence in the catalogue."""

    said: re.Pattern[str]
    key: str
    code: re.Pattern[str] | None

    def facts(self, said: str, code: str) -> dict[str, str] | None:
        """What the named groups found; None where the rule does not fit."""
        found = self.said.search(said)
        beside = self.code.search(code) if self.code is not None else None
        if found is None or (self.code is not None and beside is None):
            return None
        return found.groupdict() | (beside.groupdict() if beside is not None else {})


def _rule(said: str, key: str, code: str | None = None) -> Rule:
    return Rule(re.compile(said), key, re.compile(code, re.MULTILINE) if code is not None else None)


# What a file of CUDA does not know by itself, and the header that has it.
HEADERS = {
    **dict.fromkeys(("cout", "cerr", "cin", "endl"), "iostream"),
    **dict.fromkeys(("printf", "fprintf", "snprintf"), "cstdio"),
    **dict.fromkeys(("half", "half2", "__half", "__half2", "__float2half", "__half2float"), "cuda_fp16.h"),
    **dict.fromkeys(("__nv_bfloat16", "__nv_bfloat162", "nv_bfloat16", "__float2bfloat16"), "cuda_bf16.h"),
    **dict.fromkeys((f"{sign}int{bits}_t" for sign in ("", "u") for bits in (8, 16, 32, 64)), "cstdint"),
    **dict.fromkeys(("FLT_MAX", "FLT_MIN", "FLT_EPSILON", "DBL_MAX"), "cfloat"),
    **dict.fromkeys(("curandState", "curandState_t"), "curand_kernel.h"),
    **dict.fromkeys(("numeric_limits",), "limits"),
    **dict.fromkeys(("sort", "fill", "max_element", "accumulate"), "algorithm"),
    **dict.fromkeys(("vector", "string", "array", "optional", "tuple"), "{name}"),
    "assert": "cassert",
    "memcpy": "cstring",
    "memset": "cstring",
}
_NAMESPACES = {
    "wmma": ("mma.h", "using namespace nvcuda;"),
    "cg": ("cooperative_groups.h", "namespace cg = cooperative_groups;"),
    "cooperative_groups": ("cooperative_groups.h", ""),
    "cub": ("cub/cub.cuh", ""),
}
_HEADER_NAMES = "|".join(HEADERS)

# What learners mean when they mistype.
_KNOWN = re.findall(
    r"\S+",
    """
    threadIdx blockIdx blockDim gridDim warpSize __global__ __device__ __host__ __shared__ __constant__
    __restrict__ __forceinline__ __launch_bounds__ __syncthreads __syncwarp __threadfence __shfl_sync
    __shfl_up_sync __shfl_down_sync __shfl_xor_sync __ballot_sync __any_sync __all_sync __activemask __ldg
    atomicAdd atomicMax atomicMin atomicCAS atomicExch atomicSub atomicOr atomicAnd float2 float3 float4 int2 int4
    uint2 uint4 double2 make_float2 make_float4 make_int4 dim3 cudaError_t cudaStream_t cudaSuccess
    cudaGetLastError cudaMemsetAsync cudaMemcpyAsync cudaFuncSetAttribute cudaErrorInvalidValue sqrtf rsqrtf expf
    fmaxf fminf fabsf half half2 __half2float __float2half nullptr else while for return if int float double const
    unsigned void size_t extern struct template typename constexpr static break continue reinterpret_cast
    static_cast printf
    """,
)
_LIKE = 0.7

_AKA = r'(?: \(aka "[^"]+"\))?'
_STREAM = rf'"(?:cudaStream_t|(?:struct )?CUstream_st \*)"{_AKA}'
_INDEX = r"(?:const )?(?:dim3|uint3)"
_VECTOR = r"(?:float|int|uint|double|half)[234]"
_ARGUMENT = rf'argument of type "(?P<from>[^"]+)"{_AKA} is incompatible with parameter of type "(?P<to>[^"]+)"'
_VALUE = rf'a value of type "(?P<from>[^"]+)"{_AKA} cannot be \w+(?: to \w+)? an entity of type "(?P<to>[^"]+)"'
_TO_CONST = r'argument of type "const (?P<what>[^"]+) \*" is incompatible with parameter of type "(?P=what) \*"'
_POINTER = r'"(?P<from>[^"]+ \*)"'
_NUMBER = r'"(?P<{}>(?:const )?(?:unsigned |signed )?(?:int|long|long long|float|double|size_t|unsigned|char|bool))"'
_INTO = r" (?:is incompatible with parameter|cannot be \w+(?: to \w+)? an entity) of type "
_LAUNCH = r"(?P<name>\w+)(?:<[^<>;]*>)?\s*<<<"

# EDG's, GCC's and ptxas's wording.
RULES = (
    # names
    _rule(r'identifier "(?P<name>__(?:shfl(?:_up|_down|_xor)?|ballot|any|all))" is undefined', "legacy_shuffle"),
    _rule(r'identifier "std::cout" is undefined in device code', "stream_in_kernel"),
    _rule(r'identifier "(?P<name>[^"]+)" is undefined in device code', "host_variable"),
    _rule(rf'identifier "(?P<name>{_HEADER_NAMES})" is undefined', "header"),
    _rule(rf'namespace "std" has no member "(?P<name>{_HEADER_NAMES})"', "header"),
    _rule(r'namespace "std" has no member "(?P<name>[^"]+)"', "std_member"),
    _rule(r'name followed by "::" must be a class', "namespace", rf"\b(?P<name>{'|'.join(_NAMESPACES)})\s*::"),
    _rule(r"name must be a namespace name", "namespace", rf"=\s*(?P<name>{'|'.join(_NAMESPACES)})\b"),
    _rule(r'identifier "(?P<name>[^"]+)" is undefined', "undefined"),
    _rule(r"['‘](?P<name>[^'’]+)['’] was not declared in this scope", "undefined"),
    _rule(r"has no storage class or type specifier", "specifier", r"^\s*(?P<name>\w+)"),
    _rule(rf'class "(?P<type>{_INDEX}|{_VECTOR})" has no member "(?P<name>[^"]+)"', "vector_member"),
    _rule(r'class "(?P<type>[^"]+)" has no member "(?P<name>[^"]+)"', "member"),
    _rule(r"undefined reference to [`']?__device_builtin_variable_(?P<name>\w+)", "index_on_host"),
    # punctuation
    _rule(r"missing closing quote", "quote"),
    _rule(r"missing terminating > character", "include_bracket"),
    _rule(r"unterminated comment", "comment"),
    _rule(r'expected a ">>>"', "launch_values", r"<<<"),
    _rule(r"integral or unscoped enum type", "launch_brackets", r"<<<(?!.*>>>)"),
    _rule(r"integral or unscoped enum type", "two_angles", r"\w\s*<<(?!<)[^;]*[^>]>>\s*\("),
    _rule(r'expected a "\)"', "restrict", r"[^_\w]restrict\b"),
    _rule(r'expected a ";"', "semicolon"),
    _rule(r'expected a "}"', "closing_brace"),
    _rule(r'expected a "\)"', "closing_call"),
    _rule(r'expected a "(?P<token>[^"]+)"', "closing"),
    _rule(r"expected an expression", "expected_expression"),
    _rule(r"expected a statement", "else_alone", r"\belse\b"),
    _rule(r"expected a statement", "expected_expression"),
    _rule(r"expected a declaration", "expected_declaration"),
    # launches and calls
    _rule(r"a __global__ function call must be configured", "kernel_without_launch"),
    _rule(r"kernel launch from __device__ or __global__ functions", "launch_in_kernel"),
    _rule(r"a (?:host|__device__) function call cannot be configured", "launch_of_function"),
    _rule(
        r'calling a __device__ function\("(?P<name>__sync\w+|__shfl\w+|atomic\w+)[^"]*"\) from a __host__', "gpu_only"
    ),
    _rule(r'calling a __device__ function\("(?P<name>[^"(]+)[^"]*"\) from a __host__', "host_calls_device"),
    _rule(r'calling a constexpr __host__ function\("', "limits_in_kernel", r"numeric_limits\s*<(?P<type>[^>]*)>"),
    _rule(r'calling a constexpr __host__ function\("(?P<name>min|max)"\)', "std_extreme"),
    _rule(r'calling a .*__host__ function\("std::(?:__cxx11::)?(?P<name>\w+)', "std_in_kernel"),
    _rule(r'calling a .*__host__ function\("(?P<name>[^"(]+)[^"]*"\) from a __', "device_calls_host"),
    _rule(r"too many arguments in function call", "launch_five", r"<<<(?:[^<>,]*,){4,}[^<>,]*>>>"),
    _rule(r"too few arguments in function call", "launch_too_few", _LAUNCH),
    _rule(r"too many arguments in function call", "launch_too_many", _LAUNCH),
    _rule(r"too few arguments", "too_few"),
    _rule(r"too many arguments", "too_many"),
    _rule(
        rf'argument of type {_STREAM} is incompatible with parameter of type "(?:size_t|unsigned long)"', "stream_third"
    ),
    _rule(rf'no suitable constructor exists to convert from {_STREAM} to "dim3"', "launch_order"),
    _rule(rf'argument of type "[^"]+"{_AKA} is incompatible with parameter of type {_STREAM}', "launch_order", r"<<<"),
    _rule(_TO_CONST, "launch_const", _LAUNCH),
    _rule(_TO_CONST, "const_lost"),
    _rule(_ARGUMENT, "launch_argument", _LAUNCH),
    # types and values
    _rule(rf'"(?P<from>[^"]+)" to "(?P<to>{_VECTOR})"', "to_vector"),
    _rule(rf'no suitable conversion function from "(?P<from>(?:const )?{_VECTOR})"', "from_vector"),
    _rule(rf'no suitable conversion function from "{_INDEX}"', "dim3_arithmetic"),
    _rule(rf'"(?:const )?[^"]*"{_AKA} cannot be .* entity of type "(?P<to>(?:const )?{_VECTOR} \*)"', "vector_pointer"),
    _rule(rf"{_POINTER}{_AKA}{_INTO}{_NUMBER.format('to')}", "pointer_as_number"),
    _rule(rf'{_NUMBER.format("from")}{_AKA}{_INTO}"(?P<to>[^"]+ \*)"', "number_as_pointer"),
    _rule(r'a value of type "const (?P<what>[^"]+) \*" cannot be \w+ .*type "(?P=what) \*"', "const_lost"),
    _rule(_ARGUMENT, "argument_type"),
    _rule(_VALUE, "assignment_type"),
    _rule(rf'no suitable \w+(?: function)? .*from "(?P<from>[^"]+)"{_AKA} to "(?P<to>[^"]+)"', "assignment_type"),
    _rule(r"cannot cast away const", "cast_const", r"\w+_cast\s*<\s*(?P<type>[^<>]+?)\s*>"),
    _rule(r"return value type does not match", "returns_from_kernel", r"\breturn\b.*<<<"),
    _rule(r"return value type does not match", "returns_number", r"\breturn\s+-?\d+\s*;"),
    _rule(r"return value type does not match", "returns_other"),
    _rule(r"a __global__ function must have a void return type", "kernel_returns"),
    _rule(r"explicit type is missing", "type_missing"),
    _rule(r'incomplete type "[^"]* \[\]" is not allowed', "shared_unsized"),
    _rule(r'incomplete type "void" is not allowed', "void_variable"),
    _rule(r"too many initializer values", "too_many_values"),
    _rule(
        r"expression must be a modifiable lvalue",
        "index_write",
        r"\b(?P<name>threadIdx|blockIdx|blockDim|gridDim)\.\w\s*[-+*/]?=",
    ),
    _rule(r"expression must be a modifiable lvalue", "const_write"),
    _rule(r"integral or unscoped enum type", "modulo_of_float", r"%"),
    _rule(r"integral or unscoped enum type", "index_not_whole", r"\["),
    _rule(r'more than one operator "(?P<name>[^"]+)" matches', "ambiguous_half", r"types are: .*\bhalf"),
    _rule(r'more than one operator "(?P<name>[^"]+)" matches', "ambiguous"),
    _rule(r'no operator "', "dim3_arithmetic", rf"types are: .*\b{_INDEX}\b"),
    _rule(r'no operator "\[\]" matches', "vector_index", rf"types are: (?:const )?(?P<type>{_VECTOR})\b"),
    _rule(r'no operator "(?P<operator>[^"]+)" matches', "vector_operator", rf"types are: .*\b(?P<type>{_VECTOR})\b"),
    _rule(r'no operator "(?P<operator>[^"]+)" matches these operands', "no_operator"),
    _rule(r'no instance of \w+ \w+ "(?P<name>atomic\w+)" matches', "atomic_const", r"types are: \(const "),
    _rule(r'no instance of \w+ \w+ "(?P<name>atomic\w+)" matches', "atomic_value", r"types are: \([^,*]*,"),
    _rule(r'no instance of \w+ \w+ "(?P<name>atomic\w+)" matches', "no_atomic"),
    _rule(r'no instance of \w+ \w+ "(?P<name>__shfl\w*_sync|__ballot_sync|__any_sync|__all_sync)" matches', "no_mask"),
    _rule(r'no instance of function template "(?P<name>[^"]+)" matches', "template_arguments"),
    _rule(r'no instance of (?:overloaded )?\w+(?: template)? "(?P<name>[^"]+)" matches', "no_instance"),
    _rule(r'more than one instance of (?:overloaded )?function "(?P<name>[^"(]+)', "ambiguous"),
    _rule(r'operand of "\*" must be a pointer but has type "(?P<type>[^"]+)"', "no_pointer"),
    _rule(r"expression must have pointer-to-object", "subscript"),
    _rule(r'must have class type but it has type "(?P<type>[^"]+)"', "no_members"),
    _rule(r"operator -> or ->\* applied to", "arrow"),
    # declarations
    _rule(r"has already been declared in the current scope", "for_commas", r"\bfor\s*\([^;)]*,[^;)]*[<>][^;)]*\)"),
    _rule(r'\w+ "(?P<name>[^"(]+)[^"]*" has already been defined', "redefined"),
    _rule(r'"(?P<name>[^"]+)" has already been declared in the current scope', "redefined"),
    _rule(
        r'declaration is incompatible with previous "(?P<name>[^"]+)" \(declared at line (?P<other>\d+)', "redeclared"
    ),
    _rule(r"linkage specification is incompatible", "linkage"),
    _rule(r'may not have extern "C" linkage', "template_linkage"),
    _rule(r"variable length array cannot have static", "shared_variable_size"),
    _rule(r"initializer not allowed for __shared__", "shared_value"),
    _rule(r'static "__shared__" variable declaration is not allowed inside a host', "shared_on_host"),
    _rule(r"expression must have a constant value", "template_constant", r"\w<[^<>]*>\s*<<<"),
    _rule(r"expression must have a constant value", "not_constant"),
    _rule(r'static assertion failed(?: with "(?P<message>[^"]+)")?', "static_assertion"),
    _rule(r"device code does not support exception handling", "exceptions"),
    # files and what is left to later tools
    _rule(r"(?P<name>\S+): No such file or directory", "include_missing"),
    _rule(r'cannot open source file "(?P<name>[^"]+)"', "include_missing"),
    _rule(r"too much shared data \((?P<used>0x[0-9a-f]+) bytes, (?P<limit>0x[0-9a-f]+) max\)", "shared_size"),
    _rule(
        r"too much global constant data \((?P<used>0x[0-9a-f]+) bytes, (?P<limit>0x[0-9a-f]+) max\)", "constant_size"
    ),
    _rule(
        r"(?:control reaches end of|no return statement in function returning|missing return .* of) non-void",
        "no_return",
    ),
    _rule(r"undefined reference to [`']?__cuda[A-Z]", "hidden_runtime"),
    _rule(r"undefined reference to [`']?(?P<name>[^'`]+)", "undefined_reference"),
    _rule(r"Unresolved extern function '(?P<name>[^']+)'", "undefined_reference"),
)


def namespace_facts(name: str) -> dict[str, str]:
    """The header of a namespace, and the line that makes its short name."""
    header, line = _NAMESPACES.get(name, ("", ""))
    return {"header": header, "using": line}


def nearest(name: str, source: str) -> str:
    """The name that was probably meant, one of CUDA's or of the source's own; "" where none is near."""
    own = (word for word in re.findall(r"[A-Za-z_]\w+", source) if word != name)
    spelled = {word.lower(): word for word in (*own, *_KNOWN)}
    found = get_close_matches(name.lower(), spelled, n=1, cutoff=_LIKE)
    return spelled[found[0]] if found else ""
