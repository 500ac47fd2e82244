"""What the kernels of language.cu make."""

from __future__ import annotations

import struct

import torch

from tests.correct_kernels import Kernels, whole_numbers

kernels = Kernels(__file__)


def from_list(values: list[int]) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.int32)


@kernels.entry(whole_numbers(50, low=0))
def recursion_by_lane(x: torch.Tensor) -> torch.Tensor:
    return from_list([0, 1, 1, 2, 3, 5, 8, 13, 21])[x % 9]


@kernels.entry(whole_numbers(1))
def two_functions_call_each_other(x: torch.Tensor) -> torch.Tensor:
    def even(number: int) -> int:
        return 0 if number <= 1 else 1 + (10 + even(3 * number + 1) if number % 2 else even(number // 2))

    return from_list([even(i + 1) for i in range(30)])


@kernels.entry(whole_numbers(96))
def through_function_pointers(x: torch.Tensor) -> torch.Tensor:
    i = torch.arange(96)

    def chosen(which: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
        return torch.stack([2 * value, value * value, -value]).gather(0, which[None])[0]

    return (chosen(i % 3, x.long()) + chosen(i // 3 % 3, i)).int()


@kernels.entry(whole_numbers(64))
def barriers_in_a_function(x: torch.Tensor) -> torch.Tensor:
    values = x.view(2, 32) * from_list([1, 2])[:, None]
    for _ in range(2):
        values = values.roll(1, 1) + values.roll(-1, 1)
    return values


@kernels.entry(whole_numbers(64))
def virtual_calls(x: torch.Tensor) -> torch.Tensor:
    i = torch.arange(64)
    return (3 * torch.where(i % 2 == 0, x * x, x * i)).int()


@kernels.entry(whole_numbers(64))
def templates_and_lambdas(x: torch.Tensor) -> torch.Tensor:
    i = torch.arange(64)
    k = i % 5
    return (2 * x[(i + k) % 64] + i * k).int()


@kernels.entry(whole_numbers(64))
def structures_by_value(x: torch.Tensor) -> torch.Tensor:
    i = torch.arange(64)
    scaled = (x.double() * 1.5).trunc()
    return -(scaled + from_list([10, 20, 30])[i % 3] + from_list([1, 2, 3])[(i + 1) % 3]).int()


@kernels.entry(whole_numbers(64))
def structures_in_and_out_of_calls(x: torch.Tensor) -> torch.Tensor:
    i = torch.arange(64, dtype=torch.int32)
    place, speed, mass = i, x, 1 + i % 3
    for rounds in (1, 2, 3):
        place = place + speed * rounds
        speed = torch.div(speed, mass, rounding_mode="trunc")
    return place


@kernels.entry(whole_numbers(64))
def constant_tables(x: torch.Tensor) -> torch.Tensor:
    i = torch.arange(64)
    weights, factors = from_list([1, 3, 5, 7, 11, 13, 17, 19]), from_list([100, 200, 300, 400])
    return x * weights[i % 8] + factors[i // 8 % 4] + 19


@kernels.entry(whole_numbers(200))
def counters_of_the_module(x: torch.Tensor) -> torch.Tensor:
    return torch.bincount(x & 3, minlength=4).int() + from_list([70, 80, 90, 70])


@kernels.entry(whole_numbers(256))
def sorted_in_local_memory(x: torch.Tensor) -> torch.Tensor:
    return x.view(32, 8).sort(1).values


def interpreted(program: list[int], i: int) -> int:
    stack = [i]
    for k, number in enumerate(program):
        step = (number + i) % 6
        if step == 0 and len(stack) < 6:
            stack.append(k)
        elif step == 1 and len(stack) > 1:
            stack[-2:] = [stack[-2] + stack[-1]]
        elif step == 2:
            stack[-1] *= 3
        elif step == 3 and stack[-1] > 50:
            stack[-1] -= 50
        elif step == 5:
            stack[0] += 1
        if step != 4:
            stack[-1] ^= 1
    return stack[-1]


@kernels.entry(whole_numbers(12, low=0))
def a_small_interpreter(x: torch.Tensor) -> torch.Tensor:
    return from_list([interpreted(x.tolist(), i) for i in range(64)])


def searched(rows: list[list[int]], wanted: int) -> int:
    for number, row in enumerate(rows):
        for column, value in enumerate(row):
            if value == wanted:
                return number * 8 + column
            if value < -40:
                break
    return -1


@kernels.entry(whole_numbers(64))
def loops_with_two_exits(x: torch.Tensor) -> torch.Tensor:
    return from_list([searched(x.view(8, 8).tolist(), i) for i in range(50)])


@kernels.entry(whole_numbers(64))
def bits_of_floats(x: torch.Tensor) -> torch.Tensor:
    def bits(number: float) -> int:
        return int(struct.unpack("<i", struct.pack("<f", number))[0])

    return from_list([(bits(v) & 0x7FFFFF) + (bits(0.5 * v) >> 23) + v for v in x.tolist()])


@kernels.entry(whole_numbers(64))
def lane_by_assembly(x: torch.Tensor) -> torch.Tensor:
    lane = torch.arange(64, dtype=torch.int32) % 32
    return 2 * x + 2 * lane


@kernels.entry(whole_numbers(32), printed="block 0 of two: 3, 0.75\nblock 1 of two: 19, 4.75\n")
def says_what_it_sees(x: torch.Tensor) -> torch.Tensor:
    return x


@kernels.entry(whole_numbers(64))
def reads_by_ldg(x: torch.Tensor) -> torch.Tensor:
    return (x.view(16, 4) * from_list([1, 2, 3, 4])).sum(1).int() + x[:16]


@kernels.entry(whole_numbers(30))
def every_thread_of_three_dimensions(x: torch.Tensor) -> torch.Tensor:
    return x * 100 + torch.arange(12, dtype=torch.int32)[:, None]
