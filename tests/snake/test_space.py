"""Newton-Euler's recursion for arms in space (Luh, Walker and Paul), run on the snake with numbers that count.

The paper prints Walker and Orin's counts without a derivation; this says which operations of theirs the plane spares.
"""

from __future__ import annotations

import numpy as np
import pytest

from sim.analysis.snake.counting import Tally, cos, sin
from sim.analysis.snake.operations import NEWTON_EULER, count
from tests.snake.snakes import mass_and_bias, random_state

pytestmark = pytest.mark.nonholonomic
X, Y, Z = range(3)


def add(a, b):
    return [x + y for x, y in zip(a, b, strict=True)]


def dot(a, b):
    return a[X] * b[X] + a[Y] * b[Y] + a[Z] * b[Z]


def turned(rows, a):
    return [dot(row, a) for row in rows]


def cross(a, b):
    return [a[Y] * b[Z] - a[Z] * b[Y], a[Z] * b[X] - a[X] * b[Z], a[X] * b[Y] - a[Y] * b[X]]


def across(omega, omega_dot, arm):
    """Return the acceleration of a point against another of its body."""
    return add(cross(omega_dot, arm), cross(omega, cross(omega, arm)))


def inwards(rows, arm, force, moment):
    """Return a force, and its moment about a link's near end, in the link's axes; given in the next one's."""
    force = turned(rows, force)
    return force, add(turned(rows, moment), cross(arm, force))


def transposed(rows):
    return [list(column) for column in zip(*rows, strict=True)]


def bias(state, number, links=None):
    """Return the moments at the near ends of the links, and the force on the first, with all accelerations zero."""
    n, snake = links or state.snake.links, state.snake
    zero, one = number(0.0), number(1.0)
    axis = [zero, zero, one]
    theta, rate = state.q[:n], np.diff([0.0, *state.q_dot[:n]])
    bends = np.diff([0.0, *theta])
    omega, omega_dot, a = [[zero] * 3 for _ in range(3)]  # of the world, and of its place at the first link's middle
    frames, arms, forces, moments, middles = [], [], [], [], []
    for k in range(n):
        c, s = number(cos(float(bends[k]))), number(sin(float(bends[k])))
        inertia = [[zero] * 3, [zero] * 3, [zero, zero, number(snake.inertias[k])]]
        middle = [number(snake.halves[k] if k else 0.0), zero, zero]
        arm = [number(snake.lengths[k] if k else snake.halves[0]), zero, zero]
        to_link, q_dot, m = [[c, s, zero], [-s, c, zero], axis], number(rate[k]), number(snake.masses[k])
        spun = [omega_dot[X] + omega[Y] * q_dot, omega_dot[Y] - omega[X] * q_dot, omega_dot[Z]]
        omega = turned(to_link, [omega[X], omega[Y], omega[Z] + q_dot])
        omega_dot = turned(to_link, spun)
        near = turned(to_link, a)
        a = add(near, across(omega, omega_dot, arm))
        force = [m * x for x in add(near, across(omega, omega_dot, middle))]
        frames.append(transposed(to_link))
        arms.append(arm)
        middles.append(middle)
        forces.append(force)
        moments.append(add(turned(inertia, omega_dot), cross(omega, turned(inertia, omega))))
    joints = []
    force, moment = forces[-1], add(moments[-1], cross(middles[-1], forces[-1]))
    for k in range(n - 1, -1, -1):
        if k < n - 1:
            force, moment = inwards(frames[k + 1], arms[k], force, moment)
            force, moment = add(force, forces[k]), add(moment, add(cross(middles[k], forces[k]), moments[k]))
        joints.append(dot(moment, axis))
    return [float(x) for x in reversed(joints)], [float(x) for x in turned(frames[0], force)]


def test_in_space_the_bias_is_that_of_the_plane():
    state = random_state(6, 8)
    joints, force = bias(state, float)
    _, B = mass_and_bias("Lagrange", state, state.q_dot[:6])
    of_angles = -np.diff([*joints, 0.0])
    np.testing.assert_allclose([*of_angles, *force[:2]], B, atol=1e-12 * np.abs(B).max())


def slope(formulas) -> int:
    return sum(formula(3) - formula(2) for formula in formulas)


def test_what_the_plane_spares_of_each_link_is_what_is_named():
    """All but the last name, which is what not even this recursion takes."""
    state = random_state(6, 8)
    tallies = [Tally(), Tally()]
    for links, tally in zip((5, 6), tallies, strict=True):
        bias(state, tally.number, links)
    a_link_in_space = np.subtract(tallies[1].within(), tallies[0].within())
    in_the_plane = np.subtract(*(count("Newton-Euler", n).within("bias") for n in (6, 5)))
    *named, rest = next(stage for stage in NEWTON_EULER.stages if stage.name == "B").differences
    spared = [slope(d.multiplications for d in named), slope(d.additions for d in named)]
    assert (a_link_in_space - in_the_plane).tolist() == spared
    assert slope([rest.additions]) == 0  # additions of each link are those of the print


def test_what_the_plane_spares_of_each_two_links_is_what_is_named():
    tally = Tally()
    rows, arm, force, moment = [[tally.number(0.5)] * 3] * 3, *([tally.number(1.0)] * 3 for _ in range(3))
    inwards(rows, arm, force, moment)
    counts = [count("Newton-Euler", n).within("mass_matrix") for n in (2, 3, 4)]
    in_the_plane = np.diff(counts, n=2, axis=0)[0]
    named = next(stage for stage in NEWTON_EULER.stages if stage.name == "M").differences[0]
    assert (np.subtract(tally.within(), in_the_plane)).tolist() == [named.multiplications(2), named.additions(2)]
