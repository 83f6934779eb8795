"""Which comparisons are of measured numbers, as far as the text of the sources tells.

A measured number, such as a length or a force that was computed, is exactly another one by chance alone: ``<`` for
``<=`` there changes nothing that can happen.  A number of things may be exactly another one, and so may an instant, and
what people write; a measured number may be exactly zero, one or infinite.  What the text does not tell is not measured.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from functools import cache

from tests.mutants.reach import ROOMS, ROOT

_COMPUTED = {
    "sqrt", "hypot", "norm", "exp", "log", "sin", "cos", "tan", "atan2", "arctan2", "asin", "acos", "arcsin", "arccos",
    "dot", "length", "float", "trace", "det",
}  # fmt: skip
_KEPT = {"abs", "min", "max", "minimum", "maximum", "sum", "fabs", "copysign", "mean", "median", "where"}
_INSTANTS = {"t", "time", "times", "until", "stop", "T", "END"}  # which are the same where the same is waited for
_WRITTEN = ("sim/scene/", "sim/cli/")  # read what people write
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def measured(file: str, tree: ast.Module) -> Callable[[ast.Compare, int], bool]:
    """Return what tells of the k-th comparison of a chain, in this file's tree, whether it is of measured numbers."""
    found: set[tuple[int, int]] = set()
    own = dict(_constants(tree))
    for scope in () if file.startswith(_WRITTEN) else _scopes(tree):
        known = _Known(scope, own)
        for node in ast.walk(scope):
            if isinstance(node, ast.Compare):
                sides = [node.left, *node.comparators]
                found |= {(id(node), k) for k in range(len(node.ops)) if known.of_measured(sides[k], sides[k + 1])}
    return lambda node, k: (id(node), k) in found


def _scopes(tree: ast.Module) -> Iterator[ast.AST]:
    """Outermost functions, and what stands outside of them."""
    stack: list[ast.AST] = list(tree.body)
    while stack:
        node = stack.pop()
        if isinstance(node, ast.ClassDef):
            stack += node.body
        else:
            yield node


class _Known:
    """The names of a scope that stand for measured numbers; own: constants of its file, which go before others'."""

    def __init__(self, scope: ast.AST, own: Mapping[str, bool]):
        self.names: set[str] = set()
        self.own = own
        for function in (node for node in ast.walk(scope) if isinstance(node, _FUNCTIONS)):
            said = [*function.args.args, *function.args.kwonlyargs, *function.args.posonlyargs]
            self.names |= {one.arg for one in said if _says_float(one.annotation)}
        pairs = list(_assigned(scope))
        whole = {name for name, value in pairs if isinstance(value, ast.Constant) and type(value.value) is int}
        before = -1
        while len(self.names) > before:  # until no more follow from those that are known
            before = len(self.names)
            self.names |= {name for name, value in pairs if _is_float(value) or self.is_measured(value)} - whole

    def of_measured(self, a: ast.expr, b: ast.expr) -> bool:
        """Tell whether one side is a measured number, and neither is one that such a number is exactly."""
        exact = any(_is_exact(side) or _is_instant(side) for side in (a, b))
        return not exact and (self.is_measured(a) or self.is_measured(b))

    def is_measured(self, node: ast.expr) -> bool:
        """Tell whether an expression is a measured number, or an array of them."""
        if isinstance(node, ast.Constant):
            return _is_float(node) and node.value != 0.0
        if isinstance(node, ast.Name):
            return node.id in self.names or (node.id.isupper() and self.own.get(node.id, _told(node.id)))
        if isinstance(node, ast.Attribute):
            return _told(node.attr)
        if isinstance(node, (ast.Subscript, ast.Starred)):
            return self.is_measured(node.value)
        if isinstance(node, ast.UnaryOp):
            return not isinstance(node.op, ast.Not) and self.is_measured(node.operand)
        if isinstance(node, ast.IfExp):
            return self.is_measured(node.body) or self.is_measured(node.orelse)
        if isinstance(node, ast.BinOp):
            if isinstance(node.op, (ast.Div, ast.MatMult)):
                return True
            sums = isinstance(node.op, (ast.Add, ast.Sub, ast.Mult, ast.Pow))
            return sums and (self.is_measured(node.left) or self.is_measured(node.right))
        return isinstance(node, ast.Call) and self._is_measured_call(node)

    def _is_measured_call(self, node: ast.Call) -> bool:
        of = node.func
        name = of.attr if isinstance(of, ast.Attribute) else of.id if isinstance(of, ast.Name) else ""
        if name in _KEPT:  # of its arguments, or of what it is a method of
            whose = [of.value] if isinstance(of, ast.Attribute) else []
            return any(self.is_measured(one) for one in [*whose, *node.args])
        return name in _COMPUTED or _told(name)


def _assigned(scope: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    """Names and what is assigned to them, one by one."""
    for node in ast.walk(scope):
        if isinstance(node, (ast.AugAssign, ast.AnnAssign)) and node.value is not None:
            yield from _matched(node.target, node.value)
        elif isinstance(node, ast.Assign):
            for target in node.targets:
                yield from _matched(target, node.value)


def _matched(target: ast.expr, value: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    if isinstance(target, ast.Name):
        yield target.id, value
    elif isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
        for one, its in zip(target.elts, value.elts, strict=False):
            yield from _matched(one, its)


def _is_float(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) is float


def _is_exact(node: ast.expr) -> bool:
    """Tell whether an expression is zero, one or infinite as it is written, or a plain whole number."""
    if isinstance(node, ast.UnaryOp):
        return _is_exact(node.operand)
    if isinstance(node, ast.Attribute):
        return node.attr == "inf"
    return isinstance(node, ast.Constant) and (type(node.value) is int or node.value in (0.0, 1.0))


def _is_instant(node: ast.expr) -> bool:
    """Tell whether an expression is a time that is kept as it is."""
    if isinstance(node, ast.Subscript):  # of the stepper's clock
        return _is_instant(node.slice)
    name = node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
    return name in _INSTANTS


def _says_float(annotation: ast.expr | None) -> bool:
    return annotation is not None and ast.unparse(annotation) in ("float", "float | None")


def _may_be_any(annotation: ast.expr | None) -> bool:
    """Tell whether an annotation leaves open what kind of number it is."""
    return annotation is None or ast.unparse(annotation) in ("np.ndarray", "np.ndarray | None", "Any")


def _told(name: str) -> bool:
    """Tell whether all that the sources declare under a name is a measured number."""
    return _declared().get(name, False)


@cache
def _declared() -> dict[str, bool]:
    """Names of constants, of fields of tables and classes, of functions, with whether all of a name are measured."""
    out: dict[str, bool] = {}
    for room in ROOMS:
        for path in sorted((ROOT / room).rglob("*.py")):
            for name, is_float in _declarations(ast.parse(path.read_text())):
                out[name] = out.get(name, True) and is_float
    return out


def _declarations(tree: ast.Module) -> Iterator[tuple[str, bool]]:
    yield from _constants(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Tuple) and len(node.elts) in (2, 3):
            name, kind = (one.value if isinstance(one, ast.Constant) else None for one in node.elts[:2])
            if isinstance(name, str) and kind in ("f8", "i8"):  # a field of a table
                yield name, kind == "f8"
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and not _may_be_any(node.annotation):
            yield node.target.id, _says_float(node.annotation)
        elif isinstance(node, _FUNCTIONS) and not _may_be_any(node.returns):
            yield node.name, _says_float(node.returns)


def _constants(tree: ast.Module) -> Iterator[tuple[str, bool]]:
    """Names of constants of a file, and of those that it imports, with whether they are measured numbers."""
    for statement in tree.body:
        if isinstance(statement, ast.ImportFrom) and any(alias.name.isupper() for alias in statement.names):
            there = _constants_of(statement.module or "")
            yield from ((name, there[name]) for alias in statement.names if (name := alias.name) in there)
        for name, value in _assigned(statement) if isinstance(statement, ast.Assign | ast.AnnAssign) else ():
            if name.isupper():
                plain = not isinstance(value, ast.Call | ast.Dict)
                yield name, plain and any(_is_float(part) for part in ast.walk(value) if isinstance(part, ast.expr))


@cache
def _constants_of(module: str) -> dict[str, bool]:
    path = ROOT / f"{module.replace('.', '/')}.py"
    return dict(_constants(ast.parse(path.read_text()))) if path.exists() else {}
