"""Targets that a bundle can be made for, and the GPUs that people know them by."""

from __future__ import annotations

from collections.abc import Sequence

from grader.catalog import UsageError

TARGETS = (75, 80, 86, 87, 88, 89, 90, 100, 103, 110, 120, 121)  # nvcc 13.0 --list-gpu-arch
DEFAULT = "T4,A100,L4,H100"  # what notebooks on the web are lent
_GPUS = {
    "T4": 75, "RTX2080": 75,
    "A100": 80, "A30": 80,
    "A10": 86, "A10G": 86, "A40": 86, "A6000": 86, "RTX3090": 86,
    "L4": 89, "L40": 89, "L40S": 89, "RTX4090": 89,
    "H100": 90, "H200": 90, "GH200": 90,
    "B200": 100, "GB200": 100, "B300": 103, "RTX5090": 120,
}  # fmt: skip
_TOO_OLD = {"V100": 70, "TITANV": 70, "P100": 60, "P4": 61, "GTX1080": 61, "M60": 52, "K80": 37}


def targets(text: str) -> tuple[int, ...]:
    """The targets that `T4,sm_90` means, each once, the oldest first. Raises `UsageError`."""
    return tuple(sorted({_target(piece.strip()) for piece in text.split(",")}))


def gpus_of(target: int) -> Sequence[str]:
    """GPUs of that target by their short names; none for one that nobody rents."""
    return [name for name, known in _GPUS.items() if known == target]


def shown(target: int) -> str:
    """How people know a target: "T4 (sm_75)"."""
    named = gpus_of(target)
    return f"{named[0]} (sm_{target})" if named else f"sm_{target}"


def _target(name: str) -> int:
    plain = name.upper().replace(" ", "").replace("-", "").replace(".", "").removeprefix("NVIDIA").removeprefix("TESLA")
    number = plain.removeprefix("SM_").removeprefix("SM")
    found = _GPUS.get(plain) or _TOO_OLD.get(plain) or (int(number) if number.isascii() and number.isdigit() else 0)
    if found in TARGETS:
        return found
    if 10 <= found < TARGETS[0]:
        raise UsageError(
            f"--for {name}: nvcc 13 builds for sm_{TARGETS[0]} and newer, and that is sm_{found}; "
            "take a T4 or a newer GPU."
        )
    raise UsageError(f"--for knows no GPU {name[:40]!r}; name it as in --for T4,H100, or its target as in --for sm_90.")
