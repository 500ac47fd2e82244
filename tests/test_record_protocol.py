"""The channel from the recorder is read as what it is: text from a process that runs hostile code."""

from __future__ import annotations

import base64
import json
import random

import pytest

from grader import cage
from grader.cache import ToolMissing
from grader.cage import Finished
from grader.record.findings import returned_finding
from grader.record.protocol import Forgery, read_transcript
from tests.recording import recorded

LAUNCH = {
    "kind": "launch", "kernel": "_Z11copy_kernelPKfPfi", "grid": [4, 1, 1], "block": [256, 1, 1], "shared": 0,
    "cooperative": False, "max_dynamic_shared": 49152, "parameters": "AAAA", "frames": [16],
}  # fmt: skip
ARMED, BEGIN, END, DONE = {"kind": "armed"}, {"kind": "begin"}, {"kind": "end", "returned": 0}, {"kind": "done"}
FAULT = {"kind": "fault", "signal": "SEGV", "address": 0, "known": True, "stack": False, "frames": []}
FAILED = {"kind": "failed", "function": "cudaMemset", "code": 1, "frames": [16]}
INJECTED = {"kind": "injected", "frames": [16]}
HOST = {"kind": "host", "payload": "AQAAAAIAAAA="}
ELSEWHERE = {"kind": "allocate", "address": 0x7000_0000_0000, "bytes": 4096, "frames": []}
UPLOAD = {"kind": "symbol_upload", "symbol": "weights", "offset": 0, "payload": "AAAAAAAA", "frames": []}  # 6 bytes
COPIES = (
    ({**UPLOAD, "symbol": "nowhere"}, "forbidden_call"),
    ({**UPLOAD, "offset": 11}, "forbidden_call"),
    ({**UPLOAD, "symbol": "_Z11copy_kernelPKfPfi"}, "forbidden_call"),
)
HONEST = [ARMED, BEGIN, LAUNCH, END, BEGIN, LAUNCH, END, DONE]


def stream_of(*lines: object) -> bytes:
    return b"".join(line if isinstance(line, bytes) else json.dumps(line).encode() + b"\n" for line in lines)


def test_an_honest_transcript_is_read() -> None:
    transcript = read_transcript(stream_of(*HONEST), 2)
    assert [call.returned for call in transcript.calls] == [0, 0]
    assert transcript.ending is not None
    assert transcript.ending.kind == "done"


def test_what_an_entry_left_in_host_memory_is_read() -> None:
    transcript = read_transcript(stream_of(ARMED, *[BEGIN, HOST, END] * 2, DONE), 2)
    assert [call.host for call in transcript.calls] == [b"\1\0\0\0\2\0\0\0"] * 2


def test_why_an_entry_returned_an_error_is_read_as_text_of_any_kind() -> None:
    words = base64.b64encode("no\x1b variant →\n  of é\0".encode() + b"\xff").decode()
    ends = {**END, "returned": 801, "refusal": words}
    call, _ = read_transcript(stream_of(ARMED, *[BEGIN, ends] * 2, DONE), 2).calls
    told = returned_finding(call)
    assert (told.kind, told.facts["reason"]) == ("launch_error", "no variant →; of é\N{REPLACEMENT CHARACTER}.")


@pytest.mark.parametrize(
    "lines",
    [
        [*HONEST, DONE],
        [*HONEST, LAUNCH],
        [ARMED, DONE],
        [ARMED, BEGIN, END, DONE],
        [ARMED, BEGIN, DONE],
        [ARMED, BEGIN, BEGIN],
        [ARMED, BEGIN, END, LAUNCH],
        [ARMED, *[BEGIN, END] * 3, DONE],
        [BEGIN],
        [ARMED, {"kind": "unavailable", "what": "nothing"}],
        [ARMED, BEGIN, {"kind": "verdict", "frames": []}],
        [ARMED, BEGIN, INJECTED],
        [ARMED, BEGIN, END, HOST],
        [ARMED, HOST],
        [ARMED, BEGIN, HOST, HOST],
        [ARMED, BEGIN, {**HOST, "payload": "a number"}],
        [ARMED, BEGIN, {**HOST, "payload": "A" * (1 << 18)}],
        [ARMED, INJECTED],
        [ARMED, BEGIN, {**FAILED, "code": -77_777}],
        [ARMED, BEGIN, {**FAILED, "code": 0}],
        [ARMED, BEGIN, {**FAILED, "code": True}],
        [ARMED, BEGIN, {**LAUNCH, "parameters": "not base64"}],
        [ARMED, BEGIN, {**LAUNCH, "frames": [-1]}],
        [ARMED, BEGIN, {**LAUNCH, "frames": [0] * 100}],
        [ARMED, BEGIN, {**LAUNCH, "more": 1}],
        [ARMED, BEGIN, {"kind": "end", "returned": 1 << 40}],
        [ARMED, BEGIN, {"kind": "end", "returned": True}],
        [ARMED, BEGIN, {**END, "refusal": "in words"}],
        [ARMED, BEGIN, {**END, "refusal": "A" * 6000}],
        [ARMED, {**FAULT, "signal": "\x1b[2J"}],
        [ARMED, {**FAULT, "signal": "S" * 10_000}],
        [ARMED, b"[" * 100_000 + b"\n"],
        [ARMED, b"9" * 10_000 + b"\n"],
        [ARMED, b"\xff\xfe\n"],
        [ARMED, b'"armed"\n'],
        [ARMED, b"{}\n", BEGIN],
    ],
    ids=str,
)
def test_whatever_the_recorder_cannot_have_written_is_a_forgery(lines: list[object]) -> None:
    with pytest.raises(Forgery):
        read_transcript(stream_of(*lines), 2)


def test_a_failure_belongs_to_the_call_whose_launches_fail() -> None:
    transcript = read_transcript(stream_of(*HONEST[:-1], BEGIN, INJECTED, END, DONE), 3)
    assert [event.kind for event in transcript.calls[2].events] == ["injected"]


@pytest.mark.parametrize("line", [b"\n", json.dumps(FAILED).encode() + b"\n"], ids=["empty", "failed"])
def test_a_flood_of_lines_is_refused_before_it_is_read(line: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json, "loads", None)  # whoever reads a line fails
    with pytest.raises(Forgery, match="more lines"):
        read_transcript(line * 250_000, 2)


def test_a_line_cut_short_by_a_signal_is_passed_over() -> None:
    transcript = read_transcript(stream_of(ARMED, BEGIN, b'{"kind":"upload","payload":"AAA\n', FAULT), 2)
    assert transcript.ending is not None
    assert transcript.ending.kind == "fault"


def finished_with(stream: bytes, code: int = 0, ended: str = "exit") -> Finished:
    return Finished(code, b"", b"", {3: stream}, 0.0, ended)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("finished", "kind"),
    [
        (finished_with(stream_of(*HONEST), code=3), "forbidden_call"),
        (finished_with(stream_of(*HONEST[:-1])), "forbidden_call"),
        (finished_with(stream_of(ARMED, BEGIN)), "forbidden_call"),
        (finished_with(b""), "forbidden_call"),
        (finished_with(b"no JSON\n"), "forbidden_call"),
        (finished_with(stream_of(*HONEST)), "forbidden_call"),  # parameters of a wrong size
        (finished_with(stream_of(ARMED, BEGIN, {**LAUNCH, "kernel": "elsewhere"}, END, *HONEST[4:])), "forbidden_call"),
        (finished_with(stream_of(ARMED, BEGIN, {**LAUNCH, "grid": [0, 1, 1]}, END, *HONEST[4:])), "forbidden_call"),
        (finished_with(stream_of(ARMED, BEGIN, {**LAUNCH, "grid": ["4", 1]}, END, *HONEST[4:])), "forbidden_call"),
        (finished_with(stream_of(ARMED, BEGIN, {**LAUNCH, "cooperative": 1}, END, *HONEST[4:])), "forbidden_call"),
        (finished_with(stream_of(ARMED, BEGIN, ELSEWHERE, END, BEGIN, END, DONE)), "forbidden_call"),
        *((finished_with(stream_of(ARMED, BEGIN, copy, END, BEGIN, copy, END, DONE)), kind) for copy, kind in COPIES),
        (finished_with(stream_of(ARMED, *[BEGIN, HOST, END] * 2, DONE)), "forbidden_call"),  # it was given none
        (finished_with(stream_of(ARMED, FAULT)), "forbidden_call"),
        (finished_with(stream_of(ARMED, FAULT), code=3), "host_crash"),
        (finished_with(stream_of(ARMED, BEGIN), code=-31), "forbidden_call"),
        (finished_with(stream_of(ARMED, BEGIN), code=-11), "host_crash"),
        (finished_with(stream_of(ARMED, BEGIN), code=-9, ended="timeout"), "host_timeout"),
        (finished_with(stream_of(ARMED, BEGIN), code=-9, ended="flood"), "forbidden_call"),
        (finished_with(stream_of(ARMED, BEGIN), code=-24), "host_timeout"),
    ],
)
def test_an_end_that_the_lines_do_not_bear_out_is_a_finding(
    finished: Finished, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cage, "run", lambda *_arguments, **_more: finished)
    result = recorded("honest.cu", "plain")
    assert [finding.kind for finding in result.findings] == [kind]


def test_a_function_that_nobody_defines_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    why = "/cache/library.so: undefined symbol: nowhere"
    finished = finished_with(stream_of(ARMED, {"kind": "not_loaded", "why": why}), code=3)
    monkeypatch.setattr(cage, "run", lambda *_arguments, **_more: finished)
    (finding,) = recorded("honest.cu", "plain").findings
    assert (finding.kind, finding.facts["variant"]) == ("missing_entry", "unloadable")
    assert finding.facts["reason"] == "`nowhere` is declared and used, but nowhere defined"


def test_a_machine_that_cannot_hold_a_launcher_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    finished = finished_with(stream_of({"kind": "unavailable", "what": "a seccomp filter"}), code=2)
    monkeypatch.setattr(cage, "run", lambda *_arguments, **_more: finished)
    with pytest.raises(ToolMissing, match="a seccomp filter"):
        recorded("honest.cu", "plain")


def test_no_damage_to_a_transcript_gives_anything_but_a_forgery() -> None:
    luck = random.Random(20_251_129)  # the same damage every time
    honest = stream_of(*HONEST[:-1], FAULT)
    for _ in range(2_000):
        damaged = bytearray(honest)
        for _ in range(luck.randint(1, 6)):
            place = luck.randrange(len(damaged))
            match luck.randrange(3):
                case 0:
                    damaged[place] = luck.randrange(256)
                case 1:
                    del damaged[place : place + luck.randint(1, 40)]
                case _:
                    damaged[place:place] = damaged[luck.randrange(len(damaged)) :][: luck.randint(1, 80)]
        try:
            read_transcript(bytes(damaged), 2)
        except Forgery:
            continue
