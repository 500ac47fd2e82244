"""Counters: what the machine counted by instruction, added up by kernel and by source line.

A request is one memory instruction of one warp; a sector is 32 bytes of global memory; a wavefront is one pass over the
32 banks of shared memory. `…_ideal` is the fewest that could serve the same lanes. Everything is counted twice: as
written, which is the PTX, and under "compiled" as ptxas merged it (see `merging`).

Sums over loads, stores and atomics stand under the names that Nsight Compute's Source page has for them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from grader.simt.ptx import TYPE_BITS

_ACCESS = {
    "ld": "load",
    "st": "store",
    "atom": "atomic",
    "red": "atomic",
    "cp": "load",
    "ldmatrix": "load",
    "stmatrix": "store",
}
_MATRIX = frozenset({"wmma", "ldmatrix", "stmatrix"})
_WAVEFRONTS, _SECTORS = "memory_l1_wavefronts_shared", "memory_l2_theoretical_sectors_global"


def add_up(reports: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Reports of a run's launches → {"kernels": {name: counts}, "lines": {line: counts}}, lines as strings."""
    kernels: dict[str, dict[str, Any]] = {}
    lines: dict[str, dict[str, Any]] = {}
    for report in reports:
        counted = report["counters"]
        kernel = kernels.setdefault(report["kernel"], {"launches": 0})
        _add(
            kernel,
            {"launches": 1, "divergent_branches": counted["divergent_branches"], "barriers": counted["barriers"]},
        )
        for line in counted["lines"]:
            counts = {name: line[name] for name in ("warp_instructions", "thread_instructions")}
            if line["matrix_instructions"]:
                counts |= {name: line[name] for name in ("matrix_instructions", "matrix_flops")}
            _add(kernel, counts)
            _add(lines.setdefault(str(line["line"]), {}), counts)
        for access in counted["accesses"]:
            counts = {**_as_written(access), "compiled": _as_compiled(access)}
            _add(kernel, counts)
            _add(lines.setdefault(str(access["line"] or 0), {}), counts)
    return {"kernels": kernels, "lines": dict(sorted(lines.items(), key=lambda item: int(item[0])))}


def reads(reports: Sequence[Mapping[str, Any]], element_bytes: Mapping[str, int], results: int) -> dict[str, Any]:
    """What a run loads from global memory, whoever asks: in total, by buffer, and for each of `results` elements.

    `element_bytes` is the size of an element by buffer; memory that is no buffer counts in pieces as they are loaded.
    """
    total = {"elements": 0, "bytes": 0}
    buffers: dict[str, dict[str, int]] = {}
    for access in _global_loads(reports):
        piece, count = _pieces(access)
        size = access["lanes"] * piece * count
        buffer = access.get("buffer") or ""
        counts = {"elements": size // element_bytes.get(buffer, piece), "bytes": size}
        _add(total, counts)
        if buffer in element_bytes:
            _add(buffers.setdefault(buffer, {}), counts)
    each = {name: _for_each(counts, results) for name, counts in buffers.items()}
    return {"results": results, **_for_each(total, results), "buffers": each}


def moved(reports: Sequence[Mapping[str, Any]], sizes: Mapping[str, int]) -> int:
    """Bytes of global memory that the launches load and store, those of atomics both ways.

    Of a buffer, each way and each launch, its size at most: what is asked for again comes from a cache. `sizes` are in
    bytes, by buffer.
    """
    total = 0
    for report in reports:
        ways: dict[tuple[str, str], int] = {}
        for access in report["counters"]["accesses"]:
            space, kind, size = access_of(access)
            for way in ("load", "store") if space == "global" else ():
                if kind in (way, "atomic"):
                    at = (str(access.get("buffer")), way)
                    ways[at] = ways.get(at, 0) + access["lanes"] * size
        total += sum(min(count, sizes.get(buffer, count)) for (buffer, _), count in ways.items())
    return total


def _global_loads(reports: Sequence[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    for report in reports:
        for access in report["counters"]["accesses"]:
            if access["sectors"] and _kind(access) == "load":
                yield access


def _for_each(counts: Mapping[str, int], results: int) -> dict[str, Any]:
    a_result = {f"{name}_a_result": count / results for name, count in counts.items()} if results else {}
    return {**counts, **a_result}


def _as_written(access: Mapping[str, Any]) -> dict[str, Any]:
    piece, count = _pieces(access)
    return _counts(access, "", piece * count, access["lanes"])


def _as_compiled(access: Mapping[str, Any]) -> dict[str, Any]:
    """The same as ptxas left it; `requests_unknown` are those of which nobody knows, which count as written."""
    piece, count = _pieces(access)
    width = access["compiled_bytes"]
    if width == 0:
        return {}
    counts = _counts(access, "compiled_", piece * count if width is None else width, access["lanes"])
    if width is None and not _name(access).endswith("atomic"):
        counts["requests_unknown"] = access["requests"]
    return counts


def _counts(access: Mapping[str, Any], prefix: str, size: int, lanes: int) -> dict[str, Any]:
    """Counts of one memory instruction under the names of docs/verdict.md; those of the machine begin with `prefix`."""
    name = _name(access)
    requests = access[f"{prefix}requests"]
    counts: dict[str, Any] = {
        f"{name}_requests": requests,
        f"{name}_lanes": lanes,
        f"{name}_requests_by_bytes": {str(size): requests},
    }
    if name.startswith("global"):
        actual, ideal = access[f"{prefix}sectors"], access[f"{prefix}ideal_sectors"]
        counts |= {f"{name}_sectors": actual, f"{name}_sectors_ideal": ideal, **_with_excess(_SECTORS, actual, ideal)}
    if name.startswith("shared"):
        actual, ideal = access[f"{prefix}wavefronts"], access[f"{prefix}ideal_wavefronts"]
        counts |= {f"{name}_wavefronts": actual, f"{name}_wavefronts_ideal": ideal}
        counts |= _with_excess(_WAVEFRONTS, actual, ideal)
    return counts


def _with_excess(name: str, actual: int, ideal: int) -> dict[str, int]:
    return {name: actual, f"{name}_ideal": ideal, f"derived__{name}_excessive": actual - ideal}


def access_of(access: Mapping[str, Any]) -> tuple[str, str, int]:
    """What one memory instruction of a report is: its space, load, store or atomic, and the bytes of a lane."""
    space = "shared" if access["wavefronts"] else "global" if access["sectors"] else "local"
    piece, count = _pieces(access)
    return space, _kind(access), piece * count


def _kind(access: Mapping[str, Any]) -> str:
    """Load, store or atomic."""
    words = str(access["op"]).split(".")
    return words[1] if words[0] == "wmma" else _ACCESS.get(words[0], words[0])


def _name(access: Mapping[str, Any]) -> str:
    """What the access is: "global_load", "shared_store", "local_load", "shared_atomic"."""
    space, kind, _ = access_of(access)
    return f"{space}_{kind}"


def _pieces(access: Mapping[str, Any]) -> tuple[int, int]:
    """Bytes of a value that an operation moves, and how many of them: 4 and 2 for `ld.shared.b32.v2`.

    A matrix is moved by several instructions of the machine, and counted so: bytes of a lane in one of them.
    """
    words = access["op"].split(".")
    if words[0] in _MATRIX:
        return access["compiled_bytes"], 1
    bits = next(TYPE_BITS[word] for word in words if word in TYPE_BITS)
    return bits // 8, next((int(word[1:]) for word in words if word in ("v2", "v4", "v8")), 1)


def _add(total: dict[str, Any], counts: Mapping[str, Any]) -> None:
    for name, value in counts.items():
        if isinstance(value, dict):
            _add(total.setdefault(name, {}), value)
        else:
            total[name] = total.get(name, 0) + value
