"""What instructions of formulas read of a state, and how the stack goes, against numpy."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from sim.kernels import programs as op
from sim.kernels.scratch import BODY_WORK, CONTACT_WORK, JOINT_WORK, LINK_WORK, ONE_WORK
from sim.kernels.tables import POINT, table
from tests.kernels.plain import plain

pytestmark = pytest.mark.fast


def filled(dtype: np.dtype, count: int, rng: np.random.Generator) -> np.recarray:
    out = table(dtype, count)
    for name, (kind, *_) in dtype.fields.items():
        if kind.base == np.float64:
            out[name] = rng.normal(size=out[name].shape)
    return out


@pytest.fixture
def state() -> tuple[SimpleNamespace, SimpleNamespace]:
    rng = np.random.default_rng(1)
    points, links = table(POINT, 3), filled(LINK_WORK, 4, rng)
    points.body[:], points.p_B[:] = [2, 1, 3], rng.normal(size=(3, 3))
    for b in range(4):
        links.R[b] = Rotation.random(random_state=b).as_matrix().ravel()
    work = SimpleNamespace(
        links=links, bodies=filled(BODY_WORK, 3, rng), joints=filled(JOINT_WORK, 3, rng), stack=np.full(9, 5.0),
        rules=filled(CONTACT_WORK, 2, rng), one=filled(ONE_WORK, 1, rng), coordinate=rng.normal(size=4),
        rate=rng.normal(size=4), torque=rng.normal(size=4),
    )  # fmt: skip
    return SimpleNamespace(points=points, constants=np.array([2.5, -1.5, 7.0]), slots=np.array([-1, 1, 0])), work


def value(state: tuple, instructions: list[tuple[int, int]], t: float = 1.3) -> float:
    """Run a program that stands between others."""
    tables, work = state
    others = [(op.CONSTANT, 2)]
    tables.codes = np.array(others + instructions + others)
    tables.programs = np.array([(0, 1), (1, 1 + len(instructions))])
    return float(plain(op.run_program)(tables, work, 1, t))


def test_points_and_their_velocities(state: tuple) -> None:
    tables, work = state
    for i, b in enumerate(tables.points.body):
        arm = work.links.R[b].reshape(3, 3) @ tables.points.p_B[i]
        velocity = work.links.V[b, 3:] + np.cross(work.links.V[b, :3], arm)
        for k in range(3):
            assert value(state, [(op.POSITION, 3 * i + k)]) == pytest.approx(work.links.x[b, k] + arm[k], rel=1e-13)
            assert value(state, [(op.VELOCITY, 3 * i + k)]) == pytest.approx(velocity[k], rel=1e-12)


def test_the_centre_of_all_masses(state: tuple) -> None:
    """Without the world; mass and first moment about the origin of each link."""
    work = state[1]
    mass, first, x = work.links.I[1:, 0], work.links.I[1:, 1:4], work.links.x[1:]
    expected = (mass[:, None] * x + first).sum(axis=0) / mass.sum()
    for k in range(3):
        assert value(state, [(op.COM, k)]) == pytest.approx(expected[k], rel=1e-12)


def test_all_else_that_is_read(state: tuple) -> None:
    tables, work = state
    assert value(state, [(op.TIME, 0)]) == 1.3
    assert value(state, [(op.ENERGY, 0)]) == pytest.approx(work.one.kinetic[0] + work.one.potential[0], rel=1e-14)
    for k in range(3):
        assert value(state, [(op.CONSTANT, k)]) == tables.constants[k]
    for k in range(4):
        assert value(state, [(op.COORDINATE, k)]) == work.coordinate[k]
        assert value(state, [(op.RATE, k)]) == work.rate[k]
        assert value(state, [(op.TORQUE, k)]) == work.torque[k]
    for code, array in (
        (op.ROTATION, work.bodies.R_WB),
        (op.FORCE, work.joints.force),
        (op.PRESSING, work.rules.force),
    ):
        for k, expected in enumerate(array.ravel()):
            assert value(state, [(code, k)]) == expected


def test_functions_and_operations() -> None:
    unary, binary = plain(op.unary), plain(op.binary)
    for code, f in (
        (op.NEGATE, lambda x: -x), (op.SQRT, math.sqrt), (op.SIN, math.sin), (op.COS, math.cos), (op.TAN, math.tan),
        (op.ASIN, math.asin), (op.ACOS, math.acos), (op.ATAN, math.atan), (op.EXP, math.exp), (op.LOG, math.log),
        (op.ABS, abs),
    ):  # fmt: skip
        for x in (-1.0, -0.7, 0.0, 0.4, 1.0, 2.3, -3.1, 699.0):
            try:
                expected = f(x)
            except ValueError:
                expected = math.nan
            assert unary(code, x) == pytest.approx(expected, rel=1e-15, nan_ok=True), (code, x)
    assert unary(op.EXP, 700.0) == math.inf and math.isfinite(unary(op.EXP, math.nextafter(700.0, 0.0)))
    for a in (-1.3, 0.6, 2.0):
        for b in (-0.7, 3.0, 1.5):
            found = [
                binary(code, a, b) for code in (op.ADD, op.SUBTRACT, op.MULTIPLY, op.DIVIDE, op.ATAN2, op.MIN, op.MAX)
            ]
            assert found == [a + b, a - b, a * b, a / b, math.atan2(a, b), min(a, b), max(a, b)]
    assert math.isnan(binary(op.DIVIDE, 0.0, 0.0)) and math.isnan(binary(op.DIVIDE, 1.0, 0.0))


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [(2.0, 3.0, 8.0), (2.0, -1.0, 0.5), (2.0, 0.5, math.sqrt(2.0)), (-2.0, 3.0, -8.0), (-2.0, -2.0, 0.25), (-2.0,
        0.0, 1.0),
     (-2.0, 0.5, math.nan), (-2.0, -0.5, math.nan), (0.0, 0.0, 1.0), (0.0, 2.0, 0.0), (0.0, 0.5, 0.0), (0.0, 1.0, 0.0),
     (0.0, -1.0, math.nan), (0.0, -0.5, math.nan)],
)  # fmt: skip
def test_powers(a: float, b: float, expected: float) -> None:
    assert plain(op.binary)(op.POWER, a, b) == pytest.approx(expected, rel=1e-15, nan_ok=True)


def test_operations_take_the_two_last_values_and_functions_the_last(state: tuple) -> None:
    """(2.5 - -1.5) / (7 ** (t - 2.5)), max with sin of t, and what came first stays below."""
    tables = state[0]
    program = [
        (op.CONSTANT, 0), (op.CONSTANT, 1), (op.SUBTRACT, 0), (op.CONSTANT, 2), (op.TIME, 0), (op.CONSTANT, 0),
        (op.SUBTRACT, 0),
        (op.POWER, 0), (op.DIVIDE, 0), (op.TIME, 0), (op.SIN, 0), (op.MIN, 0), (op.NEGATE, 0),
    ]  # fmt: skip
    for t in (0.4, 1.3, 6.0):
        assert value(state, program, t) == pytest.approx(-min(4.0 / 7.0 ** (t - 2.5), math.sin(t)), rel=1e-13)
    assert value(state, [(op.CONSTANT, 0), (op.CONSTANT, 1), (op.MAX, 0)]) == 2.5
    assert tables.constants.tolist() == [2.5, -1.5, 7.0]


def test_what_acts_and_reads_forces_was_found_with_them(state: tuple) -> None:
    tables, work = state
    control = SimpleNamespace(fed=np.array([11.0, 12.0]))
    tables.codes, tables.programs = (
        np.array([(op.CONSTANT, 0), (op.CONSTANT, 1), (op.CONSTANT, 2)]),
        np.array([(0, 1), (1, 2), (2, 3)]),
    )
    found = [plain(op.acting_value)(tables, control, work, program, 1.3) for program in range(3)]
    assert found == [2.5, 12.0, 11.0]


def test_several_programs_are_evaluated_in_turn(state: tuple) -> None:
    tables, work = state
    tables.codes, tables.programs = (
        np.array([(op.CONSTANT, 0), (op.TIME, 0), (op.CONSTANT, 2)]),
        np.array([(0, 1), (1, 2), (2, 3)]),
    )
    values = np.full(3, 5.0)
    plain(op.evaluate, unpack=lambda system: (tables, None, work, None))(None, np.array([2, 0, 1]), 1.3, values)
    assert values.tolist() == [7.0, 2.5, 1.3]
