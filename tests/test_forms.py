"""Forms of instructions that CUDA's headers compile to: which are known, and what becomes of the others."""

from __future__ import annotations

import pytest

from tests.forms.collect import HERE, compiled
from tests.forms.forms import instructions
from tests.forms.known import Form, case, forms, is_known, unknown
from tests.forms.page import PAGE, written
from tests.instructions.case import outcome

STRANGE = {"add.u128": "r128, r128, r128", "fma.rn.e4m3": "r16, r16, r16", "new.b32": "r32, r32"}
MISSING = [(form, operands) for form, all_operands in unknown() for operands in all_operands]


def test_what_a_header_compiles_to_is_what_was_collected() -> None:
    found = {opcode for opcode, _ in instructions(compiled(HERE / "sources" / "matrix.cu", 80))}
    assert found == {form.name for form in forms() if "mma.h 80" in form.met}


def test_every_header_was_met_for_every_target() -> None:
    met = {place for form in forms() for place in form.met}
    assert len(met) == 8 * 3
    assert len(forms()) > 800


@pytest.mark.parametrize(("form", "operands"), MISSING, ids=[form.name for form, _ in MISSING])
def test_a_form_that_is_not_known_is_named_when_a_lane_reaches_it(form: Form, operands: str) -> None:
    result = outcome(case(form, operands))
    assert result.findings == ("unsupported",)
    (text,) = result.unsupported
    assert text.startswith(form.name)


@pytest.mark.parametrize(("opcode", "operands"), STRANGE.items())
def test_what_no_gpu_has_is_not_known(opcode: str, operands: str) -> None:
    assert not is_known(Form(opcode, (operands,), ()), operands)


def test_a_form_is_known_with_operands_that_it_takes() -> None:
    assert is_known(Form("add.s32", (), ()), "r32, r32, -1")
    assert not is_known(Form("add.s32", (), ()), "r64, r32, -1")


def test_the_page_shows_what_the_data_say() -> None:
    assert PAGE.read_text(encoding="utf-8") == written(), "python -m tests.forms.page writes it anew"
