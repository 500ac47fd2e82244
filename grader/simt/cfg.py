"""Basic blocks and their order.

Blocks are numbered so that the scheduler, which always runs the lanes whose block number is smallest, brings
diverged lanes together where the branches join: every block comes after those that lead to it, back edges apart,
and the blocks of a loop are contiguous, so that lanes which leave a loop early wait behind it for the others.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from grader.simt.code import Op

NOWHERE = -1
_DEEPEST_NEST = 32  # loops inside loops; code that nests deeper is ordered without regard to its inner loops


@dataclass(slots=True)
class CodeBlock:
    """Operations, of which only the last may branch, and the block that follows where none does (or NOWHERE).

    `jump` is the unconditional branch that became `next`.
    """

    ops: list[Op] = field(default_factory=list)
    next: int = NOWHERE
    jump: Op | None = None

    def successors(self) -> list[int]:
        """Blocks that lanes may go to: the branch's targets, then the next one."""
        targets = list(self.ops[-1].targets) if self.ops else []
        if self.next != NOWHERE:
            targets.append(self.next)
        return targets


def build_blocks(ops: list[Op], starts: list[int]) -> list[CodeBlock]:
    """Splits a function's operations, of which there is at least one, into ordered blocks.

    `starts` gives the number of the first operation of each PTX instruction, which is what `Op.targets` holds; it
    has one entry more, for a label at the end. The targets become block numbers.
    """
    leaders = {0} | {starts[target] for op in ops for target in op.targets}
    if len(ops) in leaders or not ops[-1].leaves:
        ops = [*ops, Op("ret", [], [], 0, 0, ops[-1].site, ops[-1].line, effect=True)]
    leaders.update(number + 1 for number, op in enumerate(ops) if op.ends_block)
    leaders.discard(len(ops))
    ordered = sorted(leaders)
    number_of = {leader: number for number, leader in enumerate(ordered)}
    blocks = []
    for number, (first, end) in enumerate(zip(ordered, [*ordered[1:], len(ops)], strict=True)):
        block = CodeBlock(ops[first:end], number + 1)
        last = block.ops[-1]
        last.targets = [number_of[starts[target]] for target in last.targets]
        if last.leaves:
            block.next = NOWHERE
        if last.leaves and last.name == "bra":
            block.next = last.targets[0]
            block.jump = block.ops.pop()
        blocks.append(block)
    return simplify(blocks)


def simplify(blocks: list[CodeBlock]) -> list[CodeBlock]:
    """The same code in final order, block 0 first, without code that no lane reaches and without empty blocks.

    What remains empty: block 0, where it only leads to a loop. A loop always holds an operation, so that whoever
    counts operations sees it turn.
    """
    _thread_jumps(blocks)
    _merge(blocks)
    return _renumbered(blocks, loop_order([block.successors() for block in blocks]))


def _thread_jumps(blocks: list[CodeBlock]) -> None:
    """Sends whoever goes to an empty block on to where that one leads; an empty endless loop keeps its jump."""
    final: dict[int, int] = {}
    for start in range(len(blocks)):
        path: dict[int, None] = {}
        at = start
        while at not in final and at not in path and not blocks[at].ops:
            path[at] = None
            at = blocks[at].next
        if at in path:
            jump = blocks[at].jump or Op("bra", [], [], 0, 0, 0, 0, effect=True)
            jump.targets = [at]
            blocks[at].ops, blocks[at].next = [jump], NOWHERE
        final.setdefault(at, at)
        final.update(dict.fromkeys(path, final[at]))
    for block in blocks:
        if block.next != NOWHERE:
            block.next = final[block.next]
        if block.ops:
            block.ops[-1].targets = [final[target] for target in block.ops[-1].targets]


def _merge(blocks: list[CodeBlock]) -> None:
    """Joins a block to the next where nothing else leads there and no lane waits in between."""
    arrivals = [0] * len(blocks)
    arrivals[0] = 1
    reached = _reachable([block.successors() for block in blocks])
    for number in reached:
        for successor in blocks[number].successors():
            arrivals[successor] += 1
    for number in sorted(reached):
        block = blocks[number]
        while (
            (following := block.next) not in (NOWHERE, number)
            and arrivals[following] == 1
            and not (block.ops and block.ops[-1].ends_block)
        ):
            joined = blocks[following]
            block.ops, block.next, block.jump = block.ops + joined.ops, joined.next, joined.jump
            blocks[following] = CodeBlock()
            arrivals[following] = 0


def _reachable(successors: list[list[int]]) -> set[int]:
    seen = {0}
    todo = [0]
    while todo:
        for successor in successors[todo.pop()]:
            if successor not in seen:
                seen.add(successor)
                todo.append(successor)
    return seen


def _renumbered(blocks: list[CodeBlock], order: list[int]) -> list[CodeBlock]:
    number_of = {old: new for new, old in enumerate(order)}
    ordered = [blocks[old] for old in order]
    for block in ordered:
        if block.next != NOWHERE:
            block.next = number_of[block.next]
        if block.ops:
            block.ops[-1].targets = [number_of[target] for target in block.ops[-1].targets]
    return ordered


def loop_order(successors: list[list[int]]) -> list[int]:
    """The nodes reachable from node 0 in topological order, back edges apart, every loop contiguous.

    A loop is a strongly connected component; its header is the node through which it is entered first, and inside
    it, edges to the header count as back edges, which leaves the loops nested in it. That holds for loops with
    several entries too.
    """
    order: list[int] = []
    # Regions still to be ordered, the next one last: nodes, where to begin, how deep.
    todo: list[tuple[list[int], int, int]] = [(sorted(_reachable(successors)), 0, 0)]
    while todo:
        nodes, start, depth = todo.pop()
        if len(nodes) == 1:
            order.append(start)
            continue
        components = _components(successors, set(nodes), start, is_loop=depth > 0)
        if depth == _DEEPEST_NEST:
            order += [node for component in components for node in component]
            continue
        todo += [(component, component[0], depth + 1) for component in reversed(components)]
    return order


def _components(successors: list[list[int]], nodes: set[int], start: int, is_loop: bool) -> list[list[int]]:
    """Strongly connected components of a region, in topological order, each with its header first.

    In a loop, edges back to `start` are left out. (Tarjan's algorithm, without recursion; what it finds last comes
    first, and a component's first visited node is where it is entered.)
    """
    index: dict[int, int] = {start: 0}
    low: dict[int, int] = {start: 0}
    stack = [start]
    open_nodes = {start}
    found: list[list[int]] = []
    work: list[tuple[int, Iterable[int]]] = [(start, iter(successors[start]))]
    while work:
        node, edges = work[-1]
        for successor in edges:
            if successor not in nodes or (is_loop and successor == start):
                continue
            if successor not in index:
                index[successor] = low[successor] = len(index)
                stack.append(successor)
                open_nodes.add(successor)
                work.append((successor, iter(successors[successor])))
                break
            if successor in open_nodes:
                low[node] = min(low[node], index[successor])
        else:
            work.pop()
            if work:
                parent = work[-1][0]
                low[parent] = min(low[parent], low[node])
            if low[node] == index[node]:
                component = [stack.pop()]
                while component[-1] != node:
                    component.append(stack.pop())
                component.reverse()
                open_nodes.difference_update(component)
                found.append(component)
    found.reverse()
    return found
