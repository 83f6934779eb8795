"""Where modes begin or cease to grow over a parameter, against closed forms."""

from __future__ import annotations

import re
from math import sqrt
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import sim
from sim.analysis.linear import stability
from sim.scene.load import load_text
from sim.scene.spec import Scene
from tests.dynamics.shipped import SCENES

HEAD = "schema: 1\nname: x\n"
STAND, LIE = HEAD + "world: {gravity: [0, 0, -9.81]}\n", HEAD + "world: {gravity: [0, 0, 0]}\n"
G = 9.81


def family(text: str) -> object:
    """Return the function of p that puts it into a scene for every `<...p...>`, an expression of p in Python."""

    def make(p: float) -> Scene:
        whole = re.sub("<(.*?)>", lambda found: repr(float(eval(found[1], {"p": p}))), text)
        return load_text(whole if whole.startswith(HEAD) else STAND + whole)

    return make


def crossings(text: str, values: object, at: str | None = "steady") -> list[tuple[str, bool, float, float, int]]:
    """Return kind, whether it rises, value, frequency and number of modes of each crossing."""
    found = sim.root_locus(family(text), list(values), parameter="p", at=at)  # type: ignore[arg-type, call-overload]
    assert found.leaps == ()
    return [(c.kind, c.rising, c.value, c.eigenvalue.imag, c.modes) for c in found.crossings]


def rod(joint: str, com: str = "[0, 0, 1]", rest: str = "") -> str:
    return f"""
bodies: {{rod: {{mass: 1, com: {com}, inertia: [0.1, 0.1, 0.1]}}}}
joints: {{base: {{type: rotational, parent: world, child: rod, position: [0, 0, 0], axis: [0, 1, 0], {joint}}}}}
{rest}"""


# --- buckling ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("values", [np.arange(8.0, 12.5), [8.0, 9.81, 12.0], [0.0, 1000.0]])
@pytest.mark.parametrize("damping", [0.0, 1e-6, 0.5, 50.0])
def test_an_upright_rod_buckles_where_its_spring_gives_way(values: list[float], damping: float) -> None:
    (found,) = crossings(rod(f"stiffness: <p>, damping: {damping}"), values)
    assert found[:2] == ("buckling", False) and found[2] == pytest.approx(G, rel=1e-12) and found[3:] == (0.0, 1)


def test_a_rod_buckles_both_ways_at_once() -> None:
    (found,) = crossings(
        """
bodies: {rod: {mass: 1, com: [0, 0, 1], inertia: [0.1, 0.1, 0.05]}}
joints: {base: {type: universal, parent: world, child: rod, position: [0, 0, 0], axis: [1, 0, 0],
                second_axis: [0, 1, 0], stiffness: <p>}}""",
        np.arange(8.2, 12.0),
    )
    assert found[:2] == ("buckling", False) and found[2] == pytest.approx(G, rel=1e-11) and found[4] == 2


def test_a_column_of_two_rods_buckles_mode_by_mode() -> None:
    """Rods of length 1 with masses at their ends, springs k: det(K - P L) = 0; loads of weight: M = 1 above each."""
    k, h = 40.0, 1.0
    text = """
bodies:
  lower: {mass: <p>, com: [0, 0, 1], inertia: [1e-3, 1e-3, 1e-3]}
  upper: {mass: <p>, com: [0, 0, 2], inertia: [1e-3, 1e-3, 1e-3]}
joints:
  foot: {type: rotational, parent: world, child: lower, position: [0, 0, 0], axis: [0, 1, 0], stiffness: 40}
  knee: {type: rotational, parent: lower, child: upper, position: [0, 0, 1], axis: [0, 1, 0], stiffness: 40}"""
    # angles from the vertical: V = k/2 (a^2 + (b - a)^2) - m g h (2 a^2 + b^2) / 2
    stiff, weight = np.array([[2 * k, -k], [-k, k]]), G * h * np.diag([2.0, 1.0])
    expected = sorted(np.linalg.eigvals(np.linalg.solve(weight, stiff)).real)
    for values in (np.arange(0.5, 8.0, 0.5), [0.5, 8.0]):
        found = crossings(text, values)
        assert [f[:2] for f in found] == [("buckling", True)] * 2
        assert [f[2] for f in found] == pytest.approx(expected, rel=1e-11)


def test_a_frame_buckles_behind_a_loop() -> None:
    """Two parallel rods stand and carry a beam, all of point masses at the top: k = (m_beam + 2 m_rod / 2) g h."""
    text = """
bodies:
  a: {mass: 1, com: [0, 0, 0.5], inertia: [0.1, 0.1, 0.1]}
  b: {mass: 1, com: [1, 0, 0.5], inertia: [0.1, 0.1, 0.1]}
  beam: {mass: 2, com: [0.4, 0, 1], inertia: [0.1, 0.2, 0.1]}
joints:
  left: {type: rotational, parent: world, child: a, position: [0, 0, 0], axis: [0, 1, 0], <spring>: <p>}
  right: {type: rotational, parent: world, child: b, position: [1, 0, 0], axis: [0, 1, 0]}
  high_left: {type: rotational, parent: a, child: beam, position: [0, 0, 1], axis: [0, 1, 0]}
  high_right: {type: rotational, parent: b, child: beam, position: [1, 0, 1], axis: [0, 1, 0]}
"""
    in_tree = text.replace("<spring>", "stiffness")
    in_loop = text.replace(", <spring>: <p>", "").replace("[1, 0, 1], axis: [0, 1, 0]", "[1, 0, 1], axis: [0, 1, 0], "
                                                          "stiffness: <p>")  # fmt: skip
    for scene in (in_tree, in_loop):
        (found,) = crossings(scene, [20.0, 25.0, 29.43 + 1.0, 35.0])
        assert found[:2] == ("buckling", False) and found[2] == pytest.approx(3 * G, rel=1e-11)


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("values", [np.arange(0.0, 2.01, 0.25), np.arange(0.1, 2.0, 0.3), [0.0, 2.0]])
def test_what_touches_zero_and_goes_back_is_no_crossing(values: list[float], sign: int) -> None:
    assert crossings(rod(f"stiffness: <9.81 + {sign} * (p - 1.0) ** 2>"), values) == []


def test_a_touch_of_zero_is_looked_for_a_little_beside_it() -> None:
    """A thousandth of the way to both neighbours."""
    asked: list[float] = []
    locus: Any = SimpleNamespace(count=lambda p: asked.append(p) or int(p == 5.0))
    assert stability._without_touches(locus, [1.0, 5.0, 7.0]) == [1.0, 7.0]
    beside = stability.BESIDE
    assert asked[3:] == [5.0 - beside * 4.0, 5.0 + beside * 2.0] and 0.0 < beside < 0.1
    locus.count = lambda p: int(4.0 < p < 6.0)
    assert stability._without_touches(locus, [1.0, 5.0, 7.0]) == [1.0, 5.0, 7.0]


def test_a_rod_bent_beyond_its_buckling_load_is_stable_on_both_sides() -> None:
    """The bent pose a, k a = m g h sin(a), is stable wherever it is; from the other side only the upright one is."""
    found = crossings(rod("stiffness: <p>", rest="initial: {base: 60 deg}"), np.arange(7.0, 9.6, 0.5))
    assert found == []


def test_a_spinning_shaft_is_unstable_between_its_two_critical_speeds() -> None:
    """A mass on springs k_x, k_y in a shaft that is driven at w: grows where k_x < m w^2 < k_y (Smith's rotor)."""
    text = """
bodies:
  shaft: {mass: 1, com: [0, 0, 0], inertia: [1, 1, 1]}
  slide: {mass: 1e-9, com: [0, 0, 0], inertia: [1e-9, 1e-9, 1e-9]}
  mass: {mass: 1, com: [0, 0, 0], inertia: [1, 1, 1]}
joints:
  drive: {type: rotational, parent: world, child: shaft, position: [0, 0, 0], axis: [0, 0, 1], motion: "<p> rad/s*t"}
  x: {type: translational, parent: shaft, child: slide, position: [0, 0, 0], axis: [1, 0, 0], stiffness: 100}
  y: {type: translational, parent: slide, child: mass, position: [0, 0, 0], axis: [0, 1, 0], stiffness: 144}"""
    for values in (np.arange(8.5, 14.0), np.arange(8.0, 14.0)):  # the second meets both speeds, 10 and 12
        found = crossings(text, values)
        assert [f[:2] for f in found] == [("buckling", True), ("buckling", False)]
        assert [f[2] for f in found] == pytest.approx([10.0, 12.0], rel=1e-8)  # the slide has a mass, too


# --- flutter ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(6))
def test_sleeping_tops_wake_at_their_speed(seed: int) -> None:
    """C w = 2 sqrt(A m g h) with A about the tip; there both pairs move at C w / (2 A)."""
    rng = np.random.default_rng([15, seed])
    m, h = rng.uniform(0.1, 3.0), rng.uniform(0.05, 1.0)
    across = m * h**2 * rng.uniform(0.1, 2.0)
    A, C = across + m * h**2, across * rng.uniform(0.05, 1.9)
    w = 2 * sqrt(A * m * G * h) / C
    text = f"""
bodies: {{top: {{mass: {m!r}, com: [0, 0, {h!r}], inertia: [{across!r}, {across!r}, {C!r}]}}}}
joints: {{tip: {{type: spherical, parent: world, child: top, position: [0, 0, 0]}}}}
initial: {{tip: {{rate: [0, 0, <p>]}}}}"""
    low, high = w * rng.uniform(0.8, 0.99), w * rng.uniform(1.01, 1.2)
    (found,) = crossings(text, np.linspace(low, high, int(rng.integers(2, 9))))
    assert found[:2] == ("flutter", False) and found[2] == pytest.approx(w, rel=1e-11) and found[4] == 1
    # In axes that spin along, or in those that stand: which of the two depends on what the model moves with.
    assert found[3] == pytest.approx(C * w / (2 * A), rel=1e-5)


def column(rods: int, damping: float) -> str:
    """Rods of 1 m, lying, with masses at their ends, 2 kg and 1 kg at the tip, hinges of 1 N m/rad, and a load of p
    along the last rod, wherever that points."""
    names = ["world", *(f"b{n}" for n in range(rods))]
    bodies = "".join(f"  b{n}: {{mass: {1 if n == rods - 1 else 2}, com: [{n + 1}, 0, 0]}}\n" for n in range(rods))
    joints = "".join(
        f"  j{n}: {{type: rotational, parent: {names[n]}, child: b{n}, position: [{n}, 0, 0], axis: [0, 0, 1], "
        f"stiffness: 1, damping: {damping!r}}}\n" for n in range(rods)
    )  # fmt: skip
    load = f'{{type: wrench, body: b{rods - 1}, frame: body, force: ["<-p> N", 0, 0]}}'
    return f"{LIE}bodies:\n{bodies}joints:\n{joints}forces: {{follower: {load}}}\n"


@pytest.mark.parametrize("values", [np.arange(1.5, 2.5, 0.1), [0.1, 2.5], np.arange(1.0, 6.0, 0.5)])
def test_zieglers_column_flutters_under_a_load_that_follows(values: list[float]) -> None:
    """P = 7/2 -+ sqrt 2: between the two the pairs have left the axis.  Forces that follow have no potential."""
    found = crossings(column(2, 0.0), values)
    assert found[0][:2] == ("flutter", True) and found[0][2] == pytest.approx(3.5 - sqrt(2.0), rel=1e-12)
    if values[-1] > 5.0:  # real roots beyond: none of the two growing modes comes to rest
        assert found[1:] == []


@pytest.mark.parametrize("c", [1e-3, 0.1, 0.5])
def test_a_little_damping_makes_zieglers_column_flutter_much_earlier(c: float) -> None:
    """P = 41/28 + c^2/2 (Herrmann & Jong 1965), by a pair that passes the axis alone."""
    for values in (np.arange(1.0, 2.0, 0.15), [0.1, 2.2]):
        (found,) = crossings(column(2, c), values)
        assert found[:2] == ("Hopf", True) and found[2] == pytest.approx(41 / 28 + c**2 / 2, rel=1e-9)


def test_becks_column_of_six_rods_flutters_where_its_matrices_say() -> None:
    """M x'' + (K - P L) x = 0 in absolute angles: the first P at which (M^-1 (K - P L)) has a double root."""
    n, masses = 6, np.array([2.0] * 5 + [1.0])
    M = np.array([[masses[max(i, j) :].sum() for j in range(n)] for i in range(n)])
    K = 2.0 * np.eye(n) - np.eye(n, k=1) - np.eye(n, k=-1)
    K[-1, -1] = 1.0
    L = np.eye(n)
    L[:, -1] -= 1.0  # the load turns with the last rod

    def complex_roots(p: float) -> bool:
        return bool(np.max(np.abs(np.linalg.eigvals(np.linalg.solve(M, K - p * L)).imag)) > 1e-6)

    low, high = 0.0, 3.0
    while not complex_roots(high):
        high *= 1.2
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if complex_roots(middle) else (middle, high)
    found = crossings(column(n, 0.0), [0.5 * low, 0.9 * low, 1.05 * low])
    assert found[0][:2] == ("flutter", True) and found[0][2] == pytest.approx(low, rel=1e-8)


# --- Hopf -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("values", [np.arange(-1.0, 1.01, 0.25), np.arange(-1.1, 1.0, 0.4), [-3.0, 5.0]])
def test_an_oscillation_grows_where_its_damping_is_negative(values: list[float]) -> None:
    torque = "controllers: {push: {type: torque, torques: {base: \"<p>*N*m*s*rate('base')\"}}}"
    (found,) = crossings(rod("stiffness: 20", "[0, 0, -1]", torque), values)
    frequency = sqrt((G + 20) / 1.1)
    assert found[:2] == ("Hopf", True) and found[3:] == (pytest.approx(frequency, rel=1e-6), 1)
    assert abs(found[2]) < 1e-14


def test_a_mode_without_damping_beside_others_neither_grows_nor_ceases_to() -> None:
    """A pendulum beside a damped one whose spring is changed: its real part is roundoff, of either sign."""
    text = """
bodies:
  a: {mass: 1, com: [0, 0, -1], inertia: [0.1, 0.2, 0.3]}
  b: {mass: 1, com: [0, 0, -2], inertia: [0.1, 0.1, 0.1]}
  c: {mass: 1, com: [3, 0, -1], inertia: [0.1, 0.1, 0.1]}
joints:
  one: {type: universal, parent: world, child: a, position: [0, 0, 0], axis: [1, 0, 0], second_axis: [0, 1, 0]}
  two: {type: spherical, parent: a, child: b, position: [0, 0, -1.2]}
  three: {type: rotational, parent: world, child: c, position: [3, 0, 0], axis: [0, 1, 0], stiffness: <p>, damping: 0.3}
"""
    assert crossings(text, np.arange(1.0, 9.0)) == []


# --- what is told -----------------------------------------------------------------------------------


def test_the_bicycle_keeps_its_weave_and_capsize_speeds() -> None:
    """Meijaard, Papadopoulos, Ruina and Schwab (2007); it keeps its energy, and its roots have no mirror images."""
    for values in (np.arange(0.0, 10.1, 1.0), [0.0, 10.0], [4.0, 5.0, 6.0, 7.0]):
        found = sim.root_locus(
            lambda v: sim.load(SCENES / "bicycle.yaml", set={"v": v, "roll_rate": 0.0}), list(values), parameter="v"
        )
        assert [(c.kind, c.rising) for c in found.crossings] == [("Hopf", False), ("buckling", True)]
        assert [c.value for c in found.crossings] == pytest.approx([4.292382536341, 6.024262015388], rel=1e-11)
        assert found.leaps == ()


def test_a_root_at_zero_is_zero() -> None:
    model = sim.linearize(family(rod("stiffness: <p>"))(G), at="steady")  # type: ignore[operator]
    assert model.rounded.tolist() == [0.0, 0.0] and model.states == ("base", "rate(base)")
    beside = sim.linearize(family(rod("stiffness: <p>"))(G + 1e-9), at="steady")  # type: ignore[operator]
    assert np.allclose(np.sort(beside.rounded.imag), [-sqrt(1e-9 / 1.1), sqrt(1e-9 / 1.1)], rtol=1e-4)
    assert np.all(beside.rounded.real == 0.0)


def test_where_another_family_of_motions_is_found_it_is_said() -> None:
    """From 2 deg the nearest pose is the upright one up to where the bent one comes near, short of where they meet."""
    make = family(rod("stiffness: <p>", rest="initial: {base: 2 deg}"))
    found = sim.root_locus(make, [9.0, 9.4, 9.9, 12.0], parameter="k", at="steady")  # type: ignore[arg-type]
    assert found.crossings == () and len(found.leaps) == 1 and 9.79 < found.leaps[0] < G


@pytest.mark.parametrize(
    ("here", "there", "first"),
    [
        ([0.1, 2.0 + 1j, 2.0 - 1j], [0.2, 1.5 + 1j, 1.5 - 1j], 1.5 + 1j),
        ([2.0 + 1j, 0.1], [0.2, -9.0, 1.0 + 1j], 1.0 + 1j),
        ([0.1, 2.0 + 1j, 2.0 - 1j], [0.2, 1.5 + 2j], 1.5 + 2j), ([5.0, 2.0 + 1j, 0.3], [4.0, 0.2], 0.2),
    ],
)  # fmt: skip
def test_the_critical_root_continues_the_nearest_one_of_the_stable_end(
    here: list[complex], there: list[complex], first: complex
) -> None:
    """One to one, where there are as many or more; of fewer the nearest, though others might have it."""
    critical = stability._Critical.__new__(stability._Critical)
    critical.locus = SimpleNamespace(at=lambda value: SimpleNamespace(roots=np.array(here)))  # type: ignore[assignment]
    critical.unstable, critical.last = 1.0, 2.0 + 1j
    end: Any = SimpleNamespace(roots=np.array(there, complex))
    assert critical._beginning(end) == first
