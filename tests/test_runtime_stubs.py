"""Our CUDA runtime has every function of the header, whichever version of the toolkit it is generated from."""

from __future__ import annotations

import _ctypes
import ctypes
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from grader.build import build_library
from grader.runtime.generate import error_names, functions, generate, per_thread_names
from grader.toolchain import find_toolchain

NO_DEVICE = 100


def headers() -> list[Path]:
    """The toolkit's headers in use, and those of the packages where both are there."""
    packages = Path(sys.prefix).glob("lib/python*/site-packages/nvidia/cu13/include")
    found = [find_toolchain().include[0], *packages]
    return list(dict.fromkeys(path for path in found if (path / "cuda_runtime_api.h").is_file()))


@pytest.fixture(scope="module")
def runtime() -> Iterator[ctypes.CDLL]:
    """Gone afterwards: a built object that is loaded later would find it by its name, and record."""
    library = ctypes.CDLL(str(build_library("runtime")))
    yield library
    _ctypes.dlclose(library._handle)


def test_the_library_defines_every_function_of_the_header(runtime: ctypes.CDLL) -> None:
    text = (find_toolchain().include[0] / "cuda_runtime_api.h").read_text()
    names = [
        *functions(text),
        *per_thread_names(text),
        "cudaGetErrorName",
        "cudaGetErrorString",
        "cudaCreateChannelDesc",
    ]
    assert len(names) > 300
    assert [name for name in names if not hasattr(runtime, name)] == []


def test_what_the_docs_say_is_offered_to_programs_is_defined_by_hand() -> None:
    page = (Path(__file__).parents[1] / "docs" / "running-programs.md").read_text(encoding="utf-8")
    offered = set(re.findall(r"`(cuda[A-Z]\w+)`", page[page.index("## What is offered") : page.index("**Not offered")]))
    library = build_library("software")
    listed = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True).stdout
    strong = {line.split()[-1] for line in listed.splitlines() if line.split()[-2] == "T"}
    assert len(offered) > 60
    assert offered - strong == set()


def test_the_library_that_executes_has_every_function_too() -> None:
    names = functions((find_toolchain().include[0] / "cuda_runtime_api.h").read_text())
    library = ctypes.CDLL(str(build_library("software")))
    assert [name for name in names if not hasattr(library, name)] == []
    assert library.cudaDeviceSynchronize() == NO_DEVICE


def test_the_library_defines_what_nvccs_own_code_calls(runtime: ctypes.CDLL) -> None:
    for name in ("RegisterFatBinary", "RegisterFatBinaryEnd", "UnregisterFatBinary", "RegisterFunction", "RegisterVar",
                 "RegisterManagedVar", "InitModule", "GetKernel", "LaunchKernel", "PushCallConfiguration",
                 "PopCallConfiguration"):  # fmt: skip
        assert hasattr(runtime, f"__cuda{name}")


def test_without_a_back_end_there_is_no_device() -> None:
    """In a process of its own: what is kept of a thread's errors keeps the library in memory until the thread ends."""
    program = (
        f"import ctypes; runtime = ctypes.CDLL({str(build_library('runtime'))!r}); "
        "print(runtime.cudaDeviceSynchronize(), runtime.cudaMemsetAsync(None, 0, 4, None), "
        "runtime.cudaCreateTextureObject(), runtime.cudaGetLastError(), runtime.cudaGetLastError())"
    )
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ended.stdout.split() == [*4 * [str(NO_DEVICE)], "0"]


def test_errors_have_cudas_names(runtime: ctypes.CDLL) -> None:
    runtime.cudaGetErrorName.restype = ctypes.c_char_p
    assert runtime.cudaGetErrorName(9) == b"cudaErrorInvalidConfiguration"
    assert runtime.cudaGetErrorName(906) == b"cudaErrorStreamCaptureImplicit"
    assert runtime.cudaGetErrorName(12345) == b"unrecognized error code"


def test_stubs_are_generated_from_any_toolkits_headers() -> None:
    for text in map(generate, headers()):
        assert 'int cudaGraphLaunch() { return grader_unsupported("cudaGraphLaunch"); }' in text
        assert 'int cudaMalloc() { return grader_waits("cudaMalloc"); }' in text
        assert '{906, "cudaErrorStreamCaptureImplicit"}' in text


def test_comments_and_layout_of_a_header_do_not_matter() -> None:
    header = """
    /* extern cudaError_t CUDARTAPI cudaCommented(void); */
    extern __host__ cudaError_t CUDARTAPI cudaOne(int a,
        int b);  // cudaError_t CUDARTAPI cudaTwo(void)
    #define cudaOne __CUDART_API_PTSZ(cudaOne)
    """
    assert functions(header) == ["cudaOne"]
    assert per_thread_names(header) == {"cudaOne_ptsz": "cudaOne", "__cudaLaunchKernel_ptsz": "__cudaLaunchKernel"}
    assert error_names("enum __device_builtin__ cudaError { cudaSuccess = 0, /* */ cudaErrorX = 0x10 };") == {
        0: "cudaSuccess",
        16: "cudaErrorX",
    }
