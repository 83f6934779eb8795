"""Kernels over dual numbers: values to the bit, derivatives beside differences of the same kernels over floats."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import sim
from sim.analysis.linear.duals import MATHEMATICS, duals, slopes_in, values_in
from sim.kernels import programs, spatial, system
from sim.kernels.generic import Plain, arrays, objects
from sim.kernels.integrators.radau import radau
from sim.mechanism.mechanism import make_control
from sim.scene.load import load_text
from tests.kernels.plain import plain

pytestmark = pytest.mark.fast
over_duals = Plain(MATHEMATICS)


def numbers_of(found: Any) -> np.ndarray:
    """Return all numbers of a kernel's answer, which may be a tuple of tuples."""
    return np.concatenate([numbers_of(one) for one in found]) if isinstance(found, tuple) else np.array([found])


def check(kernel: Any, at: np.ndarray, *more: int, h: float = 1e-4, tolerance: float = 1e-9) -> None:
    """Hold values and derivatives of a kernel over duals to the same kernel over floats."""
    rng = np.random.default_rng(len(at))
    ways, over_floats = rng.normal(size=(len(at), 5)), plain(kernel)
    found = numbers_of(over_duals(kernel)(*duals(at, ways), *more))
    assert np.array_equal(values_in(found), numbers_of(over_floats(*at.tolist(), *more)))
    ends = [
        [numbers_of(over_floats(*(at + side * step * way), *more)) for side in (1.0, -1.0)]
        for step in (h, 0.5 * h)
        for way in ways.T
    ]
    slopes = np.array([b - a for b, a in ends]).reshape(2, 5, -1) / (2.0 * h * np.array([1.0, 0.5])[:, None, None])
    expected = (4.0 * slopes[1] - slopes[0]) / 3.0
    assert np.allclose(slopes_in(found, 5).T, expected, rtol=0.0, atol=tolerance)
    assert np.abs(expected).max() > 0.1


def unit(seed: int, largest: int = 0) -> np.ndarray:
    p = np.random.default_rng(seed).normal(size=4)
    p[largest] = 2.0 * np.abs(p).max()
    return np.asarray(p / np.linalg.norm(p))


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("kernel", [spatial.rotation_of, spatial.rotation_vector], ids=lambda k: k.__name__)
def test_rotations_of_quaternions(kernel: Any, sign: float) -> None:
    check(kernel, sign * unit(1))


@pytest.mark.parametrize("angle", [2e-3, 1e-5])
def test_small_rotation_vectors(angle: float) -> None:
    half = 0.5 * angle
    at = np.array([math.cos(half), *(math.sin(half) * np.array([0.48, -0.6, 0.64]))])
    ways = np.random.default_rng(3).normal(size=(3, 5))
    of = 0.5 * np.array([-at[1:], [at[0], -at[3], at[2]], [at[3], at[0], -at[1]], [-at[2], at[1], at[0]]]) @ ways
    found = np.array(over_duals(spatial.rotation_vector)(*duals(at, of)))
    r = values_in(found)
    # To first order in the angle the vector grows by what turns it, and turns by half of r across.
    assert np.allclose(slopes_in(found, 5), ways + 0.5 * np.cross(r, ways.T).T, rtol=0.0, atol=angle**2)
    nothing = np.array(over_duals(spatial.rotation_vector)(*duals(np.eye(4)[0], np.vstack([0.0 * ways[:1], ways]))))
    assert np.array_equal(slopes_in(nothing, 5), 2.0 * ways)


@pytest.mark.parametrize("largest", range(4))
def test_relative_rotations_whichever_part_is_largest(largest: int) -> None:
    p = unit(5, largest)
    turned = plain(spatial.rotation_of)

    def between(*q: Any) -> Any:
        return _relative(turned(*unit(7)), q)

    def _relative(F: Any, q: Any) -> Any:
        of = over_duals if hasattr(q[0], "slopes") else plain
        M = of(spatial.multiply)(F, of(spatial.rotation_of)(*q))
        return of(spatial.relative_rotation)(F, M)

    ways = np.random.default_rng(2).normal(size=(4, 3))
    found = np.array(between(*duals(p, ways)))
    ends = [
        (np.array(between(*(p + h * w))) - np.array(between(*(p - h * w)))) / (2 * h) for h in (1e-5,) for w in ways.T
    ]
    assert np.allclose(slopes_in(found, 3).T, ends, rtol=0.0, atol=1e-8)


@pytest.mark.parametrize("about", range(3))
@pytest.mark.parametrize(
    "kernel", [spatial.swing_of, spatial.twist_of, spatial.swinging, spatial.twisting], ids=lambda k: k.__name__
)
def test_swing_and_twist(kernel: Any, about: int) -> None:
    check(kernel, np.array([0.4, -0.9, 0.7]), about)


@pytest.mark.parametrize("operation", [programs.ADD, programs.DIVIDE, programs.POWER, programs.ATAN2, programs.MAX])
def test_operations_of_formulas(operation: int) -> None:
    def swapped(make: Callable[[Any], Any]) -> Callable[..., Any]:
        return lambda a, b: make(programs.binary)(operation, a, b)

    at, ways = np.array([1.3, -0.7]), np.eye(2)
    found = swapped(over_duals)(*duals(at, ways))
    f, h = swapped(plain), 1e-5
    expected = [(f(*(at + h * way)) - f(*(at - h * way))) / (2.0 * h) for way in ways]
    assert found.value == f(*at) and found.slopes == pytest.approx(expected, abs=1e-9)


def test_a_root_of_nothing_in_a_formula_has_a_value_and_a_slope() -> None:
    x = duals(np.zeros(1), np.ones((1, 1)))[0]
    of = over_duals(programs.binary)
    assert of(programs.POWER, x, 1.5).value == 0.0 and of(programs.POWER, x, 1.5).slopes.tolist() == [0.0]
    assert of(programs.POWER, x, 0.5).slopes.tolist() == [math.inf]
    assert math.isnan(of(programs.POWER, x, -1.0))


def test_who_answers_behind_an_address_is_a_function_too() -> None:
    assert over_duals(radau) is over_duals(radau) and over_duals(radau).__name__ == "radau"
    names = over_duals(radau).__globals__
    assert names["unpack"](5) == 5 and names["vector"]([1, 2, 3], 2) == [1, 2]
    assert system.unpack is not names["unpack"]


def test_wholes_of_objects_hold_pythons_own_numbers_and_nothing_of_what_they_were_made_of() -> None:
    text = """
schema: 1
name: rod
bodies: {rod: {mass: 2, com: [0, 0, -0.5], inertia: [0.1, 0.1, 0.1]}}
joints: {pin: {type: rotational, parent: world, child: rod, position: [0, 0, 0], axis: [0, 1, 0]}}
"""
    model = sim.compile(load_text(text))
    control = make_control(model)
    found = objects(control)
    found.held[0] = duals(np.ones(1), np.ones((1, 1)))[0]
    assert type(found) is type(control) and control.held.tolist() == [0.0]
    assert type(found.acts[0]) is int and type(found.friction[0]) is float
    tables = objects(sim.Simulator(model).flow.structure.tables)
    assert (type(tables.links.parent[1]), tables.links.mass[1], tables.links.R_PF.shape) == (int, 2.0, (2, 9))
    assert any(array is tables.links.mass for array in arrays(tables)) and any(
        a is tables.codes for a in arrays(tables)
    )
