"""The attacks, one row each: what is tried, what stops it, and how that is switched off to see that it does.

The sources lie in the folders `compiler`, `loading`, `host`, `device`, `python` and `laps`, each attack with a benign
twin that passes: honest code as much like it as can be. Every attack is shown three times: it achieves its aim where
its defence is off, it does not where the defence is on, and its twin passes. The tests do so without a GPU, those of
`laps` on a stand-in for the driver; tests/gpu/red_team.py does so on hardware. docs/threat-model.md has the same rows.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Attack:
    """`finding` is the kind that a verdict names; empty where the attack is not named and gains nothing. `without` says
    how the tests take the defence away; no user can.
    """

    name: str
    folder: str
    tries: str
    defence: str
    without: str
    finding: str


_FILTER = ("the launcher's system calls are filtered", "the same recorder without its filter")
_CAGE = ("the compiler reads no file but the toolchain's", "the compiler without its cage")
_AGREEMENT = ("every entry is recorded twice, its buffers elsewhere", "the two recordings are not compared")
_ELSEWHERE = ("answers and comparison are in another process, later", "a judge that calls the entry in its own process")
_WATCHED = "the software GPU sees every access"
_FRESH = ("the second run has other inputs", "both runs have the same inputs")
_HEEDLESS = "the recorder's findings are ignored, old results left in place"

ATTACKS = (
    # ---- what the compiler is made to do
    Attack("includes_a_solution", "compiler", "includes the solution's file", *_CAGE, "forbidden_call"),
    Attack("quotes_a_file", "compiler", "reads a file of the machine in the compiler's errors", *_CAGE,
           "forbidden_call"),
    Attack("embeds_a_file", "compiler", "embeds a file of the machine with .incbin", *_CAGE, "forbidden_call"),
    Attack("never_compiles", "compiler", "keeps the compiler busy for ever",
           "each compiler's processor time is limited",
           "the compiler without its cage", "compile_error"),
    Attack("fills_the_disk", "compiler", "makes an object file of 100 MB", "a compiler's files are limited to 64 MiB",
           "the compiler without its cage", "compile_error"),
    Attack("launches_from_the_device", "compiler", "lets a kernel launch another, of which no plan knows",
           "device code is compiled whole, without the device runtime", "nvcc with relocatable device code",
           "compile_error"),
    # ---- what the launcher does to the machine
    Attack("runs_while_it_is_loaded", "loading", "acts in a constructor, before it is called", *_FILTER,
           "forbidden_call"),
    Attack("forks", "host", "leaves a process behind", *_FILTER, "forbidden_call"),
    Attack("runs_a_program", "host", "becomes another program", *_FILTER, "forbidden_call"),
    Attack("starts_a_thread", "host", "works beside whoever judges it", *_FILTER, "forbidden_call"),
    Attack("writes_a_file", "host", "leaves a file for the next attempt", *_FILTER, "forbidden_call"),
    Attack("reads_a_file", "host", "reads a file of the machine and prints it", *_FILTER, "forbidden_call"),
    Attack("reads_the_graders_environment", "host", "looks into the process that judges it", *_FILTER,
           "forbidden_call"),
    Attack("signals_the_grader", "host", "sends a signal to the process that judges it", *_FILTER, "forbidden_call"),
    Attack("opens_a_socket", "host", "talks to somebody outside", *_FILTER, "forbidden_call"),
    Attack("survives_its_crash", "host", "replaces the handler that tells of crashes", *_FILTER, "forbidden_call"),
    Attack("sleeps", "host", "holds up the grader by sleeping", *_FILTER, "host_timeout"),
    Attack("never_returns", "host", "holds up the grader by computing", "a launcher's time is limited",
           "the same recorder with a minute to spend", "host_timeout"),
    Attack("takes_all_memory", "host", "takes the machine's memory", "a launcher's memory is limited to 1 GiB",
           "the same recorder without its limits", "launch_error"),
    Attack("floods_the_output", "host", "prints until whoever keeps it has no memory left",
           "what is printed is cut at 16 KiB", "the launcher's output is kept whole", ""),
    # ---- what the launcher does to its verdict
    Attack("exits", "host", "ends with status 0 before anybody has looked", *_FILTER, "forbidden_call"),
    Attack("prints_a_verdict", "host", "prints that it has passed",
           "what is printed is kept apart from what is judged", "a judge that calls the entry in its own process", ""),
    Attack("patches_the_judge", "host", "overwrites the function that compares", *_ELSEWHERE, ""),
    Attack("reads_the_answers", "host", "copies the expected values from the caller's memory", *_ELSEWHERE, ""),
    Attack("forges_a_plan", "host", "writes a plan of its own on the recorder's pipe", *_FILTER, "forbidden_call"),
    Attack("forges_by_the_recorders_hand", "host", "writes there through the recorder's own system call",
           "every address of a plan is checked again", "addresses of a plan are believed", "forbidden_call"),
    Attack("works_in_the_first_call_only", "host", "launches nothing after its first call", *_AGREEMENT,
           "non_deterministic"),
    Attack("keeps_a_pointer", "host", "passes on the buffers of its first call", *_AGREEMENT, "non_deterministic"),
    Attack("swallows_errors", "host", "reports success whatever became of its launches",
           "each launch is made to fail once", "no launch is made to fail", "ignored_error"),
    # ---- launches that nobody measures
    Attack("works_on_another_stream", "device", "works on a stream that nobody times",
           "only the given stream is allowed",
           _HEEDLESS, "capture_unsafe"),
    Attack("calls_the_host_later", "device", "has the stream call it back after it has been judged",
           "a plan has no operation that calls the host", "findings of the recorder are ignored", "unsupported"),
    Attack("asks_for_too_much_shared_memory", "device", "launches what cannot start, and takes no time",
           "launches are judged by the device's limits", _HEEDLESS, "ignored_error"),
    # ---- results that nobody computed
    Attack("does_nothing", "device", "leaves the results as they are", "results are poisoned, and seen when unwritten",
           "old results are left in place", "never_written"),
    Attack("writes_zeros", "device", "writes zeros", "inputs are drawn such that zeros are wrong", "inputs are zeros",
           "wrong_values"),
    Attack("writes_the_beginning", "device", "computes the first block only", "every element is compared",
           "the first values are compared", "never_written"),
    Attack("copies_an_input", "device", "copies an input", "all inputs matter", "one input is zeros", "wrong_values"),
    Attack("overwrites_its_inputs", "device", "turns its inputs, and then its results, into zeros",
           "expected values come of copies that no kernel reaches", "they come of the inputs that it left",
           "read_only_violation"),
    Attack("computes_in_half", "device", "computes in half precision", "tolerances are single precision's own",
           "a tolerance for half precision", "low_precision"),
    Attack("answers_nan", "device", "answers NaN, which no comparison calls too far off",
           "NaN is wrong unless expected",
           "a comparison that asks whether the error is too large", "not_a_number"),
    Attack("knows_the_seed", "device", "recites answers for inputs of a seed it knows", "each check draws a new seed",
           "the seed is the one it knows", "wrong_values"),
    Attack("reads_its_neighbour", "device", "reads answers that lie behind its input", _WATCHED,
           "answers lie behind the input in one buffer", "out_of_bounds_read"),
    Attack("keeps_answers_by_pointer", "device", "keeps answers in the module, for the same pointers", *_FRESH,
           "non_deterministic"),
    Attack("works_once", "device", "counts its runs, and works in the first", *_FRESH, "non_deterministic"),
    Attack("spins", "device", "never ends", "a launch has a budget of instructions", "a budget that nothing exhausts",
           "endless_loop"),
    # ---- what a part in Python does
    Attack("takes_the_solutions_list", "python", "takes its list of op calls from the solution's file",
           "its process reads nothing but Python", "the process without its cage", "forbidden_call"),
    Attack("starts_a_process", "python", "starts a program", "its process can start no other",
           "the process without its cage", "forbidden_call"),
    Attack("leaves_a_file", "python", "leaves a file behind", "its process writes nothing",
           "the process without its cage", "forbidden_call"),
    # ---- timed runs that are not worked for
    Attack("skips_later_laps", "laps", "counts its runs, and works in the first one timed",
           "variables of the module are put back before every lap", "they are not, nor are results poisoned",
           "non_deterministic"),
    Attack("skips_laps_by_chance", "laps", "works in one run of five", "places of every lap's results are looked at",
           "no results of timed runs are looked at", "non_deterministic"),
    Attack("keeps_answers_in_the_module", "laps", "keeps answers in the module, for inputs that it knows again",
           "variables of the module are put back before every lap", "they are not", ""),
    Attack("keeps_answers_in_its_inputs", "laps", "turns its inputs into the answer",
           "inputs are put back before every lap, and compared", "they are neither", "read_only_violation"),
    Attack("keeps_answers_behind_its_result", "laps", "keeps answers in what is mapped behind its result",
           "whatever is mapped around a buffer is poisoned before every lap", "nothing is poisoned",
           "out_of_bounds_write"),
    Attack("finds_old_allocations", "laps", "finds answers in memory that it has just allocated",
           "memory of allocations is poisoned before every lap", "nothing is poisoned", "uninitialised_read"),
    Attack("finds_old_shared_memory", "laps", "finds answers in shared memory",
           "shared memory of every multiprocessor is cleared before every lap", "nothing runs between two laps",
           "uninitialised_read"),
    Attack("finds_old_reserved_memory", "laps", "finds answers in the shared memory that is reserved in each block",
           "that is cleared as well before every lap", "shared memory is not cleared", ""),
    Attack("finds_old_local_memory", "laps", "finds answers in local memory",
           "local memory of every thread is cleared before every lap", "it is not", "uninitialised_read"),
    Attack("finds_old_heap", "laps", "finds answers in memory from the kernel's malloc",
           "a module with a heap is not timed", "it is", "unsupported"),
    Attack("keeps_answers_in_managed_memory", "laps", "keeps answers in a managed variable",
           "a module with managed variables is not timed", "it is", "non_deterministic"),
    Attack("finds_a_warm_l2", "laps", "fetches its inputs into the L2 for the next run",
           "the L2 is flushed before every lap", "it is not", ""),
    Attack("keeps_lines_in_the_l2", "laps", "asks the L2 to evict its inputs last",
           "such lines are made lines like others before every lap", "they are not", ""),
    Attack("behaves_while_it_is_watched", "laps", "does less where nobody sees its accesses",
           "a GPU's values are compared as well", "the software GPU alone judges", "wrong_values"),
)  # fmt: skip


def attacks(*folders: str) -> list[str]:
    """The names of the attacks in these folders."""
    return [attack.name for attack in ATTACKS if attack.folder in folders]


def attack(name: str) -> Attack:
    """The row of this name."""
    return next(one for one in ATTACKS if one.name == name)
