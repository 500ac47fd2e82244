"""Two recordings agree byte for byte, but for words that moved exactly as one buffer did."""

from __future__ import annotations

import struct

import pytest

from grader.record.agreement import Difference, Moves, difference
from grader.record.layout import pages, software_layout
from grader.record.operations import Launch, Memset, Operation, Upload
from grader.record.parameters import bytes_read

A, B = 0x2010_0000_0000, 0x2030_0000_0000
SHIFT_A, SHIFT_B = 0x1000_0000_0300, 0x1000_0000_0500
MOVES = Moves({SHIFT_A, SHIFT_B}, [(A, A + 4000), (B, B + 4000)], lambda _kernel: range(64))


def launch(*words: int, tail: bytes = b"") -> Launch:
    parameters = struct.pack(f"<{len(words)}Q", *words) + tail
    return Launch("k", (1, 1, 1), (32, 1, 1), 0, False, parameters, 49_152, 7)


def compare(one: Operation, other: Operation) -> Difference | None:
    return difference([one], [other], (0, 0), MOVES)


def test_an_address_may_move_with_its_buffer() -> None:
    assert compare(launch(A + 20, B), launch(A + 20 + SHIFT_A, B + SHIFT_B)) is None
    assert compare(Memset(A, 0, 4), Memset(A + SHIFT_A, 0, 4)) is None
    assert compare(Upload(A, struct.pack("<Q", B)), Upload(A + SHIFT_A, struct.pack("<Q", B + SHIFT_B))) is None


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (launch(A), launch(A + SHIFT_A + 4)),
        (launch(A + B), launch(A + B + SHIFT_A + SHIFT_B)),
        (launch(1), launch(2)),
        (launch(A, tail=b"\1\0\0\0"), launch(A + SHIFT_A, tail=b"\2\0\0\0")),
        (launch(A), launch(A)),
        (launch(A), launch(A + SHIFT_A, 0)),
        (launch(A), Memset(A, 0, 4)),
        (Memset(A, 0, 4), Memset(A, 1, 4)),
        (Memset(A, 0, 4), Memset(A + SHIFT_A + 4, 0, 4)),
    ],
    ids=str,
)
def test_anything_else_that_differs_is_a_difference(one: Operation, other: Operation) -> None:
    found = compare(one, other)
    assert found is not None
    assert found.line == (other.line or one.line)


def test_what_the_entry_returns_is_compared() -> None:
    assert difference([], [], (0, 1), MOVES) == Difference(
        None, "said", "it returns cudaErrorInvalidValue, the first call cudaSuccess"
    )


def test_padding_that_no_kernel_reads_does_not_count() -> None:
    moves = Moves({SHIFT_A}, [], lambda _kernel: set(range(4)) | set(range(8, 16)))
    old, new = struct.pack("<iIQ", 5, 0xDEAD, 7), struct.pack("<iIQ", 5, 0xBEEF, 7)
    one, other = launch(tail=old), launch(tail=new)
    assert difference([one], [other], (0, 0), moves) is None
    assert difference([one], [launch(tail=old[:2] + b"\7\7" + old[4:])], (0, 0), moves) is not None


PTX = """
.visible .entry _Z1k1P(
	.param .align 8 .b8 _Z1k1P_param_0[24],
	.param .u64 .ptr .align 1 _Z1k1P_param_1,
	.param .align 4 .b8 _Z1k1P_param_2[12]
)
.maxntid 256
{
	ld.param.b32 	%r1, [_Z1k1P_param_0];
	ld.param.v2.b32 	{%r2, %r3}, [_Z1k1P_param_0+8];
	ld.param.u64 	%rd1, [_Z1k1P_param_1];
	mov.b64 	%rd2, _Z1k1P_param_2;
	ret;

}
.visible .entry _Z1k1Pf(
	.param .align 8 .b8 _Z1k1Pf_param_0[24]
)
{
	ld.param.b64 	%r1, [_Z1k1Pf_param_0+16];
}
"""


def test_the_bytes_that_a_kernel_reads_are_those_of_its_loads() -> None:
    read = bytes_read(PTX, "_Z1k1P", (0, 24, 32), (24, 8, 12))
    assert read == {*range(4), *range(8, 16), *range(24, 32), *range(32, 44)}
    assert bytes_read(PTX, "_Z1k1Pf", (0,), (24,)) == set(range(16, 24))


def test_all_bytes_count_where_the_kernel_is_not_found() -> None:
    assert bytes_read(PTX, "other", (0, 8), (4, 8)) == {*range(4), *range(8, 16)}


def test_the_two_sets_of_addresses_agree_modulo_256_and_move_each_by_its_own() -> None:
    layout = software_layout([0, 4, 12, 0])
    assert [address % 256 for address in layout.first] == [0, 4, 12, 0]
    assert [address % 256 for address in layout.second] == [0, 4, 12, 0]
    assert len(set(layout.shifts)) == 5


def test_reserved_pages_are_merged() -> None:
    assert pages([(4096, 10), (4100, 5000), (20_480, 0)]) == [(4096, 8192), (20_480, 4096)]
