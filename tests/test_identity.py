"""What a result is of: each hash changes with what it names, and with nothing else."""

from __future__ import annotations

import io
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from elftools.elf.elffile import ELFFile

from grader.build import build
from grader.catalog import Located, load_catalog
from grader.identity import HASHED, cubin_hash, grader_hash, identity, reference_hash, source_hash, statement_hash
from grader.submission import Submission, UsedPart
from tests.judging import ROOT

PUZZLE, RUNTIME = "puzzle_01_vector_add", "puzzle_10_train_step"


@pytest.fixture
def course(tmp_path: Path) -> Path:
    for name in (PUZZLE, RUNTIME):
        for folder in ("puzzles", "solutions"):
            shutil.copytree(ROOT / folder / name, tmp_path / folder / name)
    return tmp_path


def vector_add(course: Path) -> Located:
    return load_catalog(course).puzzles[0].parts[1]


def submission(course: Path, text: str, name: str = "mine.cu") -> Submission:
    path = course / name
    path.write_text(text)
    return Submission(vector_add(course), path, name)


def changed(path: Path, change: Callable[[str], str]) -> None:
    text = path.read_text()
    assert change(text) != text
    path.write_text(change(text))


def test_a_changed_tolerance_is_another_statement(course: Path) -> None:
    before = statement_hash(vector_add(course))
    changed(course / "puzzles" / PUZZLE / "puzzle.py", lambda text: text.replace("2.0**-22", "2.0**-12"))
    assert statement_hash(vector_add(course)) != before


def test_a_file_that_the_statement_imports_belongs_to_it(course: Path) -> None:
    def sgd() -> Located:
        return next(part for part in load_catalog(course).puzzles[1].parts if part.part.name == "adamw_step")

    before = statement_hash(sgd())
    changed(course / "puzzles" / RUNTIME / "bounded.py", lambda text: text + "\nLIMIT = 1\n")
    assert statement_hash(sgd()) != before


def test_a_header_that_comes_with_the_part_belongs_to_the_statement(course: Path) -> None:
    parts = load_catalog(course).puzzles[1].parts
    with_headers = next(part for part in parts if part.headers)
    before = statement_hash(with_headers)
    changed(course / "puzzles" / RUNTIME / with_headers.headers[0], lambda text: text + "// more\n")
    assert statement_hash(with_headers) != before


def test_what_a_learner_writes_and_reads_is_no_part_of_the_statement(course: Path) -> None:
    before = statement_hash(vector_add(course))
    folder = course / "puzzles" / PUZZLE
    for name in ("2_vector_add.cu", "README.md", "hints.md"):
        changed(folder / name, lambda text: text + "more\n")
    (folder / "7_own.py").write_text("print()\n")
    assert statement_hash(vector_add(course)) == before


def test_two_parts_of_one_puzzle_have_two_statements(course: Path) -> None:
    parts = load_catalog(course).puzzles[0].parts
    assert len({statement_hash(part) for part in parts}) == len(parts)


def test_line_endings_are_no_difference(course: Path) -> None:
    before = statement_hash(vector_add(course)), source_hash(submission(course, "a\nb\n"))
    statement = course / "puzzles" / PUZZLE / "puzzle.py"
    statement.write_bytes(statement.read_bytes().replace(b"\n", b"\r\n"))
    assert (statement_hash(vector_add(course)), source_hash(submission(course, "a\r\nb\r\n"))) == before


def test_the_reference_is_named_by_its_text(course: Path) -> None:
    before = reference_hash(vector_add(course))
    changed(course / "solutions" / PUZZLE / "2_vector_add.cu", lambda text: text + "// faster\n")
    assert reference_hash(vector_add(course)) != before


def test_a_source_is_its_text_and_that_of_the_own_parts_it_builds_on(course: Path) -> None:
    alone = submission(course, "one\n")
    (course / "used.cu").write_text("used\n")
    used = UsedPart(vector_add(course), course / "used.cu")
    hashes = [
        source_hash(alone),
        source_hash(submission(course, "two\n")),
        source_hash(Submission(alone.located, alone.source, "", uses=[UsedPart(used.located, used.path, is_own=True)])),
    ]
    assert len(set(hashes)) == 3
    references_only = Submission(alone.located, course / "mine.cu", "", uses=[used])
    alone.source.write_text("one\n")
    assert source_hash(references_only) == hashes[0]


SOURCE = "__constant__ float c[2] = {1.f, 2.f};\n__global__ void k(float *out) { out[threadIdx.x] = c[0]; }\n"


def compiled(course: Path, text: str) -> bytearray:
    path = course / "code.cu"
    path.write_text(text)
    return bytearray(build(path).cubin.read_bytes())


def hash_of(course: Path, image: bytearray) -> str:
    path = course / "code.cubin"
    path.write_bytes(image)
    return cubin_hash(path)


def sections_of(image: bytearray) -> dict[str, Any]:
    return {section.name: section for section in ELFFile(io.BytesIO(image)).iter_sections()}


def code_of(course: Path, text: str) -> str:
    return hash_of(course, compiled(course, text))


def test_code_is_named_without_its_line_numbers(course: Path) -> None:
    assert code_of(course, SOURCE) == code_of(course, f"// a comment\n\n{SOURCE}")


@pytest.mark.parametrize(
    ("old", "new"), [("2.f", "3.f"), ("c[0]", "c[1]"), ("float *out", "float *out, int n"), ("void k", "void other")]
)
def test_other_code_constants_and_parameters_have_other_names(course: Path, old: str, new: str) -> None:
    assert code_of(course, SOURCE) != code_of(course, SOURCE.replace(old, new))


VARIABLES = """
__device__ float first[4], second[4];
__global__ void k(float *out) { out[threadIdx.x] = first[threadIdx.x] + 2 * second[threadIdx.x]; }
"""


def test_code_that_reaches_another_variable_is_other_code(course: Path) -> None:
    """The variable is named in a relocation; the code's own bytes stay as they are."""
    image = compiled(course, VARIABLES)
    before, sections = hash_of(course, image), sections_of(image)
    links = next(section for name, section in sections.items() if name.startswith((".rel.nv.", ".rela.nv.")))
    image[links["sh_offset"] + 12] ^= 1  # the symbol's number
    assert hash_of(course, image) != before


@pytest.mark.parametrize("place", [6, 8])
def test_a_kernel_that_begins_elsewhere_is_other_code(course: Path, place: int) -> None:
    """In the symbol's section, or its place there."""
    image = compiled(course, VARIABLES)
    before, table = hash_of(course, image), sections_of(image)[".symtab"]
    number = next(number for number, symbol in enumerate(table.iter_symbols()) if symbol.name == "_Z1kPf")
    image[table["sh_offset"] + number * table["sh_entsize"] + place] ^= 16
    assert hash_of(course, image) != before


def test_a_result_names_all_of_it(course: Path) -> None:
    solution = vector_add(course).solution_path
    own = Submission(vector_add(course), solution, "x.cu")
    names = identity(own, build(solution).cubin, device="NVIDIA H200", driver="580.159.04")
    assert set(names) == {*HASHED, "nvcc", "driver", "device"}
    assert names["nvcc"].startswith("13.0.")
    assert (names["driver"], names["device"]) == ("580.159.04", "NVIDIA H200")
    assert names["source"] == names["reference"]
    assert names["grader"] == grader_hash()


def test_what_was_compiled_elsewhere_needs_no_compiler_here(course: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    solution = vector_add(course).solution_path
    cubin = build(solution).cubin
    monkeypatch.setattr("grader.identity.find_toolchain", None)
    own = Submission(vector_add(course), solution, "x.cu")
    assert identity(own, cubin, device="GPU", driver="", nvcc="13.0.48")["nvcc"] == "13.0.48"
