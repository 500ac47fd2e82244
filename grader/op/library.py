"""A built object in this process's memory, and the back ends that its calls of CUDA go to.

It is linked to a library by the name of `libgrader_cudart.so`. In a recording that is the one that records; here it is
the one that forwards, which is loaded first. RTLD_DEEPBIND lets it win over a libcudart that PyTorch has loaded for
all.
"""

from __future__ import annotations

import ctypes
import functools
import os
import re
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from grader.build import build_library
from grader.op.cudart import VARIABLE, candidates
from grader.op.errors import NoBackEnd
from grader.record.device import device_for
from grader.record.request import device_line, kernel_line
from grader.toolchain import find_toolchain

if TYPE_CHECKING:
    from grader.build import Build

_BINDING = os.RTLD_NOW | os.RTLD_LOCAL | os.RTLD_DEEPBIND
_DRIVER_MISSING = (35, 100)  # cudaErrorInsufficientDriver, cudaErrorNoDevice


@dataclass(frozen=True)
class Lent:
    """Memory of a tensor for one call: the parameter's name, address and bytes.

    `initialised`: it holds values. `writable`: they may change.
    """

    name: str
    address: int
    bytes: int
    initialised: bool
    writable: bool


@dataclass(frozen=True)
class Outcome:
    """What the entry returned, the error's name and CUDA's words for it, and what the software GPU wrote down."""

    code: int
    name: str = "cudaSuccess"
    words: str = ""
    log: str = ""


@functools.cache
def _forwarding() -> ctypes.PyDLL:
    """The library that forwards. Its own functions return at once, so that Python's lock need not be given up."""
    library = ctypes.PyDLL(str(build_library("forward")), mode=os.RTLD_NOW | os.RTLD_LOCAL)
    library.grader_table_open.restype = library.grader_module_begin.restype = ctypes.c_void_p
    for name in ("grader_table_why", "cudaGetErrorName", "cudaGetErrorString"):
        getattr(library, name).restype = ctypes.c_char_p
    for name, count in {"table_open": 1, "table_why": 1, "table_use": 1, "module_begin": 0, "module_end": 0}.items():
        getattr(library, f"grader_{name}").argtypes = (ctypes.c_void_p,) * count
    library.grader_table_open.argtypes = (ctypes.c_char_p,)
    library.grader_module_tell.argtypes = (ctypes.c_void_p, ctypes.c_int)
    return library


def _opened(path: str) -> tuple[int, str | None]:
    """A table of the library's functions, and why it cannot be used."""
    table = int(_forwarding().grader_table_open(path.encode()))
    why = _forwarding().grader_table_why(table)
    return table, why.decode(errors="replace") if why is not None else None


# ---- the real GPU ----------------------------------------------------------------------------------------------------


@functools.cache
def cuda_table() -> int:
    """The table of CUDA's own runtime library; raises NoBackEnd where there is none, or no GPU for it."""
    cuda = re.match(r"\d+", find_toolchain().version)
    major = int(cuda[0]) if cuda is not None else 13
    refused = ""
    for path in candidates(major):
        table, why = _opened(path)
        if why is None:
            _look_for_gpu(table, path)
            return table
        refused = refused or f" ({path}: {why})"
    raise NoBackEnd(
        f"CUDA tensors need CUDA's own runtime, libcudart.so.{major}, which was not found{refused}; "
        f"it comes with PyTorch for CUDA, or {VARIABLE} names it."
    )


def _look_for_gpu(table: int, path: str) -> None:
    library, count = _forwarding(), ctypes.c_int(0)
    library.grader_table_use(table)
    code = library.cudaGetDeviceCount(ctypes.byref(count))
    name = library.cudaGetErrorName(code).decode(errors="replace")
    library.cudaGetLastError()
    library.grader_table_use(None)
    if code in _DRIVER_MISSING or (code == 0 and count.value == 0):
        raise NoBackEnd(f"There is no GPU that CUDA can use here: {path} answers {name}.")
    if code != 0:
        raise NoBackEnd(f"CUDA cannot begin here: {path} answers {name}.")


# ---- the software GPU ------------------------------------------------------------------------------------------------


class _Log:
    """What the software GPU writes down during a call: a file without a name."""

    def __init__(self) -> None:
        self._descriptor = os.memfd_create("grader-op")
        self.path = f"/proc/self/fd/{self._descriptor}"

    def taken(self) -> str:
        """All that was written since it was taken last."""
        size = os.fstat(self._descriptor).st_size
        if not size:
            return ""
        text = os.pread(self._descriptor, size, 0)
        os.ftruncate(self._descriptor, 0)
        return text.decode(errors="replace")


class _SoftwareRuntime:
    """Our CUDA runtime that executes; one call at a time in the whole process."""

    def __init__(self) -> None:
        path = str(build_library("software"))
        table, why = _opened(path)
        if why is not None:
            raise NoBackEnd(f"The software GPU cannot be loaded ({why}).")
        self.table, self.log, self.lock = table, _Log(), threading.Lock()
        self.library = library = ctypes.PyDLL(path, mode=_BINDING)
        library.grader_device_open.restype = ctypes.c_void_p
        library.grader_device_open.argtypes = (ctypes.c_char_p, ctypes.c_char_p)
        library.grader_device_enter.argtypes = library.grader_device_leave.argtypes = (ctypes.c_void_p,)
        library.grader_device_lend.argtypes = (
            ctypes.c_void_p,
            ctypes.c_char_p,
            ctypes.c_void_p,
            ctypes.c_size_t,
            ctypes.c_int,
            ctypes.c_int,
        )


@functools.cache
def _software() -> _SoftwareRuntime:
    return _SoftwareRuntime()


def _request(build: Build, log: str) -> str:
    """As grader/runtime/software/start.cpp reads it."""
    from grader.simt.software import lowered_program

    lines = [
        "program 1",
        f"machine {build_library('machine')}",
        f"lowered {lowered_program(build)}",
        f"log {log}",
        f"workers {len(os.sched_getaffinity(0))}",
        device_line(device_for(build.target)),
        *(kernel_line(kernel) for kernel in build.kernels.values()),
        "end",
    ]
    return "\n".join(lines) + "\n"


# ---- the object ------------------------------------------------------------------------------------------------------


@dataclass(eq=False)
class OpLibrary:
    """A built object, loaded once. Raises NoBackEnd where it cannot be loaded."""

    build: Build
    _module: int = field(init=False)
    _device: int | None = field(default=None, init=False)
    _library: ctypes.CDLL = field(init=False)
    _on_cuda: int | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        forwarding = _forwarding()
        self._module = int(forwarding.grader_module_begin())
        try:
            self._library = ctypes.CDLL(str(self.build.library), mode=_BINDING)
        except OSError as error:
            raise NoBackEnd(f"{self.build.source.name}, as it was built, cannot be loaded ({error}).") from error
        finally:
            kernels = forwarding.grader_module_end()
        name = self.build.source.name
        if kernels < 0:
            raise NoBackEnd(f"{name} has a __managed__ variable, which a function on tensors cannot have.")
        if kernels != len(self.build.kernels):
            raise NoBackEnd(
                f"{name} cannot be called here: this process has loaded a libgrader_cudart.so that records."
            )

    def function(self, name: str, arguments: Sequence[Any], result: Any) -> Any:
        """The object's C function of this name, as ctypes calls it; None where it has none."""
        found = getattr(self._library, name, None)
        if found is not None:
            found.argtypes, found.restype = tuple(arguments), result
        return found

    def call_on_cuda(self, function: Any, words: Sequence[int | float], stream: int) -> Outcome:
        """Calls it with `words` and the stream, a cudaStream_t, for the GPU that is the thread's current one."""
        forwarding = _forwarding()
        if self._on_cuda is None:
            self._on_cuda = self._told_to(cuda_table())
        forwarding.grader_table_use(self._on_cuda)
        code = function(*words, stream)
        if code == 0:
            return _SUCCESS
        outcome = _named(code)
        forwarding.cudaGetLastError()  # else PyTorch takes it for an error of its own
        return outcome

    def _told_to(self, table: int) -> int:
        """The table, once CUDA has loaded the object's kernels."""
        _forwarding().grader_table_use(table)
        code = _forwarding().grader_module_tell(self._module, 1)
        if code != 0:
            raise NoBackEnd(
                f"CUDA does not load the kernels of {self.build.source.name} ({_named(code).name}): they were compiled "
                f"for sm_{self.build.target}."
            )
        return table

    def call_on_cpu(self, function: Any, words: Sequence[int | float], memory: Sequence[Lent]) -> Outcome:
        """The same on the software GPU, in stream 0, whose kernels reach this memory and no other.

        Raises NoBackEnd where it cannot load the kernels.
        """
        software = _software()
        with software.lock:
            device = self._opened_device(software)
            _forwarding().grader_table_use(software.table)
            software.library.grader_device_enter(device)
            try:
                for lent in memory:
                    given = (lent.name.encode(), lent.address, lent.bytes, lent.initialised, lent.writable)
                    software.library.grader_device_lend(device, *given)
                code = function(*words, None)
            finally:
                software.library.grader_device_leave(device)
                _forwarding().grader_table_use(None)
            log = software.log.taken()
        return _SUCCESS if code == 0 and not log else Outcome(code, *self._software_words(software, code), log)

    def _opened_device(self, software: _SoftwareRuntime) -> int:
        if self._device is None:
            request = _request(self.build, software.log.path)
            device = software.library.grader_device_open(str(self.build.library).encode(), request.encode())
            if device is None:
                raise NoBackEnd(
                    f"The software GPU cannot load the kernels of {self.build.source.name} ({software.log.taken()})."
                )
            _forwarding().grader_table_use(software.table)
            software.library.grader_device_enter(device)
            _forwarding().grader_module_tell(self._module, 0)
            software.library.grader_device_leave(device)
            self._device = int(device)
        return self._device

    @staticmethod
    def _software_words(software: _SoftwareRuntime, code: int) -> tuple[str, str]:
        _forwarding().grader_table_use(software.table)
        named = _named(code)
        _forwarding().grader_table_use(None)
        return named.name, named.words


_SUCCESS = Outcome(0)


def _named(code: int) -> Outcome:
    """The error with the words of the library that this thread uses."""
    forwarding = _forwarding()
    name, words = forwarding.cudaGetErrorName(code), forwarding.cudaGetErrorString(code)
    return Outcome(code, name.decode(errors="replace"), words.decode(errors="replace"))


_loaded: dict[str, OpLibrary] = {}
_loading = threading.Lock()


def loaded(build: Build) -> OpLibrary:
    """The build's object, in memory once."""
    with _loading:
        if build.key not in _loaded:
            _loaded[build.key] = OpLibrary(build)
        return _loaded[build.key]
