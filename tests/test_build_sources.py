"""What a build gives: the library, the PTX and the cubin, what each kernel needs, and the learner's lines."""

from __future__ import annotations

import itertools
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from grader.build import Build, HostLines, build
from tests.fresh_cache import fresh_cache

SOURCE = """\
#include <cuda_runtime.h>

struct Options { float scale; char mode; double bias[3]; };

namespace { __global__ void hidden(float* x) { x[0] = 1.0f; } }

static __global__ void local_kernel(float* x) { x[1] = 2.0f; }

template <typename T, int N>
__global__ void __launch_bounds__(128) templated(T* x, Options options, char c, short s) {
    __shared__ T tile[N];
    tile[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    x[threadIdx.x] = tile[N - 1 - threadIdx.x] * options.scale + c + s;
}

__global__ void spilling(float* x, int n) {
    float values[512];
    for (int i = 0; i < 512; ++i) values[i] = x[i];
    x[0] = values[n];
}

static void cuda_twice(float* x, cudaStream_t stream) {
    hidden<<<1, 1, 0, stream>>>(x);
    local_kernel<<<1, 1, 0, stream>>>(x);
}

extern "C" cudaError_t entry(float* x, int n, cudaStream_t stream) {
    cuda_twice(x, stream);
    templated<float, 32><<<1, 32, 0, stream>>>(x, Options{}, 'c', 3);
    spilling<<<1, 1, 0, stream>>>(x, n);
    return cudaGetLastError();
}
"""


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with fresh_cache(tmp_path_factory.mktemp("cache")) as directory:
        yield directory


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("workspace") / "3_some.part.cu"
    path.write_text(SOURCE)
    return path


@pytest.fixture(scope="module")
def built(cache: Path, source: Path) -> Build:
    return build(source)


def line_of(text: str) -> int:
    return next(number for number, line in enumerate(SOURCE.splitlines(), 1) if text in line)


def test_one_call_gives_library_ptx_and_cubin_of_the_target(built: Build, source: Path) -> None:
    assert (built.source, built.source_name, built.target, built.cached) == (source, "3_some.part.cu", 80, False)
    assert built.library.read_bytes()[:4] == built.cubin.read_bytes()[:4] == b"\x7fELF"
    assert ".target sm_80" in built.ptx.read_text()
    assert built.warnings == ""
    assert built.seconds > 0


def test_fatbin_holds_the_ptx_uncompressed_so_that_the_runtime_can_read_it(built: Build) -> None:
    assert b".visible .entry _Z8spillingPfi(" in built.library.read_bytes()


def test_kernels_tell_what_ptxas_made_of_them(built: Build) -> None:
    names = {name: next(kernel for kernel in built.kernels.values() if name in kernel.name) for name in KERNELS}
    assert len(built.kernels) == len(KERNELS)
    templated, spilling = names["templated"], names["spilling"]
    assert (templated.static_shared, templated.max_threads, templated.local) == (32 * 4, 128, 0)
    assert templated.parameter_sizes == (8, 32, 1, 2)
    assert templated.parameter_offsets == (0, 8, 40, 42)
    assert (spilling.local, spilling.max_threads, spilling.parameter_sizes) == (2048, 1024, (8, 4))
    assert all(0 < kernel.registers <= 255 for kernel in built.kernels.values())


KERNELS = ("hidden", "local_kernel", "templated", "spilling")


def test_host_functions_are_known_by_symbol_with_first_and_last_line(built: Build) -> None:
    assert built.functions["entry"] == (line_of('extern "C"'), len(SOURCE.splitlines()))
    cuda_twice = line_of("static void cuda_twice")
    assert built.functions["_ZL10cuda_twicePfP11CUstream_st"] == (cuda_twice, cuda_twice + 3)
    assert set(built.functions) == {"entry", "_ZL10cuda_twicePfP11CUstream_st"}


def test_a_launch_has_the_line_where_the_learner_wrote_it(built: Build) -> None:
    called = return_addresses(built, "entry")
    lines = [line for line in map(built.host_lines.line, called) if line is not None]
    for launch in ("cuda_twice(x, stream);", "templated<float, 32>", "spilling<<<", "cudaGetLastError()"):
        assert line_of(launch) in lines, launch


def test_no_stub_of_a_kernel_claims_a_line(built: Build) -> None:
    """Not even where nvcc marks the stub with the line of the kernel, static, in a namespace or a template."""
    for name in KERNELS:
        for start in symbols(built, name):
            assert built.host_lines.line(start + 1) is None, name
    assert set(built.host_lines.lines) - {0} <= set(range(line_of("static void cuda_twice"), 40))


def test_lines_of_return_addresses_are_those_of_the_call_before() -> None:
    lines = HostLines(addresses=(100, 110, 120, 130), lines=(7, 8, 0, 9))
    assert [lines.line(address) for address in (100, 101, 110, 111, 120, 121, 130, 131, 10_000)] == [
        None,
        7,
        7,
        8,
        8,
        None,
        None,
        9,
        9,
    ]


def symbols(built: Build, part_of_name: str) -> list[int]:
    from elftools.elf.elffile import ELFFile

    with built.library.open("rb") as stream:
        table: Any = ELFFile(stream).get_section_by_name(".symtab")
        found = [s["st_value"] for s in table.iter_symbols() if part_of_name in s.name and s["st_size"] > 0]
    assert found, part_of_name
    return found


def return_addresses(built: Build, function: str) -> list[int]:
    """Every address that follows a call in a function, by objdump."""
    told = subprocess.run(
        ["objdump", "-d", f"--disassemble={function}", built.library], capture_output=True, text=True, check=True
    ).stdout.splitlines()
    lines = [line.split("\t") for line in told if line.count("\t") == 2]
    return [
        int(after[0].strip(" :"), 16)
        for before, after in itertools.pairwise(lines)
        if before[2].split()[0] in ("call", "callq", "bl")
    ]


# ---- the cache -------------------------------------------------------------------------------------------------------


def test_the_same_bytes_are_compiled_once(built: Build, source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("grader.build.run", lambda *_, **__: pytest.fail("nvcc was run"))
    again = build(source)
    assert again.cached
    assert (again.kernels, again.host_lines, again.functions) == (built.kernels, built.host_lines, built.functions)
    elsewhere = source.parent / "copy" / source.name
    elsewhere.parent.mkdir()
    elsewhere.write_bytes(source.read_bytes())
    assert build(elsewhere).key == built.key
    assert build(elsewhere).source == elsewhere


def test_another_byte_name_or_target_is_another_build(
    built: Build, source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def refuse(command: list[str], **_: object) -> None:
        asked.append(str(command[-1]))
        raise InterruptedError

    monkeypatch.setattr("grader.build.run", refuse)
    changed = tmp_path / source.name
    changed.write_text(SOURCE + " ")
    renamed = tmp_path / "other.cu"
    renamed.write_text(SOURCE)
    for path, target in ((changed, 80), (renamed, 80), (source, 90)):
        with pytest.raises(InterruptedError):
            build(path, target=target)
    assert asked == [source.name, "other.cu", source.name]
    assert build(source).cached


def test_half_an_entry_is_made_anew(built: Build, source: Path) -> None:
    (built.directory / "build.json").write_text('{"kernels": [')
    repaired = build(source)
    assert not repaired.cached
    assert repaired.kernels == built.kernels
    assert build(source).cached


def test_the_same_bytes_make_the_same_program_wherever_the_cache_is(built: Build, source: Path, tmp_path: Path) -> None:
    with fresh_cache(tmp_path / "another" / "cache"):
        elsewhere = build(source)
    for file in ("ptx", "cubin", "library"):
        assert getattr(elsewhere, file).read_bytes() == getattr(built, file).read_bytes(), file
    assert str(tmp_path) not in elsewhere.ptx.read_text()


def test_two_processes_may_build_the_same_at_once(cache: Path, tmp_path: Path) -> None:
    path = tmp_path / "shared.cu"
    path.write_text('#include <cuda_runtime.h>\nextern "C" int answer() { return 42; }\n')
    script = f"from pathlib import Path; from grader.build import build; print(build(Path({str(path)!r})).key)"
    both = [subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) for _ in range(2)]
    keys = {process.communicate()[0].strip() for process in both}
    assert [process.returncode for process in both] == [0, 0]
    assert keys == {build(path).key}
    assert not list((cache / "work").iterdir())


def test_nothing_is_left_of_an_interrupted_build(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("grader.build.run", interrupt)
    path = tmp_path / "interrupted.cu"
    path.write_text("int x;\n")
    with pytest.raises(KeyboardInterrupt):
        build(path)
    assert not list((cache / "work").iterdir())


# ---- names, targets, weight ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["my kernel (1).cu", "-o.cu", "größe.cu", "a'b\"$(touch x).cu", "no_suffix", ".cu", "....cu"]
)
def test_any_file_name_is_taken(name: str, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []

    def look(command: list[str], **_: object) -> None:
        seen.append(str(command[-1]))
        raise InterruptedError

    monkeypatch.setattr("grader.build.run", look)
    (tmp_path / name).write_text("int x;\n")
    with pytest.raises(InterruptedError):
        build(tmp_path / name)
    assert seen[0].endswith(".cu")
    assert seen[0].replace(".", "").replace("_", "").isascii()
    assert not set(seen[0]) & set(" ()'\"$-")


def test_a_newer_target_counts_only_the_kernels_own_shared_memory(cache: Path, tmp_path: Path) -> None:
    """From sm_90 on the cubin counts 1,024 bytes of the system's into each kernel's section."""
    path = tmp_path / "shared.cu"
    path.write_text(
        "__global__ void k(int* x) {\n    __shared__ int s[5];\n    s[threadIdx.x] = x[0];\n    __syncthreads();\n"
        "    x[1] = s[x[2]];\n}\n__global__ void none(int* x) { x[0] = 1; }\n"
    )
    kernels = build(path, target=90).kernels
    assert (kernels["_Z1kPi"].static_shared, kernels["_Z4nonePi"].static_shared) == (20, 0)


def test_importing_loads_neither_torch_nor_numpy_nor_the_elf_reader() -> None:
    script = "import sys, grader.build; print(sorted({'torch', 'numpy', 'elftools', 'ninja'} & set(sys.modules)))"
    told = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert told.strip() == "[]"


def test_a_build_in_the_cache_is_found_without_the_elf_reader(built: Build, source: Path) -> None:
    script = (
        "import sys; from pathlib import Path; from grader.build import build; "
        f"print(build(Path({str(source)!r})).cached, 'elftools' in sys.modules)"
    )
    told = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert told.split() == ["True", "False"]


def test_a_line_table_out_of_all_proportion_gives_no_lines(tmp_path: Path) -> None:
    rows = ".rept 150000\\n.loc 1 5 0\\nnop\\n.loc 1 6 0\\nnop\\n.endr"
    path = tmp_path / "rows.cu"
    path.write_text(f'#include <cuda_runtime.h>\n__global__ void k() {{}}\nvoid f() {{ asm volatile("{rows}"); }}\n')
    built = build(path)
    assert (built.host_lines, built.functions) == (HostLines((), ()), {})


def test_the_variables_of_the_module_have_their_sizes(tmp_path: Path) -> None:
    path = tmp_path / "variables.cu"
    path.write_text(
        "#include <cuda_runtime.h>\n__constant__ float weights[4];\n__device__ int counter;\n"
        "__device__ double first = 1;\n__global__ void k(double* out) {\n    __shared__ int shared[8];\n"
        "    shared[threadIdx.x] = counter;\n    __syncthreads();\n    *out = first + weights[1] + shared[3];\n}\n"
    )
    assert build(path).variables == {"weights": 16, "counter": 4, "first": 8}
