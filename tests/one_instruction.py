"""Runs one operation of the machine on many operands: a kernel of loads, the operation, and a store, written by hand.

Thread i works on element i of every operand. Operands and results are given by their letter in the machine's operation
table: r and R are 32- and 64-bit registers, p is a predicate (0 or 1).
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Sequence
from pathlib import Path

from grader.simt.machine import Machine
from grader.simt.program import (
    CONSTANT32,
    ENTRY,
    KIND_SHIFT,
    NO_BLOCK,
    PREDICATE,
    R32,
    R64,
    SINK,
    Block,
    Function,
    Instruction,
    Parameter,
    Program,
    Site,
    Special,
    write_program,
)

_BASE = 0x2000_0000_0000
_STRIDE = 1 << 32
_CODES = {"r": "I", "R": "Q", "p": "I"}
_SIZES = {"r": 4, "R": 8, "p": 4}


class _Kernel:
    """Assembles the function; slot 0 holds the thread's number."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.instructions: list[Instruction] = []
        self.slots = {R32: 1, R64: 0, PREDICATE: 0}
        self.constants: list[int] = []

    def slot(self, kind: int) -> int:
        self.slots[kind] += 1
        return kind << KIND_SHIFT | (self.slots[kind] - 1)

    def constant(self, number: int) -> int:
        self.constants.append(number & 0xFFFFFFFF)
        return CONSTANT32 << KIND_SHIFT | (len(self.constants) - 1)

    def emit(self, name: str, *operands: int, immediate: int = 0) -> None:
        if name not in self.names:
            self.names.append(name)
        self.instructions.append(Instruction(self.names.index(name), 0, 0, list(operands), immediate))

    def address(self, parameter: int, size: int) -> int:
        base, offset, address = self.slot(R64), self.slot(R64), self.slot(R64)
        self.emit("ld.param.b64", base, immediate=8 * parameter)
        self.emit("mul.wide.u32", offset, R32 << KIND_SHIFT, self.constant(size))
        self.emit("add.b64", address, base, offset)
        return address

    def load(self, letter: str, parameter: int) -> int:
        register = self.slot(R64 if letter == "R" else R32)
        self.emit(f"ld.global.b{8 * _SIZES[letter]}", register, self.address(parameter, _SIZES[letter]))
        if letter != "p":
            return register
        predicate = self.slot(PREDICATE)
        self.emit("setp.ne.b32", predicate, SINK, register, self.constant(0))
        return predicate

    def store(self, letter: str, register: int, parameter: int) -> None:
        if letter == "p":
            number = self.slot(R32)
            self.emit("selp.b32", number, self.constant(1), self.constant(0), register)
            register = number
        self.emit(f"st.global.b{8 * _SIZES[letter]}", self.address(parameter, _SIZES[letter]), register)


def _program(kernel: _Kernel, parameters: int) -> Program:
    kernel.emit("ret")
    function = Function(
        name="kernel", flags=ENTRY, n32=kernel.slots[R32], n64=kernel.slots[R64], npred=kernel.slots[PREDICATE],
        parameter_bytes=8 * parameters, parameters=[Parameter(8 * i, 8, 8) for i in range(parameters)],
        shared_bytes=0, shared=[], local_bytes=0, result_bytes=0, argument_bytes=0, returned_bytes=0,
        constants32=kernel.constants, constants64=[], specials=[Special("tid.x", 0)],
        blocks=[Block(0, len(kernel.instructions), NO_BLOCK)], instructions=kernel.instructions,
    )  # fmt: skip
    return Program(80, kernel.names, [Site(0, "", 0, "")], [], [function])


def run(
    directory: Path, operation: str, results: str, sources: str, values: Sequence[Sequence[int]], immediate: int = 0
) -> list[tuple[int, ...]]:
    """`values` holds one tuple of operands a thread; returns one tuple of results a thread."""
    kernel = _Kernel()
    operands = [kernel.load(letter, i) for i, letter in enumerate(sources)]
    registers = [kernel.slot({"r": R32, "R": R64, "p": PREDICATE}[letter]) for letter in results]
    kernel.emit(operation, *registers, *operands, immediate=immediate)
    for i, (letter, register) in enumerate(zip(results, registers, strict=True)):
        kernel.store(letter, register, len(sources) + i)
    path = directory / "program.simt"
    write_program(_program(kernel, len(sources) + len(results)), path)
    machine = Machine(path)
    out: list[tuple[int, ...]] = []
    for start in range(0, len(values), 1024):
        out += _batch(machine, results, sources, values[start : start + 1024])
    return out


def _batch(machine: Machine, results: str, sources: str, values: Sequence[Sequence[int]]) -> list[tuple[int, ...]]:
    machine.remove_buffers()
    count = len(values)
    kept = []
    for i, letter in enumerate(sources + results):
        column = [row[i] for row in values] if i < len(sources) else [0] * count
        memory = ctypes.create_string_buffer(struct.pack(f"<{count}{_CODES[letter]}", *column), count * _SIZES[letter])
        kept.append(memory)
        machine.add_buffer(
            f"operand {i}", _BASE + i * _STRIDE, len(memory), ctypes.addressof(memory), initialised=True, writable=True
        )
    parameters = struct.pack(f"<{len(kept)}Q", *(_BASE + i * _STRIDE for i in range(len(kept))))
    machine.launch(
        "kernel", (1, 1, 1), (count, 1, 1), 0, parameters,
        order="forward", seed=0, workers=1, warp_budget=0, launch_budget=0,
    )  # fmt: skip
    faults = [finding for report in machine.report() for finding in report["findings"]]
    assert not faults, faults
    columns = [
        struct.unpack(f"<{count}{_CODES[letter]}", kept[len(sources) + i].raw) for i, letter in enumerate(results)
    ]
    return list(zip(*columns, strict=True))
