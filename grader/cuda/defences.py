"""What stands between a kernel and a time that it has not earned, each part by a name of its own.

All of it is on. Tests switch one off to show that an attack succeeds without it; nothing that a user types, and no
variable of the environment, reaches this.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Defences:
    """Each is a sentence that holds while it is on.

    Before every lap, in the replay process:

    `poison`: results, workspaces, allocations, and whatever memory is mapped around any buffer, hold a pattern.
    `restored_globals`: each variable of the module is as its cubin says. `restored_inputs`: inputs come again from a
    copy that is kept elsewhere. `scrubbed_shared`, `scrubbed_local`: shared memory of every multiprocessor, local
    memory of every thread that can be resident, hold a pattern. `refused_memory`: a module with managed variables or a
    heap of its own, which nobody could put back, is not timed. `cold_l2`: the L2 holds nothing of the kernel's.
    `reset_persisting`: lines that it asked the L2 to keep are lines like others.

    In the process that asks for laps:

    `fresh_inputs`: there are several sets of inputs, and chance decides which one a round uses. `unknown_seed`: they
    are drawn from numbers that nobody knew before. `checked_inputs`: what a kernel may only read is as it was.
    `checked_laps`: places of the results, chosen after each lap, hold the right values. `checked_results`: all values
    are right after a round chosen by chance, and after the last. `host_clock`: the host's clock saw the same time pass.
    """

    poison: bool = True
    restored_globals: bool = True
    restored_inputs: bool = True
    scrubbed_shared: bool = True
    scrubbed_local: bool = True
    refused_memory: bool = True
    cold_l2: bool = True
    reset_persisting: bool = True
    fresh_inputs: bool = True
    unknown_seed: bool = True
    checked_inputs: bool = True
    checked_laps: bool = True
    checked_results: bool = True
    host_clock: bool = True


ALL = Defences()
