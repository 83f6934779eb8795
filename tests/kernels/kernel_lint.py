"""What every kernel of sim/kernels promises, read from its source.

A kernel writes only to parameters whose names end in `_out` or `_work`, also through aliases,
fields, slices and calls of other kernels; a driver, which is handed the whole of them, may write to
the members of `work`, `stepper`, `control` and `guards`.  Of what is handed on in one piece, the member's name says
the same.  Kernels allocate nothing, build no lists or
dictionaries, have no defaults, say in a docstring what they do, and index a column of a record
table before the row: writing to a field of a row is slow to compile and wrong when interpreted.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

DRIVERS = {"driver", "python_driver", "unlocked_driver", "spliced", "entry"}
KERNELS = {"kernel", "inlined", "python_kernel"} | DRIVERS
WHOLES = {"work", "stepper", "control", "guards"}
WRITABLE = ("_out", "_work")
ALLOCATES = {
    "arange", "array", "asarray", "concatenate", "copy", "empty", "empty_like", "eye", "full", "full_like", "linspace",
    "ones", "ones_like", "stack", "zeros", "zeros_like",
}  # fmt: skip
CONTAINERS = (ast.List, ast.ListComp, ast.Dict, ast.DictComp, ast.Set, ast.SetComp, ast.GeneratorExp)


def decorator(node: ast.AST) -> str | None:
    """Return which of our decorators makes a function a kernel."""
    if isinstance(node, ast.FunctionDef):
        names = {d.id for d in node.decorator_list if isinstance(d, ast.Name)}
        return next(iter(names & KERNELS), None)
    return None


def kernels_of(source: str) -> dict[str, ast.FunctionDef]:
    """Return the kernels of one file by name."""
    nodes = (n for n in ast.walk(ast.parse(source)) if isinstance(n, ast.FunctionDef))
    return {n.name: n for n in nodes if decorator(n)}


def root(node: ast.expr) -> str | None:
    """Return the name at the bottom of `a`, `a[i]`, `a.b[i].c`."""
    while isinstance(node, ast.Subscript | ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else None


@dataclass
class Origin:
    """Where a local name comes from: a parameter, perhaps through a member of it."""

    parameter: str
    whole: bool  # it is a driver's `work`, `stepper`, `control` or `guards`, or a member of one

    @property
    def writable(self) -> bool:
        return self.whole or self.parameter.endswith(WRITABLE)


class Reading:
    """One kernel, read from top to bottom."""

    def __init__(self, function: ast.FunctionDef, known: Mapping[str, ast.FunctionDef]):
        self.function, self.known = function, known
        self.driver = decorator(function) in DRIVERS
        self.origin = {a.arg: Origin(a.arg, self.driver and a.arg in WHOLES) for a in function.args.args}

    def breaches(self) -> Iterator[str]:
        """Yield a sentence for each broken promise."""
        function = self.function
        if not ast.get_docstring(function):
            yield f"{function.name}: no docstring"
        arguments = function.args
        if arguments.defaults or arguments.kwonlyargs or arguments.vararg or arguments.kwarg:
            yield f"{function.name}: defaults and starred parameters are not allowed"
        for node in _in_order(function):
            for sentence in self._node(node):
                yield f"{function.name}:{node.lineno}: {sentence}"

    def _node(self, node: ast.AST) -> Iterator[str]:
        if isinstance(node, CONTAINERS):
            yield "builds a container"
        elif isinstance(node, ast.Call):
            yield from self._call(node)
        elif isinstance(node, ast.Assign):
            for target in node.targets:
                yield from self._assign(target, node.value)
        elif isinstance(node, ast.AugAssign | ast.AnnAssign | ast.For):
            yield from self._assign(node.target, None)

    def _assign(self, target: ast.expr, value: ast.expr | None) -> Iterator[str]:
        if isinstance(target, ast.Tuple) and isinstance(value, ast.Call) and ast.unparse(value) == "unpack(system)":
            for name in target.elts:
                assert isinstance(name, ast.Name)
                self.origin[name.id] = Origin(name.id, name.id in WHOLES)
        elif isinstance(target, ast.Tuple):
            values = value.elts if isinstance(value, ast.Tuple) else [None] * len(target.elts)
            for one, its_value in zip(target.elts, values, strict=True):
                yield from self._assign(one, its_value)
        elif isinstance(target, ast.Name):
            self._name(target.id, value)
        else:
            yield from self._write(target)
            if isinstance(target, ast.Attribute):
                yield "row write: index the column, then the row"

    def _name(self, name: str, value: ast.expr | None) -> None:
        """Follow an alias: `a = b`, `a = b.c`, `a = b[i:j]`; anything else is a new value."""
        origin = self._origin(value) if value is not None else None
        if isinstance(value, ast.Call) and ast.unparse(value.func) == "vector":
            origin = Origin(name, True)
        if origin is None:
            self.origin.pop(name, None)
        else:
            self.origin[name] = origin

    def _origin(self, node: ast.expr) -> Origin | None:
        """Return where an expression comes from: of `bundle.x_out[i]`, x_out."""
        origin = self.origin.get(root(node) or "")
        while origin is not None and isinstance(node, ast.Subscript | ast.Attribute):
            name = node.attr if isinstance(node, ast.Attribute) else ""
            if name.endswith(WRITABLE) or (self.driver and name in WHOLES):
                return Origin(name, True)
            node = node.value
        return origin

    def _write(self, target: ast.expr) -> Iterator[str]:
        origin = self._origin(target)
        if origin is None:
            yield f"writes {ast.unparse(target)}, which is no parameter"
        elif not origin.writable:
            yield f"writes {origin.parameter}, which is an input"

    def _call(self, node: ast.Call) -> Iterator[str]:
        called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if called in ALLOCATES:
            yield f"{called}() allocates"
        kernel = self.known.get(called) if isinstance(node.func, ast.Name) else None
        if kernel is None:
            return
        if node.keywords or any(isinstance(a, ast.Starred) for a in node.args):
            yield f"calls {called} with keywords or stars"
        for parameter, argument in zip(kernel.args.args, node.args, strict=False):
            origin = self._origin(argument)
            if parameter.arg.endswith(WRITABLE) and origin is not None and not origin.writable:
                yield f"lets {called} write {origin.parameter}, which is an input"


def _in_order(function: ast.FunctionDef) -> Iterator[ast.AST]:
    """Yield the nodes of a function's body as they stand in the text."""
    for statement in function.body:
        yield from _down(statement)


def _down(node: ast.AST) -> Iterator[ast.AST]:
    yield node
    for child in ast.iter_child_nodes(node):
        yield from _down(child)


def breaches(sources: Mapping[str, str]) -> list[str]:
    """Return the broken promises of all kernels in these files (name -> text)."""
    known = {name: node for text in sources.values() for name, node in kernels_of(text).items()}
    return [
        f"{file}: {sentence}"
        for file, text in sources.items()
        for function in kernels_of(text).values()
        for sentence in Reading(function, known).breaches()
    ]
