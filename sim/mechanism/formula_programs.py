"""From formulas of a scene to stack programs that a kernel runs.

Vectors are taken apart while compiling: a program computes one number.  Conditions become signed
functions: positive where the condition holds (`and` is min, `or` is max, `not` changes the sign).
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sim.kernels import programs as op
from sim.scene.spec import Expression
from sim.scene.splines import pieces_of

# What `<` and `>` ask for beyond equality: nothing that any other difference of two numbers is changed by.
EQUAL = 1e-300
SMOOTH = 5  # degree of the splines through tables: their accelerations have no corners

Code = list[tuple[int, int]]
Value = Code | list[Code]  # a number, or a vector of numbers

_BINARY = {ast.Add: op.ADD, ast.Sub: op.SUBTRACT, ast.Mult: op.MULTIPLY, ast.Div: op.DIVIDE, ast.Pow: op.POWER}
_UNARY = {
    "sqrt": op.SQRT, "sin": op.SIN, "cos": op.COS, "tan": op.TAN, "asin": op.ASIN, "acos": op.ACOS, "atan": op.ATAN,
    "exp": op.EXP, "log": op.LOG, "abs": op.ABS,
}  # fmt: skip


_FORCES = (op.FORCE, op.PRESSING, op.TORQUE)


def _do(operation: int) -> tuple[int, int]:
    """Return an instruction that needs no argument: it reads the stack alone, or something there is one of."""
    return operation, 0


@dataclass(frozen=True)
class Condition:
    """A `when:` in the tables.

    forces : whether its program reads forces or torques
    reads : forces of joints that it reads: the joint, and which of the six numbers of its wrench
    """

    event: str
    program: int
    forces: bool
    reads: tuple[tuple[int, int], ...] = ()


@dataclass
class Names:
    """What a formula's names mean in the compiled model."""

    columns: dict[str, slice]  # joint -> columns
    joints: dict[str, int]
    bodies: dict[str, int]
    point: Callable[[str], int]  # "body", "body.point" or "body.com" -> index into the point table
    contacts: dict[str, int] = field(default_factory=dict)
    springs: dict[str, Any] = field(default_factory=dict)  # spring between points -> its row of FORCE


@dataclass
class Programs:
    """The programs of a model, growing while it is compiled.

    sources : program number -> the formula of the scene that it was made from
    """

    names: Names
    codes: Code = field(default_factory=list)
    constants: list[float] = field(default_factory=list)
    spans: list[tuple[int, int]] = field(default_factory=list)
    applied: list[tuple[int, int]] = field(default_factory=list)
    laws: list[tuple[int, int, int]] = field(default_factory=list)
    law_constants: list[float] = field(default_factory=list)
    pushing: list[int] = field(default_factory=list)  # programs of wrenches
    acts: bool = False
    views: bool = False
    sources: dict[int, Expression] = field(default_factory=dict)

    def enter(self, expression: Expression) -> int:
        """Compile a formula of the scene and return its program number; `sources` keeps where it came from."""
        return self.source(self.add(expression.tree), expression)

    def source(self, program: int, expression: Expression) -> int:
        """Note which formula a program was made from; returns the program."""
        self.sources[program] = expression
        return program

    def add(self, tree: ast.expr) -> int:
        """Compile a formula and return its program number."""
        return self.append(self.number(tree))

    def reads_forces(self, program: int) -> bool:
        """Tell whether a program reads forces or torques."""
        return self._reads(program, _FORCES)

    def _reads(self, program: int, operations: tuple[int, ...]) -> bool:
        first, last = self.spans[program]
        return any(operation in operations for operation, _ in self.codes[first:last])

    def late(self) -> list[int]:
        """Return the programs of torques and wrenches that read what is known only once all that acts is."""
        acting = {*(program for program, _ in self.applied), *self.pushing}
        return sorted(program for program in acting if self._reads(program, (*_FORCES, op.ENERGY)))

    def forces_of(self, program: int) -> tuple[tuple[int, int], ...]:
        """Return the joints whose forces a program reads, each with the number of their wrench that it reads."""
        first, last = self.spans[program]
        read = {argument for operation, argument in self.codes[first:last] if operation == op.FORCE}
        return tuple(divmod(argument, 6) for argument in sorted(read))

    def append(self, code: Code) -> int:
        """Store a program and return its number."""
        self.views = self.views or any(operation == op.ROTATION for operation, _ in code)
        self.spans.append((len(self.codes), len(self.codes) + len(code)))
        self.codes.extend(code)
        return len(self.spans) - 1

    def constant(self, value: float) -> Code:
        """Return the code that pushes a number."""
        self.constants.append(float(value))
        return [(op.CONSTANT, len(self.constants) - 1)]

    def tables(self, numbers: Sequence[float] = ()) -> dict[str, Any]:
        """Return the arrays that kernels read.  numbers: each a program of its own, behind the others."""
        integer, first = np.int64, len(self.codes)
        codes = [*self.codes, *((op.CONSTANT, len(self.constants) + n) for n in range(len(numbers)))]
        spans = [*self.spans, *((first + n, first + n + 1) for n in range(len(numbers)))]
        late = self.late()
        slots = np.full(len(spans), -1)
        slots[late] = np.arange(len(late))
        return {
            "late": np.array(late, integer), "slots": slots,
            "codes": np.array(codes, integer).reshape(-1, 2), "constants": np.array([*self.constants, *numbers], float),
            "programs": np.array(spans, integer).reshape(-1, 2),
            "applied": np.array(self.applied, integer).reshape(-1, 2),
            "laws": np.array(self.laws, integer).reshape(-1, 3), "law_constants": np.array([*self.law_constants, 0.0]),
            "acts": int(self.acts), "views": int(self.views),
        }  # fmt: skip

    def number(self, tree: ast.expr) -> Code:
        """Compile a formula whose value is a number."""
        value = self.value(tree)
        if value and isinstance(value[0], list):
            raise TypeError("a vector stands where a number is wanted")
        return value  # type: ignore[return-value]

    def vector(self, tree: ast.expr) -> list[Code]:
        """Compile a formula whose value is a vector."""
        value = self.value(tree)
        if not (value and isinstance(value[0], list)):
            raise TypeError("a number stands where a vector is wanted")
        return value

    def value(self, tree: ast.expr) -> Value:
        """Compile any formula."""
        if isinstance(tree, ast.Constant):
            return self.constant(float(tree.value))  # type: ignore[arg-type]
        if isinstance(tree, ast.Name):
            return [_do(op.TIME)]
        if isinstance(tree, ast.BinOp):
            return self._both(_BINARY[type(tree.op)], self.value(tree.left), self.value(tree.right))
        if isinstance(tree, ast.UnaryOp):
            inner = self.value(tree.operand)
            return inner if isinstance(tree.op, ast.UAdd) else self._each(op.NEGATE, inner)
        if isinstance(tree, (ast.List, ast.Tuple)):
            return [self.number(item) for item in tree.elts]
        if isinstance(tree, ast.Subscript):
            return self._item(tree)
        if isinstance(tree, ast.Compare):
            return self._comparison(tree)
        if isinstance(tree, ast.BoolOp):
            return self._fold(op.MIN if isinstance(tree.op, ast.And) else op.MAX, [self.number(v) for v in tree.values])
        if isinstance(tree, ast.Call):
            return self._call(tree)
        raise TypeError(f"{ast.unparse(tree)}: not a formula")

    def _each(self, operation: int, value: Value) -> Value:
        if value and isinstance(value[0], list):
            return [[*part, _do(operation)] for part in value]
        return [*value, _do(operation)]

    def _both(self, operation: int, a: Value, b: Value) -> Value:
        a_vector, b_vector = isinstance(a[0], list), isinstance(b[0], list)
        if not a_vector and not b_vector:
            return [*a, *b, _do(operation)]
        count = len(a) if a_vector else len(b)
        left = a if a_vector else [a] * count
        right = b if b_vector else [b] * count
        return [[*x, *y, _do(operation)] for x, y in zip(left, right, strict=True)]

    def _fold(self, operation: int, parts: list[Code]) -> Code:
        code = list(parts[0])
        for part in parts[1:]:
            code += [*part, _do(operation)]
        return code

    def _item(self, tree: ast.Subscript) -> Value:
        index = int(ast.literal_eval(tree.slice))
        whole = self.value(tree.value)
        if not isinstance(whole[0], list):
            if index == 0:
                return whole
            raise TypeError(f"{ast.unparse(tree)}: a number has no component {index}")
        return whole[index]

    def _comparison(self, tree: ast.Compare) -> Code:
        parts, left = [], self.number(tree.left)
        for comparison, right_tree in zip(tree.ops, tree.comparators, strict=True):
            right = self.number(right_tree)
            more = isinstance(comparison, (ast.Gt, ast.GtE))
            part = [*left, *right, _do(op.SUBTRACT)] if more else [*right, *left, _do(op.SUBTRACT)]
            if isinstance(comparison, (ast.Gt, ast.Lt)):  # equality is not enough
                part += [*self.constant(EQUAL), _do(op.SUBTRACT)]
            parts.append(part)
            left = right
        return self._fold(op.MIN, parts)

    def _call(self, tree: ast.Call) -> Value:
        name = tree.func.id  # type: ignore[attr-defined]
        if name in _UNARY:
            return [*self.number(tree.args[0]), _do(_UNARY[name])]
        if name in ("min", "max"):
            return self._fold(op.MIN if name == "min" else op.MAX, [self.number(a) for a in tree.args])
        if name == "atan2":
            return [*self.number(tree.args[0]), *self.number(tree.args[1]), _do(op.ATAN2)]
        if name == "clip":
            x, low, high = (self.number(a) for a in tree.args)
            return [*x, *low, _do(op.MAX), *high, _do(op.MIN)]
        if name == "table":
            return self._along(tree.args)
        if name in ("length", "tension"):
            return self._spring(name, self.names.springs[self._text(tree.args[0])])
        if name in ("norm", "dot", "cross", "distance", "local"):
            return self._geometry(name, tree.args)
        return self._state(name, tree.args)

    def _along(self, args: list[ast.expr]) -> Code:
        """Compile the value of a column of a table over time."""
        curve: Any = args[0].value  # type: ignore[attr-defined]
        degree = min(SMOOTH, len(curve.time) - 1)
        pieces = pieces_of(curve.time, curve.values[:, None], degree)
        at = len(self.constants)
        self.constants += [len(curve.time), degree + 1, *curve.time.tolist(), *pieces.ravel().tolist()]
        return [*(self.number(args[2]) if args[2:] else [_do(op.TIME)]), (op.CURVE, at)]

    def _dot(self, a: list[Code], b: list[Code]) -> Code:
        return self._fold(op.ADD, [[*x, *y, _do(op.MULTIPLY)] for x, y in zip(a, b, strict=True)])

    def _geometry(self, name: str, args: list[ast.expr]) -> Value:
        if name == "norm":
            a = self.vector(args[0])
            return [*self._dot(a, a), _do(op.SQRT)]
        if name == "dot":
            return self._dot(self.vector(args[0]), self.vector(args[1]))
        if name == "cross":
            a, b = self.vector(args[0]), self.vector(args[1])
            return [
                [*a[i], *b[j], _do(op.MULTIPLY), *a[j], *b[i], _do(op.MULTIPLY), _do(op.SUBTRACT)]
                for i, j in ((1, 2), (2, 0), (0, 1))
            ]
        a, b = self._place(args[0]), self._place(args[1])
        if name == "distance":
            d = self._both(op.SUBTRACT, a, b)
            return [*self._dot(d, d), _do(op.SQRT)]  # type: ignore[arg-type]
        body = self.names.bodies[self._text(args[1])]
        d = self._both(op.SUBTRACT, a, b)  # local(point, body): in body axes from its origin
        return [self._dot([[(op.ROTATION, 9 * body + 3 * i + k)] for i in range(3)], d) for k in range(3)]  # type: ignore[arg-type]

    def _spring(self, name: str, spring: Any) -> Code:
        """Length of a spring between points, or its tension k (length - rest) + c times the length's rate."""
        d, u = (
            [[(of, 3 * int(spring.b) + k), (of, 3 * int(spring.a) + k), _do(op.SUBTRACT)] for k in range(3)]
            for of in (op.POSITION, op.VELOCITY)
        )
        length: Code = [*self._dot(d, d), _do(op.SQRT)]
        if name == "length":
            return length
        k, c, rest = (self.constant(float(spring[key])) for key in ("stiffness", "damping", "rest"))
        some = [*length, *self.constant(1e-300), _do(op.MAX)]
        rate = [*self._dot(d, u), *some, _do(op.DIVIDE)]
        pull = [*k, *length, *rest, _do(op.SUBTRACT), _do(op.MULTIPLY)]
        return [*pull, *c, *rate, _do(op.MULTIPLY), _do(op.ADD)]

    def _place(self, tree: ast.expr) -> list[Code]:
        if isinstance(tree, ast.Constant) and isinstance(tree.value, str):
            point = self.names.point(tree.value)
            return [[(op.POSITION, 3 * point + k)] for k in range(3)]
        return self.vector(tree)

    @staticmethod
    def _text(tree: ast.expr) -> str:
        if isinstance(tree, ast.Constant) and isinstance(tree.value, str):
            return tree.value
        raise TypeError(f"{ast.unparse(tree)}: a name in quotes is wanted")

    def _state(self, name: str, args: list[ast.expr]) -> Value:
        if name == "energy":
            return [_do(op.ENERGY)]
        if name == "com":
            if args:
                point = self.names.point(self._text(args[0]) + ".com")
                return [[(op.POSITION, 3 * point + k)] for k in range(3)]
            return [[(op.COM, k)] for k in range(3)]
        what = self._text(args[0])
        if name in ("coordinate", "rate", "torque"):
            columns = self.names.columns[what]
            operation = {"coordinate": op.COORDINATE, "rate": op.RATE, "torque": op.TORQUE}[name]
            codes = [[(operation, c)] for c in range(columns.start, columns.stop)]
            return codes[0] if len(codes) == 1 else codes
        if name in ("position", "velocity"):
            operation = op.POSITION if name == "position" else op.VELOCITY
            point = self.names.point(what)
            return [[(operation, 3 * point + k)] for k in range(3)]
        if name == "force":
            if what in self.names.contacts:
                return [[(op.PRESSING, 3 * self.names.contacts[what] + k)] for k in range(3)]
            joint = self.names.joints[what]
            return [[(op.FORCE, 6 * joint + 3 + k)] for k in range(3)]
        if name == "orientation":
            return self._orientation(self.names.bodies[what])
        raise TypeError(f"{name}: no such function")

    def _orientation(self, body: int) -> list[Code]:
        """Rotation vector of a body's axes against the world's."""
        r = [[(op.ROTATION, 9 * body + i)] for i in range(9)]
        s = [self._both(op.SUBTRACT, r[i], r[j]) for i, j in ((7, 5), (2, 6), (3, 1))]
        size = [*self._dot(s, s), _do(op.SQRT)]  # type: ignore[arg-type]
        trace = self._fold(op.ADD, [r[0], r[4], r[8]])
        angle = [*size, *trace, *self.constant(1.0), _do(op.SUBTRACT), _do(op.ATAN2)]
        safe = [*size, *self.constant(1e-300), _do(op.MAX)]
        return [[*angle, *safe, _do(op.DIVIDE), *part, _do(op.MULTIPLY)] for part in s]
