"""The small mistakes that can be made in a source, from its syntax tree."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.mutants.judged import changes_nothing
from tests.mutants.measured import measured
from tests.mutants.reach import ROOMS, ROOT

_OPPOSITE: dict[type[ast.AST], type[ast.AST]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv, ast.And: ast.Or, ast.Or: ast.And,
}  # fmt: skip
_COMPARED: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.GtE), ast.LtE: (ast.Lt, ast.Gt), ast.Gt: (ast.GtE, ast.LtE), ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,), ast.NotEq: (ast.Eq,), ast.Is: (ast.IsNot,), ast.IsNot: (ast.Is,), ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}  # fmt: skip
# Of measured numbers, whose edges nothing meets but by chance.
_REVERSED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.Gt, ast.LtE: ast.GtE, ast.Gt: ast.Lt, ast.GtE: ast.LtE,
}  # fmt: skip
_SWAPPED = {"min": "max", "max": "min", "any": "all", "all": "any", "sin": "cos", "cos": "sin"}
_UNWRAPPED = {"abs", "sqrt", "sorted"}  # a call of one argument that is dropped
# Below this size [-] a number is a tolerance or keeps off a division by zero: twice as large, it says the same.
_TOLERANCE = 1e-6
_KEEPING = {"cache", "lru_cache", "cached_property"}
# What says something to people or to type checkers is no mechanics.
_SILENT = {"cast", "TypeVar", "SimulationError", "RecordingError", "RenderError", "ValueError", "TypeError", "Problem"}


@dataclass(frozen=True)
class Mutant:
    """One mistake: `before`, at an offset of a file [bytes], becomes `after`.

    first, last : lines of the statement; inside : whether it is in a function, whose lines tell which tests run it;
    lines of one whose result is kept run for the first that asks only
    """

    file: str
    line: int
    first: int
    last: int
    inside: bool
    kind: str
    at: int
    before: str
    after: str

    @property
    def room(self) -> str:
        """The package, or the folder at the top."""
        return "/".join(Path(self.file).parent.parts[:2])

    def made_in(self, source: bytes) -> bytes:
        """Return the source with the mistake."""
        end = self.at + len(self.before.encode())
        return source[: self.at] + self.after.encode() + source[end:]

    @property
    def change(self) -> tuple[str, str]:
        """What is replaced by what, on one line."""
        before, after = (" ".join(text.split()) for text in (self.before, self.after))
        return before, after

    def __str__(self) -> str:
        before, after = self.change
        return f"{self.file}:{self.line}: {self.kind}: {before}  ->  {after}"


def sources(place: str | None = None) -> list[str]:
    """Return the files of all rooms, or those below a place, relative to the root."""
    files = sorted(str(path.relative_to(ROOT)) for room in ROOMS for path in (ROOT / room).rglob("*.py"))
    return [file for file in files if place is None or file == place or file.startswith(place.rstrip("/") + "/")]


def mutants_of(file: str, judged: bool = False) -> list[Mutant]:
    """Return every mistake that can be made in a file, with or without those that are known to change nothing."""
    text = (ROOT / file).read_text()
    lines = text.splitlines()
    found = _Finder(file, text).found()
    return [m for m in found if judged or not changes_nothing(file, lines[m.line - 1].strip(), *m.change)]


class _Finder:
    """Walks a syntax tree and keeps where it is."""

    def __init__(self, file: str, text: str):
        self.file, self.text = file, text
        self.starts = [0]
        for line in text.encode().splitlines(keepends=True):
            self.starts.append(self.starts[-1] + len(line))

    def found(self) -> Iterator[Mutant]:
        tree = ast.parse(self.text)
        self.measured = measured(self.file, tree)
        yield from self._in_body(tree.body, inside=False)

    def _in_body(self, body: list[ast.stmt], inside: bool) -> Iterator[Mutant]:
        for statement in body:
            if isinstance(statement, (ast.Import, ast.ImportFrom, ast.Raise, ast.Assert, ast.Global, ast.Pass)):
                continue
            if isinstance(statement, ast.If) and ast.unparse(statement.test) == "TYPE_CHECKING":
                continue
            if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
                yield from self._in_body(statement.body, inside=not _is_kept(statement))
            elif isinstance(statement, ast.ClassDef):
                yield from self._in_body(statement.body, inside)
            else:
                yield from self._in_statement(statement, inside)

    def _in_statement(self, statement: ast.stmt, inside: bool) -> Iterator[Mutant]:
        head = statement
        bodies = [getattr(statement, name, []) for name in ("body", "orelse", "finalbody")]
        last = statement.end_lineno or statement.lineno
        if any(bodies):
            first = next(part[0] for part in bodies if part)
            last = max(statement.lineno, first.lineno - 1)
        for node in _expressions(head):
            for kind, after in _mistakes(node, self.measured):
                yield self._mutant(node, kind, after, (statement.lineno, last), inside)
        if isinstance(statement, ast.AugAssign) and type(statement.op) in _OPPOSITE:
            other = _other(statement, op=_OPPOSITE[type(statement.op)]())
            yield self._mutant(statement, "sign" if _is_sum(statement.op) else "product", other, None, inside)
        if _may_be_dropped(statement):
            yield self._mutant(statement, "dropped", "pass", None, inside)
        for part in bodies:
            yield from self._in_body(part, inside)
        for handler in getattr(statement, "handlers", []):
            yield from self._in_body(handler.body, inside)
        for case in getattr(statement, "cases", []):
            yield from self._in_body(case.body, inside)

    def _mutant(
        self, node: ast.expr | ast.stmt, kind: str, after: str, lines: tuple[int, int] | None, inside: bool
    ) -> Mutant:
        at = self.starts[node.lineno - 1] + node.col_offset
        end = self.starts[(node.end_lineno or 0) - 1] + (node.end_col_offset or 0)
        before = self.text.encode()[at:end].decode()
        first, last = lines or (node.lineno, node.end_lineno or node.lineno)
        return Mutant(self.file, node.lineno, first, last, inside, kind, at, before, after)


def _expressions(statement: ast.stmt) -> Iterator[ast.expr]:
    """Every expression of a statement, not those of what is nested in it, of annotations, or of what people read."""
    stack: list[ast.AST] = [
        child
        for name, field in ast.iter_fields(statement)
        if name not in ("body", "orelse", "finalbody", "handlers", "cases", "annotation", "type_comment")
        for child in (field if isinstance(field, list) else [field])
        if isinstance(child, ast.AST)
    ]
    while stack:
        node = stack.pop()
        if isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Call) and _name(node.func) in _SILENT):
            continue
        if isinstance(node, ast.keyword) and node.arg == "strict":  # lengths that are equal anyway
            continue
        if isinstance(node, ast.expr):
            yield node
        # A length below zero is the one that fits, whatever the number.
        fits = isinstance(node, ast.Call) and _name(node.func) == "reshape"
        stack.extend(n for n in ast.iter_child_nodes(node) if not (fits and isinstance(n, ast.UnaryOp)))


def _is_kept(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Tell whether what a function returns is kept, so that it runs once, whoever asks for it."""
    names = (ast.unparse(one).partition("(")[0].rpartition(".")[2] for one in function.decorator_list)
    return any(name in _KEEPING for name in names)


def _mistakes(node: ast.expr, measured: Callable[[ast.Compare, int], bool]) -> Iterator[tuple[str, str]]:
    """Kind of mistake, and the text that stands there then.

    measured : tells of the k-th comparison of a chain whether it is of measured numbers
    """
    if isinstance(node, ast.BinOp) and type(node.op) in _OPPOSITE and not _is_text(node):
        kind = "sign" if _is_sum(node.op) else "product"
        yield kind, f"({_other(node, op=_OPPOSITE[type(node.op)]())})"
        if _is_sum(node.op):
            yield "dropped", f"({ast.unparse(node.left)})"
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.Not)):
        yield ("sign" if isinstance(node.op, ast.USub) else "comparison"), f"({ast.unparse(node.operand)})"
    elif isinstance(node, ast.BoolOp):
        yield "comparison", f"({_other(node, op=_OPPOSITE[type(node.op)]())})"
        yield "dropped", f"({ast.unparse(_other_values(node))})"
    elif isinstance(node, ast.Compare):
        for k, operator in enumerate(map(type, node.ops)):
            alone = operator in _REVERSED and measured(node, k)
            for other in (_REVERSED[operator],) if alone else _COMPARED[operator]:
                yield "comparison", f"({_other(node, ops=[*node.ops[:k], other(), *node.ops[k + 1 :]])})"
    elif isinstance(node, ast.Call):
        yield from _mistaken_call(node)
    elif isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant) and type(node.slice.value) is int:
        value = node.slice.value
        yield "index", _other(node, slice=ast.Constant(value - 1 if value > 0 else value + 1))
    elif isinstance(node, ast.Constant):
        yield from _mistaken_constant(node)
    elif isinstance(node, ast.IfExp):
        yield "comparison", f"({_other(node, body=node.orelse, orelse=node.body)})"


def _mistaken_call(node: ast.Call) -> Iterator[tuple[str, str]]:
    name = _name(node.func)
    if name == "range" and node.args:
        yield "bound", _other(node, args=[*node.args[:-1], _less_one(node.args[-1])] if len(node.args) < 3 else [])
        if len(node.args) == 2:
            yield "bound", f"range({ast.unparse(node.args[0])} + 1, {ast.unparse(node.args[1])})"
    elif name in _SWAPPED:
        yield "swapped", _SWAPPED[name].join(ast.unparse(node).split(name, 1))
    elif name in _UNWRAPPED and len(node.args) == 1 and not node.keywords:
        yield "dropped", f"({ast.unparse(node.args[0])})"


def _mistaken_constant(node: ast.Constant) -> Iterator[tuple[str, str]]:
    value = node.value
    if type(value) is bool:
        yield "constant", str(not value)
    elif type(value) is int:
        yield "constant", str(value + 1)
    elif type(value) is float and value != 0.0:
        yield "constant", repr((2.0 if abs(value) > _TOLERANCE else 1000.0) * value)
    elif type(value) is float:
        yield "constant", "1.0"


def _less_one(node: ast.expr) -> ast.expr:
    return ast.BinOp(node, ast.Sub(), ast.Constant(1))


def _other(node: ast.AST, **fields: object) -> str:
    """Text of a node with other fields."""
    kept = {name: value for name, value in ast.iter_fields(node)}
    return ast.unparse(ast.fix_missing_locations(type(node)(**{**kept, **fields})))


def _other_values(node: ast.BoolOp) -> ast.expr:
    """Return the condition without its last part."""
    rest = node.values[:-1]
    return rest[0] if len(rest) == 1 else ast.BoolOp(node.op, rest)


def _is_sum(operator: ast.operator) -> bool:
    return isinstance(operator, (ast.Add, ast.Sub))


def _is_text(node: ast.BinOp) -> bool:
    """Tell whether a sum, or a remainder, is one of texts."""
    sides = (node.left, node.right)
    return any(isinstance(s, ast.JoinedStr) or (isinstance(s, ast.Constant) and type(s.value) is str) for s in sides)


def _may_be_dropped(statement: ast.stmt) -> bool:
    """Tell whether a statement does something and gives no name to it."""
    if isinstance(statement, ast.Expr):
        return isinstance(statement.value, ast.Call) and _name(statement.value.func) not in _SILENT
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    if isinstance(statement, ast.AugAssign):
        targets = [statement.target]
    return bool(targets) and all(isinstance(t, (ast.Subscript, ast.Attribute)) for t in targets)


def _name(function: ast.expr) -> str:
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""
