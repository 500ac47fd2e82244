"""Kernel names as they are written in the source, from the mangled names of the compiled file."""

from __future__ import annotations

import ctypes
import functools
import re

_OF_USED_PART = re.compile(r"\bpart_(\w+?)::")


@functools.lru_cache(maxsize=1024)
def kernel_name(mangled: str) -> str:
    """The name without parameters, "add_kernel" for "_Z10add_kernelPKfS0_Pfi"; any other name comes back as it is."""
    if not mangled.startswith("_Z"):
        return mangled
    full = _demangled(mangled)
    if full is None:
        simple = re.match(r"_Z(\d+)(\w+)", mangled)
        return simple[2][: int(simple[1])] if simple else mangled
    return _without_types(full)


def base_name(mangled: str) -> str:
    """The kernel's name alone, without the namespaces that it lies in and without what its template is given."""
    return kernel_name(mangled).partition("<")[0].rpartition("::")[2]


def variable_name(mangled: str) -> str:
    """The name without where it lives: "partial" for "_ZZ10sum_kernelPKfPfiE7partial"."""
    full = _demangled(mangled) if mangled.startswith("_Z") else None
    if full is not None:
        return full.rpartition("::")[2]
    simple = re.search(r"E(\d+)(\w+)$", mangled)
    return simple[2][: int(simple[1])] if simple else mangled


def used_part(mangled: str) -> str | None:
    """The entry of the part whose source a kernel comes from, where that is not the learner's file (`prelude.py`)."""
    full = (_demangled(mangled) or "") if mangled.startswith("_Z") else ""
    found = _OF_USED_PART.search(full)
    return found[1] if found else None


def _without_types(full: str) -> str:
    """Cuts the parameters off, and a template's return type: "void tile<16>(float*)" → "tile<16>"."""
    full = _OF_USED_PART.sub("", full.replace("(anonymous namespace)::", ""))
    depth = 0
    start = 0
    for place, character in enumerate(full):
        depth += (character == "<") - (character == ">")
        if depth == 0 and character == " ":
            start = place + 1
        if depth == 0 and character == "(":
            return full[start:place]
    return full[start:]


def _demangled(mangled: str) -> str | None:
    try:
        demangle = ctypes.CDLL("libstdc++.so.6")["__cxa_demangle"]
    except (OSError, AttributeError):
        return None
    demangle.restype = ctypes.c_void_p
    demangle.argtypes = [ctypes.c_char_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.POINTER(ctypes.c_int)]
    status = ctypes.c_int(0)
    text = demangle(mangled.encode(), None, None, ctypes.byref(status))
    if status.value != 0 or text is None:
        return None
    value = ctypes.cast(text, ctypes.c_char_p).value
    free = ctypes.CDLL(None)["free"]
    free.argtypes = [ctypes.c_void_p]
    free(text)
    return value.decode(errors="replace") if value is not None else None
