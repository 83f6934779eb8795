"""Formulas as stack programs against Python's own arithmetic on the same text."""

from __future__ import annotations

import ast
import functools
import math
import re
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import sim
from sim.kernels import programs as op
from sim.kernels.programs import evaluate
from sim.kernels.scratch import Work
from sim.kernels.system import address, places_of
from sim.kernels.tables import Tables
from sim.mechanism.formula_programs import Names, Programs
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
    simulator.flow.update()
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


# --- how programs are stored --------------------------------------------------------------------------


def stored() -> Programs:
    names = Names(
        {"pin": slice(0, 1), "ball": slice(1, 4)}, {"pin": 0, "ball": 2}, {"bob": 1, "rod": 2},
        {"bob": 3, "rod": 4, "rod.tip": 5, "rod.com": 6}.__getitem__, {"sole": 4},
    )  # fmt: skip
    return Programs(names)


def tree(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


def test_programs_stand_one_behind_the_other() -> None:
    programs = stored()
    assert programs.add(tree("rate('ball')[2]*3")) == 0 and programs.add(tree("t")) == 1
    assert programs.append([(op.COORDINATE, 0)]) == 2
    programs.applied, programs.laws, programs.law_constants = [(0, 3), (1, 0)], [(77, 0, 2)], [4.0, 5.0]
    found = programs.tables([8.5, -2.0])
    assert found["codes"].tolist() == [
        [op.RATE, 3], [op.CONSTANT, 0], [op.MULTIPLY, 0], [op.TIME, 0], [op.COORDINATE, 0], [op.CONSTANT, 1],
        [op.CONSTANT, 2],
    ]  # fmt: skip
    assert found["programs"].tolist() == [[0, 3], [3, 4], [4, 5], [5, 6], [6, 7]]
    assert found["constants"].tolist() == [3.0, 8.5, -2.0]
    assert found["applied"].tolist() == [[0, 3], [1, 0]] and found["laws"].tolist() == [[77, 0, 2]]
    assert found["law_constants"].tolist() == [4.0, 5.0, 0.0]
    assert found["late"].tolist() == [] and found["slots"].tolist() == [-1] * 5
    assert (found["acts"], found["views"]) == (0, 0)
    empty = stored().tables()
    assert {n: a.shape for n, a in empty.items() if n not in ("acts", "views")} == {
        "late": (0,), "slots": (0,), "codes": (0, 2), "constants": (0,), "programs": (0, 2), "applied": (0, 2),
        "laws": (0, 3), "law_constants": (1,),
    }  # fmt: skip


def test_what_reads_forces_or_energies_and_acts_is_late() -> None:
    programs = stored()
    texts = (
        "force('pin')[1]", "rate('pin')", "torque('ball')[1]", "energy()", "force('sole')[2]+force('ball')[0]*2",
        "force('ball')[2]",
    )  # fmt: skip
    for text in texts:
        programs.add(tree(text))
    programs.applied, programs.pushing = [(0, 0), (1, 0), (3, 1)], [4, 2]
    assert programs.late() == [0, 2, 3, 4]  # 5 is a condition
    found = programs.tables([1.0])
    assert found["late"].tolist() == [0, 2, 3, 4] and found["slots"].tolist() == [0, -1, 1, 2, 3, -1, -1]
    assert [programs.reads_forces(n) for n in range(6)] == [True, False, True, False, True, True]
    assert [programs.forces_of(n) for n in range(6)] == [((0, 4),), (), (), (), ((2, 3),), ((2, 5),)]


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        ("coordinate('pin')", [(op.COORDINATE, 0)]), ("coordinate('ball')[1]", [(op.COORDINATE, 2)]),
        ("rate('ball')[0]", [(op.RATE, 1)]), ("torque('ball')[2]", [(op.TORQUE, 3)]), ("torque('pin')[0]",
                [(op.TORQUE, 0)]),
        ("position('rod.tip')[0]", [(op.POSITION, 15)]), ("velocity('bob')[2]", [(op.VELOCITY, 11)]),
        ("com('rod')[1]", [(op.POSITION, 19)]), ("com()[2]", [(op.COM, 2)]), ("energy()", [(op.ENERGY, 0)]),
        ("force('pin')[0]", [(op.FORCE, 3)]), ("force('ball')[2]", [(op.FORCE, 17)]),
        ("force('sole')[1]", [(op.PRESSING, 13)]),
        ("+t", [(op.TIME, 0)]), ("-t", [(op.TIME, 0), (op.NEGATE, 0)]),
    ],
)  # fmt: skip
def test_quantities_are_read_by_their_numbers(text: str, codes: list[tuple[int, int]]) -> None:
    programs = stored()
    assert programs.number(tree(text)) == codes
    programs.append(codes)
    assert not programs.views


def test_only_formulas_of_axes_look_at_bodies_inside_of_steps() -> None:
    programs = stored()
    programs.add(tree("local('bob','rod')[1]"))
    read = [argument for operation, argument in programs.codes if operation == op.ROTATION]
    assert programs.views and read == [9 * 2 + 1, 9 * 2 + 4, 9 * 2 + 7]  # the column of y
    programs = stored()
    programs.add(tree("orientation('bob')[0]"))
    assert programs.views and {a for o, a in programs.codes if o == op.ROTATION} == {9, 13, 14, 16, 17, 10, 11, 12, 15}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("position('bob')", "a vector stands where a number is wanted"),
        ("t[1]", "a number has no component 1"), ("dot(t, [1, 2])", "a number stands where a vector is wanted"),
        ("distance(3, 'bob')", "a number stands where a vector is wanted"),
        ("local('bob', [1, 2, 3])", "[1, 2, 3]: a name in quotes is wanted"),
        ("coordinate(3)", "3: a name in quotes is wanted"), ("what('pin')", "what: no such function"),
        ("t if t else t", "not a formula"),
    ],
)  # fmt: skip
def test_what_is_no_formula_is_refused(text: str, said: str) -> None:
    with pytest.raises(TypeError, match=re.escape(said)):
        stored().number(tree(text))
    assert stored().number(tree("t[0]")) == [(op.TIME, 0)]


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("t > 2", (-0.5, 0.0, 0.5)), ("t >= 2", (-0.5, 0.0, 0.5)), ("t < 2", (0.5, 0.0, -0.5)), ("t <= 2", (0.5, 0.0,
                -0.5)),
        ("1.75 < t < 2.25", (-0.25, 0.25, -0.25)), ("t > 2 or t < 1.75", (0.25, 0.0, 0.5)), ("not t > 2", (0.5, 0.0,
                -0.5)),
    ],
)  # fmt: skip
def test_conditions_are_as_far_from_true_as_their_sides(text: str, values: tuple[float, ...]) -> None:
    """What `<` and `>` ask for beyond equality is too small to be seen but where both sides are equal."""
    for t, value in zip((1.5, 2.0, 2.5), values, strict=True):
        found = run(text, t)
        assert found == value or (value == 0.0 and abs(found) == 1e-300)
    if text in ("t > 2", "t < 2"):
        assert run(text, 2.0) == -1e-300
    if text in ("t >= 2", "t <= 2"):
        assert run(text, 2.0) == 0.0
