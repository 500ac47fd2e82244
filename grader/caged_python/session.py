"""Our side of a learner's Python process: loads the file, calls its function, and runs the kernels it asks for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from grader.cage.conversation import Ended
from grader.caged_python.kernels import Kernels
from grader.caged_python.process import START, ended_by, raised_by, started
from grader.closing import Closing
from grader.op.errors import EntryFailed, EntryMisused

SECONDS = 20.0  # for one call, its kernels not counted
_MOST_RAW = 64 << 20


class NotATensor(Exception):
    """Bytes that do not make the tensor they are said to be."""


def _torch() -> Path:
    """Where PyTorch lies, with what it needs."""
    return Path(torch.__file__).resolve().parents[1]


@dataclass
class Session(Closing):
    """The process, until it is closed. `failed` is the last failure of a kernel that the file was told of."""

    kernels: Kernels
    file: str
    entry: str
    failed: EntryFailed | EntryMisused | None = None
    began_backward: int | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self._talk = started(["caged_python.child"], [_torch()])

    def close(self) -> None:
        """Ends the process."""
        self._talk.close()

    @property
    def printed(self) -> str:
        return self._talk.printed

    def load(self, text: bytes) -> bool:
        """Runs the file; whether the function is there then. Raises Raised."""
        answer, _ = self._do({"do": "load", "file": self.file, "entry": self.entry}, text, START)
        return bool(answer.get("entry"))

    def call(
        self, message: Mapping[str, Any], tensors: Sequence[torch.Tensor]
    ) -> tuple[dict[str, Any], list[torch.Tensor]]:
        """Sends a call with its tensors; what is said of it, and the tensors that came back.

        Raises Raised, and NotATensor where what came back is none.
        """
        self.began_backward = None
        raw = b"".join(_bytes(tensor) for tensor in tensors)
        answer, came = self._do({**message, "entry": self.entry}, raw, SECONDS)
        given = answer.get("given") or []
        if not isinstance(given, list):
            raise NotATensor
        described = [*([answer["result"]] if answer.get("result") else []), *given]
        return answer, unpacked(described, came)

    def _do(self, message: Mapping[str, Any], raw: bytes, seconds: float) -> tuple[dict[str, Any], bytes]:
        self.failed = None
        try:
            self._talk.say(message, raw, seconds=seconds)
            while True:
                heard, came = self._talk.hear()
                if "done" in heard:
                    break
                self._answer(heard, came, seconds)
        except Ended as ended:
            raise ended_by(ended) from ended
        answer = heard["done"] if isinstance(heard["done"], dict) else {}
        if (raised := raised_by(answer)) is not None:
            raise raised
        return answer, came

    def _answer(self, asked: Mapping[str, Any], raw: bytes, seconds: float) -> None:
        if asked.get("ask") == "backward":
            self.began_backward = len(self.kernels.called)
            self._talk.say({}, seconds=seconds)
            return
        try:
            tensors = self._run(asked, raw)
        except (EntryMisused, EntryFailed) as failed:
            self.failed = failed
            kind = "misused" if isinstance(failed, EntryMisused) else "failed"
            self._talk.say({"error": kind, "message": str(failed)}, seconds=seconds)
            return
        self._talk.say({}, b"".join(_bytes(tensor) for tensor in tensors), seconds=seconds)

    def _run(self, asked: Mapping[str, Any], raw: bytes) -> list[torch.Tensor]:
        arguments, line = _asked(asked, raw)
        return self.kernels.run(str(asked.get("entry")), arguments, line)


def _asked(asked: Mapping[str, Any], raw: bytes) -> tuple[list[Any], int | None]:
    """The arguments of an entry that the file calls, and the line; raises NotATensor where they are none."""
    try:
        described, line = asked["tensors"], asked.get("line")
        tensors = iter(
            tensor if one.get("contiguous") is True else _strided(tensor)
            for one, tensor in zip(described, unpacked(described, raw), strict=True)
        )
        arguments = [_argument(value, tensors) for value in asked["arguments"]]
    except (KeyError, TypeError, ValueError, RuntimeError, StopIteration) as odd:
        raise NotATensor from odd
    return arguments, line if isinstance(line, int) else None


class _Other:
    """An argument that is neither a number nor a tensor; an error names its type."""


def _argument(value: Any, tensors: Any) -> Any:
    if not isinstance(value, dict):
        return value
    return next(tensors) if value.get("tensor") else type(str(value.get("other"))[:40], (_Other,), {})()


def _strided(tensor: torch.Tensor) -> torch.Tensor:
    """A tensor like this one that is not contiguous; one of a single element always is."""
    return torch.stack([tensor, tensor], -1)[..., 0] if tensor.numel() > 1 else tensor


# ---- tensors as bytes ----

_TYPES = {str(dtype).removeprefix("torch."): dtype for dtype in (torch.float32, torch.float16, torch.bfloat16,
                                                                 torch.float64, torch.int32, torch.int64)}  # fmt: skip
_MOST_DIMENSIONS = 8


def described(tensor: torch.Tensor) -> dict[str, Any]:
    """A tensor's type and shape, as it is sent."""
    return {"dtype": str(tensor.dtype).removeprefix("torch."), "shape": list(tensor.shape)}


def unpacked(described: Any, raw: bytes) -> list[torch.Tensor]:
    """The tensors of these bytes; raises NotATensor where they are not exactly those."""
    tensors, place = [], 0
    if not isinstance(described, list):
        raise NotATensor
    for one in described:
        shape, dtype = (one.get("shape"), _TYPES.get(str(one.get("dtype")))) if isinstance(one, dict) else (None, None)
        if dtype is None or not isinstance(shape, list) or len(shape) > _MOST_DIMENSIONS:
            raise NotATensor
        if not all(isinstance(extent, int) and 0 <= extent <= _MOST_RAW for extent in shape):
            raise NotATensor
        size = dtype.itemsize
        for extent in shape:
            size *= extent
        if size > len(raw) - place:
            raise NotATensor
        piece = bytearray(raw[place : place + size])
        tensors.append(torch.frombuffer(piece, dtype=dtype).reshape(shape) if size else torch.empty(shape, dtype=dtype))
        place += size
    if place != len(raw):
        raise NotATensor
    return tensors


def _bytes(tensor: torch.Tensor) -> bytes:
    flat = tensor.detach().contiguous().reshape(-1)
    return bytes(flat.view(torch.uint8).numpy().tobytes()) if flat.numel() else b""
