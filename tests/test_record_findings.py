"""Wrong and hostile launch code: each entry of tests/launchers gives one finding, of this kind, on its line."""

from __future__ import annotations

import pytest

from grader.record import request
from tests.recording import line_of, recorded

CRASHES = {
    "follows_null": {"variant": "null"},
    "reads_input": {"variant": "reads_device", "buffer": "a"},
    "writes_output": {"variant": "reads_device", "buffer": "out"},
    "copies_with_libc": {"variant": "reads_device", "buffer": "a"},
    "reads_stream": {"variant": "reads_device", "buffer": "stream"},
    "aborts": {"variant": "abort"},
    "throws": {"variant": "abort", "type": "std::runtime_error"},
    "throws_from_library": {"variant": "abort", "type": "std::out_of_range"},
    "divides": {"variant": "divide"},
    "calls_null": {"variant": "null"},
    "traps": {"variant": "plain", "signal": "SIGILL"},
    "raises": {"variant": "plain", "signal": "SIGSEGV"},
    "second_call": {"variant": "null"},
    "corrupts_heap": {"variant": "abort"},
    "takes_all_memory": {"variant": "abort", "type": "std::bad_alloc"},
    "takes_all_addresses": {"variant": "abort"},
}

FORBIDDEN = {
    "calls_exit": "exit",
    "calls__exit": "_exit",
    "calls_quick_exit": "quick_exit",
    "exits_by_system_call": "syscall",
    "exits_its_thread": "syscall",
    "forks": "fork",
    "vforks": "vfork",
    "clones": "syscall",
    "executes": "execl",
    "calls_system": None,  # named by the first thing it does
    "calls_popen": "popen",
    "starts_thread": "std::thread",
    "starts_pthread": "pthread_create",
    "opens": "open",
    "fopens": None,
    "streams_file": "std::ifstream",
    "writes_file": "std::ofstream",
    "looks_at_file": None,
    "opens_socket": "socket",
    "opens_pipe": "pipe",
    "kills_parent": "kill",
    "kills_all": "kill",
    "terminates_itself": "raise",
    "handles_signals": None,
    "traces": "ptrace",
    "reads_other_process": "process_vm_readv",
    "uses_io_uring": "syscall",
    "makes_memory_file": "memfd_create",
    "shares_memory": "mmap",
    "makes_second_stack": "mmap",
    "changes_stack": "sigaltstack",
    "sets_alarm": "alarm",
    "closes_output": "close",
    "raises_its_limits": "syscall",
    "writes_protocol": "write",
    "writes_protocol_and_exits": "write",
}

WAITS = {
    "sleeps": "sleep",
    "usleeps": "usleep",
    "sleeps_in_cpp": None,
    "polls": "poll",
    "selects": "select",
    "pauses": "pause",
    "reads_grader": "read",
    "reads_input_stream": "read",
    "reads_with_stdio": None,
    "waits_on_condition": None,
    "waits_for_child": None,
}

REFUSED = {
    "block_too_large": ("cudaErrorInvalidValue", "2,048 threads a block; at most 1,024"),
    "no_blocks": ("cudaErrorInvalidValue", "a grid of 0 blocks"),
    "no_threads": ("cudaErrorInvalidValue", "a block of 0 threads"),
    "grid_too_tall": ("cudaErrorInvalidValue", "65,536 blocks along y; at most 65,535"),
    "block_too_deep": ("cudaErrorInvalidValue", "65 threads along z; at most 64"),
    "past_launch_bounds": ("cudaErrorInvalidValue", "__launch_bounds__ promised at most 128"),
    "shared_not_asked_for": ("cudaErrorInvalidValue", "must be asked for"),
    "shared_too_large": ("cudaErrorInvalidValue", "204,800 bytes of shared memory a block"),
    "needs_registers": ("cudaErrorLaunchOutOfResources", "a block can have 65,536"),
    "too_many_cooperating": ("cudaErrorCooperativeLaunchTooLarge", "cooperative"),
    "attribute_too_large": ("cudaErrorInvalidValue", None),
    "no_kernel": ("cudaErrorInvalidDeviceFunction", None),
    "memset_of_host_memory": ("cudaErrorInvalidValue", "no device memory that the entry was given"),
    "memset_past_the_end": ("cudaErrorInvalidValue", "4,004 bytes from byte 0 of out on; it has 4,000 bytes"),
    "symbol_of_nothing": ("cudaErrorInvalidSymbol", None),
}

OFF_THE_STREAM = {
    "default_stream": {"variant": "launch", "where": "the default stream"},
    "legacy_stream": {"variant": "launch", "where": "the default stream"},
    "per_thread_stream": {"variant": "launch", "where": "the per-thread default stream"},
    "own_stream": {"variant": "launch", "where": "another stream"},
    "memset_on_default": {"variant": "work", "call": "cudaMemsetAsync"},
    "synchronizes": {"variant": "synchronize", "call": "cudaStreamSynchronize"},
    "synchronizes_device": {"variant": "synchronize", "call": "cudaDeviceSynchronize"},
    "allocates": {"variant": "allocate", "call": "cudaMalloc"},
    "frees": {"variant": "allocate", "call": "cudaFree"},
    "copies_at_once": {"variant": "synchronize", "call": "cudaMemcpy"},
    "sets_at_once": {"variant": "synchronize", "call": "cudaMemset"},
    "waits_for_event": {"variant": "synchronize", "call": "cudaEventSynchronize"},
    "invalidated": {"variant": "synchronize", "call": "cudaDeviceSynchronize"},
}

WRITES = {
    "fills_input": "cudaMemsetAsync",
    "copies_to_input": "cudaMemcpyAsync",
    "uploads_to_input": "cudaMemcpyAsync",
}

CHANGES = {
    "first_call_only": "0 operations",
    "second_call_only": "1 operation",
    "keeps_pointer": "kept from the first call",
    "counts_calls": "other values",
    "grid_grows": "its grid is 2 × 1 × 1",
    "branches_on_address": "other values",
    "passes_half_an_address": "other values",
    "mixes_addresses": "other values",
    "passes_host_address": "other values",
    "draws_lots": "other values",
    "memset_grows": "is 8, in the first call it was 4",
    "uploads_count": "other values",
    "other_kernel": "another kernel",
}


@pytest.mark.parametrize("entry", CRASHES)
def test_a_crash_is_told_with_its_line_and_what_was_touched(entry: str) -> None:
    (finding,) = recorded("crashes.cu", entry).findings
    assert (finding.kind, finding.line) == ("host_crash", line_of("crashes.cu", entry))
    assert CRASHES[entry].items() <= finding.facts.items()


@pytest.mark.parametrize("entry", ["overflows_stack", "needs_too_much_stack"])
def test_a_stack_that_overflows_is_told_with_the_function_that_needs_it(entry: str) -> None:
    (finding,) = recorded("crashes.cu", entry).findings
    start = line_of("crashes.cu", entry)
    assert (finding.kind, finding.facts) == ("host_crash", {"variant": "stack"})
    assert finding.line in range(start, start + 4)


@pytest.mark.parametrize("entry", FORBIDDEN)
def test_what_an_entry_has_no_business_with_ends_it(entry: str) -> None:
    recording = recorded("calls.cu", entry)
    (finding,) = recording.findings
    assert (finding.kind, finding.line) == ("forbidden_call", line_of("calls.cu", entry))
    assert FORBIDDEN[entry] in (None, finding.facts["call"])
    assert recording.plan.returned is None


@pytest.mark.parametrize("entry", ["exits_by_instruction", "writes_by_instruction"])
def test_a_system_call_made_without_libc_is_no_way_out(entry: str) -> None:
    (finding,) = recorded("calls.cu", entry).findings
    assert finding.kind == "forbidden_call"
    assert finding.line is not None


def test_a_call_of_another_architecture_kills_the_launcher() -> None:
    (finding,) = recorded("calls.cu", "uses_x32_call").findings
    assert finding.kind == "forbidden_call"


def test_the_file_that_a_launcher_tried_to_open_is_named() -> None:
    (finding,) = recorded("calls.cu", "streams_file").findings
    assert finding.facts["path"] == "/etc/passwd"


@pytest.mark.parametrize("entry", WAITS)
def test_waiting_for_time_or_for_anybody_is_a_timeout_at_once(entry: str) -> None:
    recording = recorded("calls.cu", entry)
    (finding,) = recording.findings
    assert (finding.kind, finding.line, finding.facts["variant"]) == (
        "host_timeout",
        line_of("calls.cu", entry),
        "sleep",
    )
    assert WAITS[entry] in (None, finding.facts["call"])


@pytest.mark.parametrize("entry", ["loops", "loops_in_malloc"])
def test_an_endless_loop_is_ended_by_the_clock_with_its_line(entry: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request, "CPU_MILLISECONDS", 200)
    (finding,) = recorded("calls.cu", entry).findings
    assert (finding.kind, finding.line, finding.facts["variant"]) == (
        "host_timeout",
        line_of("calls.cu", entry),
        "limit",
    )


@pytest.mark.parametrize("entry", REFUSED)
def test_what_cuda_refuses_is_refused_with_its_error_and_the_reason(entry: str) -> None:
    (finding,) = recorded("errors.cu", entry).findings
    error, reason = REFUSED[entry]
    assert (finding.kind, finding.line) == ("launch_error", line_of("errors.cu", entry))
    assert finding.facts["error"] == error
    assert reason is None or reason in finding.facts["reason"]


@pytest.mark.parametrize("entry", ["ignores_block_too_large", "ignores_memset"])
def test_an_error_that_the_entry_does_not_return_is_ignored(entry: str) -> None:
    (finding,) = recorded("errors.cu", entry).findings
    assert (finding.kind, finding.line) == ("ignored_error", line_of("errors.cu", entry))


def test_an_error_that_no_call_gave_is_told_as_the_entrys_own() -> None:
    (finding,) = recorded("errors.cu", "returns_its_own").findings
    assert (finding.kind, finding.facts) == ("launch_error", {"variant": "returned", "error": "cudaErrorUnknown"})


def test_a_launch_that_fails_by_injection_must_be_returned() -> None:
    assert recorded("errors.cu", "never_looks").findings == []
    (finding,) = recorded("errors.cu", "never_looks", inject=1).findings
    assert (finding.kind, finding.line) == ("ignored_error", line_of("errors.cu", "never_looks"))
    assert finding.facts == {"variant": "injected", "injected": True}
    assert recorded("errors.cu", "looks", inject=1).findings == []
    assert recorded("errors.cu", "launches_nothing", inject=1).findings == []


def test_what_an_entry_does_when_a_launch_fails_is_judged_too() -> None:
    assert recorded("errors.cu", "crashes_on_error").findings == []
    (finding,) = recorded("errors.cu", "crashes_on_error", inject=1).findings
    assert (finding.kind, finding.line) == ("host_crash", line_of("errors.cu", "crashes_on_error"))


@pytest.mark.parametrize("entry", OFF_THE_STREAM)
def test_what_a_captured_stream_forbids_is_refused(entry: str) -> None:
    (finding,) = recorded("errors.cu", entry).findings
    assert (finding.kind, finding.line) == ("capture_unsafe", line_of("errors.cu", entry))
    assert OFF_THE_STREAM[entry].items() <= finding.facts.items()


@pytest.mark.parametrize(
    ("entry", "call"),
    [("copies_to_host", "cudaMemcpyAsync to host memory"), ("makes_texture", "cudaCreateTextureObject")],
)
def test_a_function_that_our_runtime_lacks_is_named(entry: str, call: str) -> None:
    (finding,) = recorded("errors.cu", entry).findings
    assert (finding.kind, finding.line) == ("unsupported", line_of("errors.cu", entry))
    assert finding.facts == {"variant": "call", "call": call}


def test_a_plan_that_grows_without_end_is_cut() -> None:
    recording = recorded("errors.cu", "calls_without_end")
    assert [finding.kind for finding in recording.findings] == ["unsupported"]
    assert len(recording.plan.operations) == 65_536


@pytest.mark.parametrize("entry", CHANGES)
def test_a_second_call_that_differs_is_found_by_what_differs(entry: str) -> None:
    (finding,) = recorded("repeats.cu", entry).findings
    assert (finding.kind, finding.line) == ("non_deterministic", line_of("repeats.cu", entry))
    assert CHANGES[entry] in finding.facts["reason"]


def test_a_memset_through_a_kept_pointer_is_told_as_one() -> None:
    (finding,) = recorded("repeats.cu", "fills_kept_pointer").findings
    assert (finding.kind, finding.line) == ("launch_error", line_of("repeats.cu", "fills_kept_pointer"))
    assert finding.facts["reason"] == "the address was kept from the first call"


@pytest.mark.parametrize("entry", ["looks_at_alignment", "offsets_pointer"])
def test_looking_at_addresses_without_consequence_is_no_finding(entry: str) -> None:
    assert recorded("repeats.cu", entry).findings == []


def test_what_a_launcher_prints_is_kept_apart_and_printed_once() -> None:
    recording = recorded("calls.cu", "prints_verdict")
    assert recording.findings == []
    assert recording.printed == '{"schema": 1, "passed": true}\npassed\n'


def test_printing_without_end_is_cut() -> None:
    recording = recorded("calls.cu", "prints_without_end")
    assert recording.findings == []
    assert len(recording.printed) == 16_384


@pytest.mark.parametrize("entry", WRITES)
def test_an_input_is_not_written_by_the_host_either(entry: str) -> None:
    (finding,) = recorded("errors.cu", entry).findings
    assert (finding.kind, finding.line) == ("read_only_violation", line_of("errors.cu", entry))
    assert finding.facts == {"variant": "host", "call": WRITES[entry], "buffer": "a"}
