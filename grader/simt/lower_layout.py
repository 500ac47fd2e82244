"""Where parameters, shared and local variables lie, and how variables and functions are numbered."""

from __future__ import annotations

from collections.abc import Iterable

from grader.simt import ptx
from grader.simt.program import Parameter, SharedVariable

SHARED_GUARD = 256  # bytes that no variable owns, behind each shared variable: an index past its end lands there
_BANK_ROW = 128  # shared addresses that agree modulo this lie in the same bank
_LARGEST_SHARED = 1 << 24


def aligned(offset: int, align: int) -> int:
    return -(-offset // max(align, 1)) * max(align, 1)


def block_layout(variables: Iterable[ptx.Variable]) -> tuple[list[Parameter], int]:
    """Parameters one after the other, each at the next multiple of its alignment; and the bytes they take."""
    made: list[Parameter] = []
    end = 0
    for variable in variables:
        offset = aligned(end, variable.align)
        made.append(Parameter(offset, variable.size, variable.align))
        end = offset + variable.size
    return made, end


class SharedLayout:
    """Places shared variables with guards between them.

    Without the guards they would lie as ptxas puts them: in order of declaration at their alignment, dynamic memory
    last (read off the machine code of ptxas 13.0.88). Each keeps its address modulo 128, so that bank conflicts stay
    what they are.
    """

    def __init__(self) -> None:
        self.variables: list[SharedVariable] = []
        self.offsets: dict[int, int] = {}  # id of the ptx.Variable -> offset
        self.end = 0
        self._compact_end = 0

    def copy(self) -> SharedLayout:
        layout = SharedLayout()
        layout.variables, layout.offsets = list(self.variables), dict(self.offsets)
        layout.end, layout._compact_end = self.end, self._compact_end
        return layout

    def add(self, variable: ptx.Variable) -> None:
        if id(variable) in self.offsets:
            return
        compact = aligned(self._compact_end, variable.align)
        offset = aligned(self.end + (compact - self.end) % _BANK_ROW, variable.align)
        if offset + variable.size > _LARGEST_SHARED:
            raise ptx.PtxError(variable.line, variable.name, "there is more shared memory than any GPU has")
        self.offsets[id(variable)] = offset
        self.variables.append(SharedVariable(variable.name, offset, variable.size, variable.align))
        self.end = offset + variable.size + SHARED_GUARD
        self._compact_end = compact + variable.size

    def add_dynamic(self, variables: list[ptx.Variable]) -> None:
        """Puts dynamic shared memory last: all `extern __shared__` arrays, at least one, start at the same place."""
        align = max(variable.align for variable in variables)
        compact = aligned(self._compact_end, align)
        self.end = aligned(self.end + (compact - self.end) % _BANK_ROW, align)
        self.offsets.update((id(variable), self.end) for variable in variables)
        self.variables.append(SharedVariable(variables[0].name, self.end, 0, align))


class Layout:
    """Numbers for the whole module: variables in global and constant memory, functions, shared memory by kernel."""

    def __init__(self, module: ptx.Module) -> None:
        self.module = module
        self.defined = [function for function in module.functions.values() if function.body is not None]
        self.function_index = {function.name: number for number, function in enumerate(self.defined)}
        self.in_memory = [item for item in module.variables.values() if item.space in ("global", "const")]
        for function in self.defined:
            if function.body is not None:
                self.in_memory += [item for item in function.body.variables if item.space in ("global", "const")]
        self.variable_index = {id(variable): number for number, variable in enumerate(self.in_memory)}
        self._used = {function.name: _used(function) for function in self.defined}
        self._called_layout = SharedLayout()  # of shared variables that called functions use: the same in every kernel
        for function in self.defined:
            if not function.entry:
                for variable in self._used[function.name].shared:
                    if not is_dynamic(variable):
                        self._called_layout.add(variable)

    def shared(self, function: ptx.Function) -> SharedLayout:
        """The shared memory of a kernel, or of what a called function can see."""
        used = [self._used[name] for name in self._reachable(function) if name in self._used]
        called = used[1:] if function.entry else used
        layout = self._called_layout.copy() if any(item.shared for item in called) else SharedLayout()
        body = function.body
        own = [item for item in body.variables if item.space == "shared"] if body is not None else []
        for variable in [*own, *used[0].shared]:
            if not is_dynamic(variable):
                layout.add(variable)
        dynamic = [variable for item in used for variable in item.shared if is_dynamic(variable)]
        if function.entry and dynamic:
            layout.add_dynamic(dynamic)
        return layout

    def _reachable(self, function: ptx.Function) -> list[str]:
        """The function and those it may call, directly or not."""
        seen = {function.name: None}
        todo = [function.name]
        while todo:
            used = self._used.get(todo.pop())
            if used is not None:
                following = self.function_index if used.calls_anything else used.functions
                todo += [name for name in following if name not in seen]
                seen.update(dict.fromkeys(following))
        return list(seen)


def is_dynamic(variable: ptx.Variable) -> bool:
    return variable.count is None or variable.external


class _Used:
    """What a function's instructions name."""

    def __init__(self) -> None:
        self.shared: list[ptx.Variable] = []
        self.functions: list[str] = []
        self.calls_anything = False


def _used(function: ptx.Function) -> _Used:
    used = _Used()
    seen: set[int] = set()
    for instruction in function.body.instructions if function.body is not None else ():
        if instruction.opcode.partition(".")[0] == "call":
            used.calls_anything |= not isinstance(instruction.operands[1], ptx.FunctionName)
        for operand in instruction.operands:
            base = operand.base if isinstance(operand, ptx.Address) else operand
            if isinstance(base, ptx.FunctionName):
                used.functions.append(base.name)
            elif isinstance(base, ptx.Symbol) and base.variable.space == "shared" and id(base.variable) not in seen:
                seen.add(id(base.variable))
                used.shared.append(base.variable)
    return used
