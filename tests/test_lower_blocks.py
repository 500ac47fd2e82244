"""Blocks: where they end, and an order in which diverged lanes meet again as early as they can."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from grader.simt.cfg import loop_order
from grader.simt.lower import lower
from grader.simt.program import NO_BLOCK, Function, Program
from grader.simt.ptx import PtxError
from tests.ptx_snippets import FIXTURES, kernel, lowered, texts

Graph = list[list[int]]


def program_graph(program: Program, function: Function) -> Graph:
    graph = []
    for block in function.blocks:
        last = function.instructions[block.first + block.count - 1] if block.count else None
        successors = [last.immediate] if last is not None and program.op_names[last.op] == "bra" else []
        graph.append(successors + ([block.next] if block.next != NO_BLOCK else []))
    return graph


def renumbered(graph: Graph) -> Graph:
    """The nodes that can be reached, by their place in the order."""
    order = loop_order(graph)
    place = {node: position for position, node in enumerate(order)}
    return [[place[successor] for successor in graph[node]] for node in order]


def loops(graph: Graph) -> list[set[int]]:
    """The body of every loop: a header and what gets back to it by nodes above the header, by back edges."""
    predecessors: list[list[int]] = [[] for _ in graph]
    for node, successors in enumerate(graph):
        for successor in successors:
            predecessors[successor].append(node)
    bodies: dict[int, set[int]] = {}
    for node, successors in enumerate(graph):
        for header in successors:
            if header <= node:
                body = bodies.setdefault(header, {header})
                todo = [node]
                while todo:
                    at = todo.pop()
                    if at not in body and at > header:
                        body.add(at)
                        todo += predecessors[at]
    return list(bodies.values())


def assert_contiguous(graph: Graph) -> None:
    for body in loops(graph):
        assert body == set(range(min(body), max(body) + 1)), f"the loop {sorted(body)} has gaps"


@pytest.mark.parametrize("path", sorted(FIXTURES.glob("*.ptx")), ids=lambda path: path.stem)
def test_loops_of_real_kernels_are_contiguous(path: Path) -> None:
    program = lower(path.read_text(), "x.cu")
    for function in program.functions:
        assert_contiguous(program_graph(program, function))


def test_both_sides_of_a_branch_come_before_the_join() -> None:
    assert loop_order([[1, 2], [3], [3], []]) == [0, 2, 1, 3]


def test_a_loop_comes_before_what_follows_it_however_early_lanes_leave() -> None:
    # 0 -> 1 (header) -> 2 -> 3 -> 1; left from 1 to 4, from 2 by an early return 5.
    order = loop_order([[1], [4, 2], [5, 3], [1], [], []])
    assert order[:4] == [0, 1, 2, 3]
    assert sorted(order[4:]) == [4, 5]


def test_nested_loops_with_break_and_continue_stay_together() -> None:
    # 1 outer header, 2 inner header, 3 inner body, 4 inner latch, 5 outer latch, 6 after; 3 breaks to 5, continues to 4
    # and 1 continues to 5.
    graph = [[1], [6, 5, 2], [5, 3], [5, 4], [2], [1], []]
    made = renumbered(graph)
    assert_contiguous(made)
    assert loop_order(graph)[-1] == 6


def test_a_loop_with_two_entries_is_ordered_too() -> None:
    order = loop_order([[1, 2], [2, 3], [1], []])
    assert sorted(order) == [0, 1, 2, 3]
    assert order[-1] == 3


@pytest.mark.parametrize("seed", range(40))
def test_any_graph_is_ordered_with_its_nodes_once(seed: int) -> None:
    rng = random.Random(seed)
    size = rng.randint(1, 30)
    graph = [[rng.randrange(size) for _ in range(rng.choice([0, 1, 1, 2, 2, 3]))] for _ in range(size)]
    order = loop_order(graph)
    reachable = {0}
    todo = [0]
    while todo:
        for successor in graph[todo.pop()]:
            if successor not in reachable:
                reachable.add(successor)
                todo.append(successor)
    assert sorted(order) == sorted(reachable)
    assert order[0] == 0


def test_a_straight_line_is_one_block_whatever_labels_it_has() -> None:
    assert lowered("A: st.global.u32 [1024], 1; bra B; C: ret; B: st.global.u32 [1024], 2; bra C;") == [
        ["st.global.b32 0x400l, 0x1", "st.global.b32 0x400l, 0x2", "ret"]
    ]


def test_a_branch_around_a_store_makes_three_blocks() -> None:
    body = "ld.param.u32 %r1, [a]; setp.gt.s32 %p1, %r1, 3; @%p1 bra DONE; st.global.u32 [1024], 1; DONE: ret;"
    assert lowered(body) == [
        ["ld.param.b32 r0", "setp.gt.s32 p0, _, r0, 0x3", "@p0 bra block 2"],
        ["st.global.b32 0x400l, 0x1"],
        ["ret"],
    ]


def test_a_pair_of_jumps_needs_no_block_between() -> None:
    body = (
        "ld.param.u32 %r1, [a]; setp.gt.s32 %p1, %r1, 3; @%p1 bra A; bra.uni B;"
        "A: st.global.u32 [1024], 1; B: st.global.u32 [1024], 2; ret;"
    )
    assert [len(block) for block in lowered(body)] == [3, 1, 2]


@pytest.mark.parametrize(
    "waits",
    ["bar.sync 0;", "bar.warp.sync -1;", "shfl.sync.idx.b32 %r1, 5, 0, 31, -1;", "vote.sync.any.pred %p1, 1, -1;"],
)
def test_lanes_wait_at_the_end_of_a_block(waits: str) -> None:
    made = lowered(f"st.global.u32 [1024], 1; {waits} st.global.u32 [1024], 2; ret;")
    assert [len(block) for block in made] == [2, 2]


def test_code_that_no_lane_reaches_is_dropped() -> None:
    assert lowered("bra END; st.global.u32 [1024], 1; trap; END: ret;") == [["ret"]]


def test_an_endless_loop_keeps_an_instruction() -> None:
    assert lowered("HERE: bra HERE;") == [["bra block 0"]]
    assert lowered("A: bra B; B: bra A;") == [["bra block 0"]]
    assert lowered("A: mov.u32 %r1, 5; bra A;") == [["bra block 0"]]


def test_a_function_that_ends_without_a_return_returns() -> None:
    assert lowered("st.global.u32 [1024], 1;") == [["st.global.b32 0x400l, 0x1", "ret"]]
    assert lowered("") == [["ret"]]
    assert lowered("ld.param.u32 %r1, [a]; setp.eq.s32 %p1, %r1, 0; @%p1 bra END; trap; END:")[-1] == ["ret"]


def test_guarded_returns_go_on_for_the_others() -> None:
    body = "ld.param.u32 %r1, [a]; setp.gt.s32 %p1, %r1, 3; @%p1 ret; st.global.u32 [1024], 1; ret;"
    assert [block[-1] for block in lowered(body)] == ["@p0 ret", "ret"]


def test_an_indexed_branch_names_its_blocks() -> None:
    body = (
        "ld.param.u32 %r1, [a]; T: .branchtargets A, B, A; brx.idx %r1, T;"
        "A: st.global.u32 [1024], 1; ret; B: st.global.u32 [1024], 2; ret;"
    )
    program = lower(kernel(body), "k.cu")
    blocks = texts(program, program.functions[0])
    assert blocks[0][-1].startswith("brx r0, ")
    targets = [int(item, 16) for item in blocks[0][-1].split(", ")[1:]]
    assert [blocks[target][0][-1] for target in targets] == ["1", "2", "1"]


def test_a_dense_maze_of_jumps_is_lowered_in_reasonable_time() -> None:
    count = 300
    jumps = "".join(
        f"L{n}: @%p{n % 9 + 1} bra L{(n * 7 + 3) % count}; @%p{n % 5 + 1} bra L{(n * 11 + 5) % count};\n"
        for n in range(count)
    )
    program = lower(kernel(jumps + "ret;"), "k.cu")
    assert len(program.functions[0].blocks) > count


def test_jumps_that_no_compiler_writes_are_refused_rather_than_followed_forever() -> None:
    names = ".reg .b32 %q<1000>;"
    steps = "".join(f"L{n}: add.s32 %q{n}, %q{(n + 1) % 900}, 1; @%p1 bra L{max(0, n - 1)};\n" for n in range(900))
    with pytest.raises(PtxError, match="too tangled"):
        lower(kernel(f"{names}{steps} st.global.u32 [1024], %q450; ret;"), "k.cu")
