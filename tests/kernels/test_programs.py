"""Formulas as stack programs against Python's own arithmetic on the same text."""

from __future__ import annotations

import ast
import functools
import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import sim
from sim.kernels.programs import evaluate
from sim.kernels.system import address, places_of
from sim.model import Tables, Work
from sim.programs import Names, Programs
from tests.dynamics.engine import simulator_of

pytestmark = pytest.mark.fast

UNARY = ("sqrt", "sin", "cos", "tan", "asin", "acos", "atan", "exp", "log")
PENDULUM = """
schema: 1
name: pendulum
bodies: {bob: {mass: 1 kg, com: [0.5, 0, 0], inertia: [0.1, 0.1, 0.1]}}
joints: {pin: {type: rotational, parent: world, child: bob, position: [0, 0, 0], axis: [0, 1, 0]}}
initial: {pin: {coordinate: 0.3 rad, rate: -1.5 rad/s}}
simulate: {duration: 1 s}
"""


@functools.cache
def pendulum() -> sim.Simulator:
    simulator = simulator_of(PENDULUM)
    simulator.flow.look()
    return simulator


def run(text: str, t: float = 0.0) -> float:
    """Return the value of a formula by the kernel, at the pendulum's start."""
    flow = pendulum().flow
    programs = Programs(Names({"pin": slice(0, 1)}, {"pin": 0}, {"bob": 1}, lambda name: 0))
    programs.add(ast.parse(text, mode="eval").body)
    arrays = programs.tables()
    for array in (arrays["codes"], arrays["constants"], arrays["programs"]):
        array.flags.writeable = False
    tables: Tables = flow.structure.tables._replace(
        codes=arrays["codes"], constants=arrays["constants"], programs=arrays["programs"]
    )
    work: Work = flow.work
    values = np.zeros(1)
    places = places_of(tables, flow.control, work, flow.guards)
    evaluate(address(places), np.zeros(1, np.int64), t, values)
    return float(values[0])


class Nudged(ast.NodeTransformer):
    """Wrap every operation in `near(...)`, so that its rounding can be varied."""

    def _wrap(self, node: ast.expr) -> ast.expr:
        self.generic_visit(node)
        return ast.Call(func=ast.Name("near", ast.Load()), args=[node], keywords=[])

    visit_BinOp = visit_Call = _wrap


def atan2(y: float, x: float) -> float:
    """Return the angle, but not where only the sign of a zero decides it: compiled sums do not keep that."""
    if y == 0.0 and x <= 0.0:
        raise ValueError("on the branch cut")
    return math.atan2(y, x)


def real(x: float | complex) -> float:
    """Return a number, but no complex one, as Python makes of (-1) ** 0.5: later operations may hide it."""
    if isinstance(x, complex):
        raise ValueError("complex on the way")
    return x


def python(text: str, t: float, near: Callable[[float], float] = lambda x: x) -> float:
    """Return the value by Python; raises where it has none or is no ordinary number."""
    tree = ast.fix_missing_locations(Nudged().visit(ast.parse(text, mode="eval")))
    space = {name: getattr(math, name) for name in UNARY}
    space |= {
        "atan2": atan2,
        "abs": abs,
        "min": min,
        "max": max,
        "clip": lambda x, a, b: min(max(x, a), b),
        "t": t,
        "near": lambda x: near(real(x)),
    }
    value = eval(compile(tree, "formula", "eval"), {"__builtins__": {}}, space)
    if not math.isfinite(value):
        raise ValueError("not an ordinary number")
    return float(value)


def _joined(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        st.builds("({} {} {})".format, inner, st.sampled_from(["+", "-", "*", "/"]), inner),
        st.builds("({} ** {})".format, inner, st.sampled_from(["2", "3", "0", "-1", "0.5", "1.7", "t"])),
        st.builds("{}({})".format, st.sampled_from([*UNARY, "abs", "-", "+"]), inner),
        st.builds("{}({}, {})".format, st.sampled_from(["min", "max", "atan2"]), inner, inner),
        st.builds("clip({}, -1.5, {})".format, inner, st.sampled_from(["-1.0", "0.25", "2"])),
    )


formulas = st.recursive(st.sampled_from(["t", "0.5", "2", "1.3", "3.7", "0"]), _joined, max_leaves=10)


@settings(deadline=None, max_examples=300)
@given(formulas, st.floats(-3.0, 3.0).filter(lambda t: abs(t) > 1e-3 or t == 0.0))
def test_a_formula_has_the_value_python_gives_it(text: str, t: float) -> None:
    """Compiled sums may round otherwise: what tiny changes of each operation do to the value is allowed."""
    rng = np.random.default_rng(0)
    try:
        expected = python(text, t)
        others = [python(text, t, lambda x: x * (1.0 + rng.uniform(-1, 1) * 4e-16)) for _ in range(8)]
    except (ValueError, ZeroDivisionError, OverflowError, TypeError):
        assume(False)
    assume(abs(expected) < 1e100)
    spread = max(abs(other - expected) for other in others)
    assume(spread <= 1e-6 * (1.0 + abs(expected)))  # else rounding decides: a branch, a pole
    assert abs(run(text, t) - expected) <= 20.0 * spread + 1e-14 * (1.0 + abs(expected))


@pytest.mark.parametrize(
    "text",
    ["sqrt(-1)", "1 / 0", "log(0)", "log(-2)", "asin(1.5)", "acos(-2)", "0 ** -1", "(-1) ** 0.5", "1 + sqrt(0 - t)"],
)
def test_where_a_formula_has_no_value_the_program_gives_none(text: str) -> None:
    assert math.isnan(run(text, 2.0))


@pytest.mark.parametrize(
    ("text", "value"),
    [("0 ** 0", 1.0), ("0 ** 2", 0.0), ("0 ** 0.5", 0.0), ("(-2) ** 3", -8.0), ("(-2) ** -2", 0.25), ("2 ** -1", 0.5)],
)
def test_powers_at_their_corners(text: str, value: float) -> None:
    assert run(text) == value


def test_exponentials_overflow_to_infinity() -> None:
    assert run("exp(1000)") == math.inf


def test_deep_formulas_fit_the_stack() -> None:
    deep = "1" + "".join(f" + (2 * (t - {i}" for i in range(25)) + "))" * 25
    assert run(deep, 0.5) == pytest.approx(eval(deep, {"t": 0.5}), rel=1e-14)


def test_the_state_is_read() -> None:
    q, v = pendulum().coordinate["pin"], pendulum().rate["pin"]
    assert run('coordinate("pin") + 2 * rate("pin")') == pytest.approx(
        float(np.ravel(q)[0] + 2 * np.ravel(v)[0]), rel=1e-15
    )


@pytest.mark.parametrize(
    ("condition", "t", "value"),
    [
        ("t > 2", 3.0, 1.0), ("t > 2", 1.0, -1.0), ("t < 2", 1.0, 1.0), ("1 < t < 4", 3.0, 1.0),
        ("t > 2 and t < 2.5", 3.0, -0.5), ("t > 2 or t < 2.5", 3.0, 1.0),
    ],
)  # fmt: skip
def test_conditions_are_positive_where_they_hold(condition: str, t: float, value: float) -> None:
    assert run(condition, t) == value
