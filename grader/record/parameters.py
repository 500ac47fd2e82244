"""Which bytes of a kernel's parameters the kernel reads, from its PTX.

A struct passed by value has padding, and padding holds whatever was on the stack. Two recordings may differ there
without meaning anything; this tells such bytes from those that matter.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

_BITS = re.compile(r"\d+")


def bytes_read(ptx: str, kernel: str, offsets: Sequence[int], sizes: Sequence[int]) -> set[int]:
    """Offsets into the parameter block that `kernel` may read; a parameter whose address is taken counts as a whole."""
    body = _body(ptx, kernel)
    if body is None:
        return {offset + byte for offset, size in zip(offsets, sizes, strict=True) for byte in range(size)}
    found: set[int] = set()
    for line in body.splitlines():
        for mention in re.finditer(rf"\b{re.escape(kernel)}_param_(\d+)(?:\+(\d+))?", line):
            number = int(mention.group(1))
            if number < len(sizes):
                found.update(offsets[number] + byte for byte in _of_one(line, mention, sizes[number]))
    return found


def _body(ptx: str, kernel: str) -> str | None:
    start = re.search(rf"\.entry\s+{re.escape(kernel)}\s*\(.*?\)[^{{;]*\{{", ptx, re.DOTALL)
    if start is None:
        return None
    end = ptx.find("\n}", start.end())
    return ptx[start.end() : end]


def _of_one(line: str, mention: re.Match[str], size: int) -> range:
    load = re.search(r"\bld\.param(?:\.v(\d))?\.([a-z]+\d+)", line)
    if load is None:
        return range(size)
    bits = _BITS.search(load.group(2))
    first = int(mention.group(2) or 0)
    count = int(load.group(1) or 1) * int(bits.group() if bits else 64) // 8
    return range(first, min(first + count, size))
