"""PTX text to `ptx.Module`: the directives of a module; `ptx_body` reads the code between a function's braces."""

from __future__ import annotations

from grader.simt.ptx import Function, Module, PtxError, Symbol, Variable
from grader.simt.ptx_body import BodyReader
from grader.simt.ptx_declarations import STATE_SPACES, Declarations
from grader.simt.ptx_tokens import END, tokenise

_LINKING = frozenset({".visible", ".extern", ".weak", ".common"})


def read_ptx(text: str) -> Module:
    """Reads a module. Raises PtxError, with the line, for a text that is not PTX as far as this reader knows it."""
    return _ModuleReader(text).read()


class _ModuleReader(Declarations):
    def __init__(self, text: str) -> None:
        super().__init__(tokenise(text))
        self.module = Module(strings=self.tokens.strings)
        self.functions = self.module.functions

    def read(self) -> Module:
        external = False
        while (word := self.words[self.at]) != END:
            if word in STATE_SPACES:
                self._keep(self.variables(external))
            elif word in (".entry", ".func"):
                self._function()
            elif word == ".file":
                self._file()
            elif word in (".version", ".target", ".address_size"):
                self._header()
            elif word in (".pragma", ".alias"):
                self.skip_statement()
            elif word in _LINKING:
                self.at += 1
            else:
                raise self.error("this is no directive of a module")
            external = word == ".extern"
        if not self.module.version or not self.module.target:
            raise PtxError(1, self.tokens.text[0].strip(), "the module has no .version or no .target")
        return self.module

    def _keep(self, variables: list[Variable]) -> None:
        for variable in variables:
            before = self.module.variables.get(variable.name)
            if before is not None and not before.external and not variable.external:
                raise self.error(f"the variable {variable.name} is declared twice", back=1)
            if before is None or before.external:
                self.module.variables[variable.name] = variable

    def _header(self) -> None:
        word, value = self.take(), self.take()
        if word == ".version":
            self.module.version = value
        elif word == ".target":
            digits = value.removeprefix("sm_").rstrip("af")
            if not digits.isdecimal() or len(digits) > 4:
                raise self.error("the target is no sm_ number", back=1)
            self.module.target = int(digits)
            while self.accept(","):
                self.take()
        elif value != "64":
            raise self.error("addresses have 64 bits", back=1)

    def _file(self) -> None:
        self.at += 1
        number, path = self.integer(), self.take()
        if not path.startswith('"'):
            raise self.error("a .file has a number and a name", back=1)
        self.module.files[number] = path[1:-1]
        while self.accept(","):
            self.integer()

    def _function(self) -> None:
        line, entry = self.line(), self.take() == ".entry"
        results = [] if entry else self.parameters()
        name = self.name()
        function = Function(name, entry, results, self.parameters(), line)
        self._performance_directives()
        before = self.module.functions.get(name)
        if before is None or before.body is None:
            self.module.functions[name] = function
        if self.accept(";"):
            return
        if before is not None and before.body is not None:
            raise self.error(f"the function {name} is defined twice")
        self.open_scope()
        for variable in [*results, *function.parameters]:
            self.declare(variable.name, Symbol(variable))
        function.body = BodyReader(self, self.module).read()
        self.close_scope()

    def _performance_directives(self) -> None:
        """`.maxntid 256, 1, 1`, `.noreturn`, `.pragma "…";` and their like, between header and body."""
        while (word := self.words[self.at]).startswith("."):
            self.at += 1
            if word == ".pragma":
                self.skip_statement()
            elif word == ".attribute":
                self.skip_parentheses()
            while self.words[self.at].isdecimal():
                self.at += 1
                self.accept(",")
