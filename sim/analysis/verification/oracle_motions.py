"""Motions of driven joints with their rates and accelerations, from the formulas' trees; nothing of the kernels."""

from __future__ import annotations

import ast
import cmath
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.interpolate import make_interp_spline
from scipy.linalg import expm


@dataclass(frozen=True)
class Jet:
    """A number that varies, with its first and second derivative by time."""

    value: float
    d1: float = 0.0
    d2: float = 0.0

    def of(self, f: float, f1: float, f2: float) -> Jet:
        """Return f of this number; f1, f2: derivatives of f there."""
        return Jet(f, f1 * self.d1, f2 * self.d1**2 + f1 * self.d2)

    def __add__(self, other: Jet) -> Jet:
        return Jet(self.value + other.value, self.d1 + other.d1, self.d2 + other.d2)

    def __neg__(self) -> Jet:
        return Jet(-self.value, -self.d1, -self.d2)

    def __mul__(self, other: Jet) -> Jet:
        a, b = self, other
        d1 = a.d1 * b.value + a.value * b.d1
        return Jet(a.value * b.value, d1, a.d2 * b.value + 2 * a.d1 * b.d1 + a.value * b.d2)

    def inverse(self) -> Jet:
        """Return 1 over this number."""
        x = self.value
        return self.of(1 / x, -1 / x**2, 2 / x**3)

    @property
    def still(self) -> bool:
        """Whether it does not vary."""
        return self.d1 == 0.0 and self.d2 == 0.0


def _log(a: Jet) -> Jet:
    return a.of(math.log(a.value), 1 / a.value, -1 / a.value**2)


def _exp(a: Jet) -> Jet:
    f = math.exp(a.value)
    return a.of(f, f, f)


def _power(a: Jet, b: Jet) -> Jet:
    n = b.value
    if not b.still:
        return _exp(b * _log(a))
    if a.still:
        return Jet(a.value**n)
    f1 = n * a.value ** (n - 1) if n else 0.0
    f2 = n * (n - 1) * a.value ** (n - 2) if n not in (0.0, 1.0) else 0.0
    return a.of(a.value**n, f1, f2)


def _root(a: Jet) -> Jet:
    return _power(a, Jet(0.5))


def _tan(a: Jet) -> Jet:
    f = math.tan(a.value)
    return a.of(f, 1 + f * f, 2 * f * (1 + f * f))


def _angle(y: Jet, x: Jet) -> Jet:
    """Direction of (x, y): the imaginary part of log(x + i y)."""
    z, z1, z2 = (complex(*pair) for pair in ((x.value, y.value), (x.d1, y.d1), (x.d2, y.d2)))
    return Jet(cmath.phase(z), (z1 / z).imag, (z2 / z - (z1 / z) ** 2).imag)


_ONE = Jet(1.0)
_CALLS: dict[str, Any] = {
    "sqrt": _root, "exp": _exp, "log": _log, "tan": _tan, "atan2": _angle,
    "sin": lambda a: a.of(math.sin(a.value), math.cos(a.value), -math.sin(a.value)),
    "cos": lambda a: a.of(math.cos(a.value), -math.sin(a.value), -math.cos(a.value)),
    "atan": lambda a: _angle(a, _ONE),
    "asin": lambda a: _angle(a, _root(_ONE + -(a * a))),
    "acos": lambda a: _angle(_root(_ONE + -(a * a)), a),
    "abs": lambda a: a if a.value >= 0 else -a,
    "min": lambda *a: min(a, key=lambda jet: jet.value),
    "max": lambda *a: max(a, key=lambda jet: jet.value),
    "clip": lambda a, low, high: low if a.value < low.value else high if a.value > high.value else a,
    "norm": lambda a: _root(_dot(a, a)),
    "dot": lambda a, b: _dot(a, b),
    "cross": lambda a, b: [a[i] * b[j] + -(a[j] * b[i]) for i, j in ((1, 2), (2, 0), (0, 1))],
}  # fmt: skip
_BINARY: dict[type, Any] = {
    ast.Add: lambda a, b: a + b, ast.Sub: lambda a, b: a + -b, ast.Mult: lambda a, b: a * b,
    ast.Div: lambda a, b: a * b.inverse(), ast.Pow: _power,
}  # fmt: skip


def _dot(a: list[Jet], b: list[Jet]) -> Jet:
    total = Jet(0.0)
    for x, y in zip(a, b, strict=True):
        total = total + x * y
    return total


def jet_of(tree: ast.expr, t: float) -> Jet:
    """Return a formula of time at t, which every name in it means, with its derivatives."""
    value: Jet = _value(tree, Jet(t, 1.0))
    return value


def turned_by(parts: Sequence[Jet]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the rotation of a rotation vector that varies, its angular velocity and the rate of that, in its own axes.

    From the exponential of a triangle of blocks: beside the rotation it holds its derivatives along the way.
    """
    X, X1, X2 = (_crossing([getattr(part, name) for part in parts]) for name in ("value", "d1", "d2"))
    none = np.zeros((3, 3))
    whole = expm(np.block([[X, X1, 0.5 * X2], [none, X, X1], [none, none, X]]))
    R, R1, R2 = whole[:3, :3], whole[:3, 3:6], 2.0 * whole[:3, 6:]
    turning, change = R.T @ R1, R1.T @ R1 + R.T @ R2
    return R, _axial(turning), _axial(change)


def _crossing(p: Sequence[float]) -> np.ndarray:
    """Return the matrix of p x."""
    x, y, z = p
    return np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])


def _axial(A: np.ndarray) -> np.ndarray:
    """Return p of the matrix p x."""
    return 0.5 * np.array([A[2, 1] - A[1, 2], A[0, 2] - A[2, 0], A[1, 0] - A[0, 1]])


def _value(tree: ast.expr, t: Jet) -> Any:
    """Return a number, or a list of numbers."""
    if isinstance(tree, ast.Constant):
        return Jet(float(tree.value))  # type: ignore[arg-type]
    if isinstance(tree, ast.Name):
        return t
    if isinstance(tree, ast.BinOp):
        return _each(_BINARY[type(tree.op)], _value(tree.left, t), _value(tree.right, t))
    if isinstance(tree, ast.UnaryOp):
        inner = _value(tree.operand, t)
        return inner if isinstance(tree.op, ast.UAdd) else _each(_BINARY[ast.Sub], Jet(0.0), inner)
    if isinstance(tree, ast.List | ast.Tuple):
        return [_value(item, t) for item in tree.elts]
    if isinstance(tree, ast.Subscript):
        return _value(tree.value, t)[int(ast.literal_eval(tree.slice))]
    if isinstance(tree, ast.Call) and isinstance(tree.func, ast.Name) and tree.func.id == "table":
        return _along(tree.args[0].value, _value(tree.args[2], t) if tree.args[2:] else t)  # type: ignore[attr-defined]
    if isinstance(tree, ast.Call) and isinstance(tree.func, ast.Name):
        return _CALLS[tree.func.id](*(_value(argument, t) for argument in tree.args))
    raise TypeError(f"{ast.unparse(tree)}: not a formula of time")


def _along(curve: Any, at: Jet) -> Jet:
    """Return a curve at a time: the spline of degree five through all of its points, less with few."""
    spline = make_interp_spline(curve.time, curve.values, min(5, len(curve.time) - 1))
    return at.of(*(float(spline(at.value, nu)) for nu in range(3)))


def _each(operation: Any, a: Any, b: Any) -> Any:
    """Apply an operation to two numbers, or to a list and what stands beside each of its numbers."""
    if not isinstance(a, list) and not isinstance(b, list):
        return operation(a, b)
    count = len(a) if isinstance(a, list) else len(b)
    left, right = (x if isinstance(x, list) else [x] * count for x in (a, b))
    return [operation(x, y) for x, y in zip(left, right, strict=True)]
