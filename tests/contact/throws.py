"""Thousands of throws: is the first contact, or the first instant of a condition, found where it is?

Each throw is a scene, run as users run it, and a function of time that knows nothing of the engine: the gap of two
solids on their exact motions, or minus the value of a condition.  `tests.contact.passing` finds when it first goes
deeper than `DEEP`.

    python -m tests.contact.throws --count 10000 --seed 1
    python -m tests.contact.throws --kind box-plate --one 17 --seed 1    # one of them, as a scene
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

import sim
from sim.scene.load import load_text
from sim.simulation.journal import EventRecord
from sim.simulation.state import State
from tests.contact.passing import (
    Flight,
    Path,
    Rates,
    Thing,
    TooClose,
    Values,
    approach,
    carried,
    first_below,
    gap,
    still,
    top,
)

DEEP = 1e-6  # m, rad, s: what goes deeper than that must be found
# What the engine's motion may be off, as a share of the way that is turned until then: ten times the relative tolerance
# of a step.  By DEEP and so much the gap, or the value, may be from zero at the instant that is told, and what is not
# told has to be deeper than both to count as missed.
DRIFT = 1e-7
ROUGH, APART = 2e-3, 5e-3  # m: gaps at the start, and of posts from what swings by at the start
MOST_TURNS = 300.0  # rad
G0 = 9.81

RIGHT, NOTHING, GRAZED, PASSED, MISSED, FALSE, ENDED, UNDECIDED = (
    "right", "nothing there", "shallow, told", "shallow, not", "MISSED", "FALSE", "ENDED", "undecided",
)  # fmt: skip
CLASSES = (RIGHT, NOTHING, GRAZED, PASSED, MISSED, FALSE, ENDED, UNDECIDED)


@dataclass(frozen=True, eq=False)
class Throw:
    """A scene, and when it has to tell the first event.

    value : over time, falls below zero where the event is; rate : how fast it, or what it is a lower bound of, changes
    way : m or rad, how far what moves has come at a time; what an error of the motion is a share of
    """

    kind: str
    text: str
    span: float
    value: Values
    rate: Rates
    way: Callable[[float], float]


@dataclass(frozen=True)
class Outcome:
    """What came of a throw: when it was told, and when the function first was below -DEEP; inf for never."""

    what: str
    told: float
    deep: float
    said: str = ""


# --- running and comparing --------------------------------------------------------------------------------------------


class _Told(Exception):
    """The first event was told."""


class _First:
    """A journal that ends a run at its first event."""

    def rows(self, values: dict[str, np.ndarray], q: np.ndarray, v: np.ndarray) -> None:
        pass

    def contacts(self, values: dict[str, np.ndarray]) -> None:
        pass

    def epoch(self, tree: list[str], loops: list[str], nq: int, nv: int) -> None:
        pass

    def event(self, happening: EventRecord) -> None:
        raise _Told(happening.time)

    def rest(self, take: Callable[[], State], finished: bool = False, stopped: bool = False) -> None:
        pass


def first_event(text: str, span: float) -> float:
    """Return the time of the first event that a scene tells; inf without one."""
    simulator = sim.Simulator(sim.compile(load_text(text)), journal=_First())
    try:
        simulator.advance(span)
    except _Told as told:
        return float(told.args[0])
    return np.inf


def judge(throw: Throw, simulate: str = "") -> Outcome:
    """Run a throw and compare; simulate : more of how it is simulated, as a scene says it."""
    text = throw.text.replace("record: 1", f"record: 1, {simulate}") if simulate else throw.text
    try:
        deep = first_below(throw.value, throw.rate, 0.0, throw.span, -DEEP)
    except TooClose:
        return Outcome(UNDECIDED, np.nan, np.nan)
    try:
        told = first_event(text, throw.span)
    except sim.SimulationError as error:
        return Outcome(ENDED, np.nan, deep, str(error))
    if told == np.inf:
        if first_below(throw.value, throw.rate, 0.0, throw.span, -DEEP - DRIFT * throw.way(throw.span)) < np.inf:
            return Outcome(MISSED, told, deep)
        shallow = first_below(throw.value, throw.rate, 0.0, throw.span, 0.0) < np.inf
        return Outcome(PASSED if shallow else NOTHING, told, deep)
    allowed = DEEP + DRIFT * throw.way(told)
    there = float(throw.value(np.array([told]))[0])
    if told > deep and first_below(throw.value, throw.rate, 0.0, told, -allowed) < told:
        return Outcome(MISSED, told, deep)
    if there > allowed:
        return Outcome(FALSE, told, deep, f"{there:.3g} away")
    return Outcome(GRAZED if deep == np.inf else RIGHT, told, deep)


# --- contacts of free bodies ------------------------------------------------------------------------------------------

SOLIDS = ("sphere", "box", "capsule")


def log(rng: np.random.Generator, low: float, high: float) -> float:
    """Return a number whose logarithm is uniform."""
    return float(low * (high / low) ** rng.random())


def direction(rng: np.random.Generator) -> np.ndarray:
    """Return a unit vector."""
    n = rng.normal(size=3)
    return np.asarray(n / np.linalg.norm(n))


def said(values: Any) -> str:
    """Return numbers as a scene says them, to the last bit."""
    return "[" + ", ".join(f"{float(value)!r}" for value in values) + "]"


def size_of(rng: np.random.Generator, kind: str) -> tuple[float, ...]:
    """Return half edges of a box, or half length and radius."""
    if kind == "box":
        a, b, c = (round(log(rng, 0.005, 0.2), 6) for _ in range(3))
        return (a, b, c) if rng.random() < 0.5 else (a, a, c)
    return 0.0 if kind == "sphere" else round(log(rng, 0.01, 0.3), 6), round(log(rng, 0.005, 0.1), 6)


def family(kind: str) -> str:
    """Return what `passing` calls it."""
    return kind if kind in ("box", "plane") else "round"


def moments_of(kind: str, size: tuple[float, ...]) -> np.ndarray:
    """Return moments of inertia of 1 kg; those of a capsule need not be right, as the scene says them."""
    if kind == "box":
        a, b, c = np.square(size)
        return np.array([b + c, c + a, a + b]) / 3.0
    across, along = size[0] ** 2 / 3.0 + size[1] ** 2 / 4.0, size[1] ** 2 / 2.0
    return np.array([across, across, along]) if kind == "capsule" else np.full(3, 0.4 * size[1] ** 2)


def shape_text(kind: str, size: tuple[float, ...], place: Any = (0.0, 0.0, 0.0), R: np.ndarray | None = None) -> str:
    """Return a solid as a scene says it."""
    quat = Rotation.from_matrix(np.eye(3) if R is None else R).as_quat(scalar_first=True)
    turn = f"orientation: {{quat_wxyz: {said(quat)}}}"
    if kind == "sphere":
        return f"sphere: {{center: {said(place)}, radius: {size[1]!r}}}"
    if kind == "capsule":
        return f"capsule: {{center: {said(place)}, length: {2 * size[0]!r}, radius: {size[1]!r}, {turn}}}"
    if kind == "plane":
        return f"plane: {{center: {said(place)}, normal: {said(np.eye(3)[2] if R is None else R[:, 2])}}}"
    return f"box: {{center: {said(place)}, size: {said(2 * np.array(size))}, {turn}}}"


def scene(world: str, bodies: str, initial: str, g: np.ndarray, more: str) -> str:
    """Return a scene; it samples at 1 Hz."""
    return f"""schema: 1
name: throw
world:
  gravity: {said(g)}
  shapes: [{world}]
bodies:
{bodies}
initial:
{initial}
{more}
simulate: {{record: 1}}
"""


@dataclass(frozen=True, eq=False)
class Body:
    """A free body of 1 kg with one solid about its origin, as text and as it moves."""

    name: str
    kind: str
    size: tuple[float, ...]
    flight: Flight
    R: np.ndarray

    @property
    def thing(self) -> Thing:
        return carried(family(self.kind), self.size, self.flight)

    @property
    def text(self) -> str:
        shape, moments = shape_text(self.kind, self.size), self.flight.moments
        return (
            f"  {self.name}: {{mass: 1, com: [0, 0, 0], position: [0, 0, 0], inertia: {said(moments)}, "
            f"shapes: [{{{shape}}}]}}"
        )

    @property
    def start(self) -> str:
        quat, f = Rotation.from_matrix(self.R).as_quat(scalar_first=True), self.flight
        return (
            f"  {self.name}: {{position: {said(f.p)}, quat_wxyz: {said(quat)}, velocity: {said(f.v)}, "
            f"angular_velocity: {said(f.w)}}}"
        )


def body(
    rng: np.random.Generator, name: str, kind: str, meets: np.ndarray, when: float, v: np.ndarray, g: np.ndarray,
    span: float,
) -> Body:  # fmt: skip
    """Return a free body that is at a place at a time; v is its velocity at the start."""
    size, R = size_of(rng, kind), Rotation.random(rng=rng).as_matrix()
    spin = 0.0 if rng.random() < 0.3 else min(log(rng, 0.1, 300.0), MOST_TURNS / span)
    w = np.round(spin * direction(rng), 6)
    moments = moments_of(kind, size)
    flight = Flight(meets - when * v - 0.5 * when**2 * g, v, g, w, moments, top(R, w, moments, span))
    return Body(name, kind, size, flight, R)


def times(rng: np.random.Generator) -> tuple[float, float]:
    """Return when solids would meet and how long to run."""
    when = log(rng, 0.02, 5.0)
    return when, float(round(when * log(rng, 0.7, 8.0), 6))


def gravity(rng: np.random.Generator) -> np.ndarray:
    """Return gravity, or none."""
    return np.array([0.0, 0.0, -G0 if rng.random() < 0.5 else 0.0])


TOUCH = "contacts: {c: {between: [a, %s], friction: 0.3, restitution: 0.5}}"


def thrown(rng: np.random.Generator, kind: str, other: str) -> Throw:
    """Throw a solid at another one that flies, at a plate or block, or at a plane of the world."""
    when, span = times(rng)
    g, speed = gravity(rng), log(rng, 0.1, 1000.0)
    way = speed * direction(rng)
    if other in SOLIDS:
        common = rng.uniform(0.0, 0.3) * speed * direction(rng)
        b = body(rng, "b", other, np.zeros(3), when, common, g, span)
        target, reach = b.thing, float(np.linalg.norm(b.size))
        offset = reach * direction(rng) * rng.random() ** 0.5
        world, bodies, initial, whom, v = "", "\n" + b.text, "\n" + b.start, "b", common + way
    else:
        R = Rotation.random(rng=rng).as_matrix()
        half = (*np.round(rng.uniform(0.05, 1.0, 2), 6).tolist(), round(0.5 * log(rng, 1e-3, 1.0), 6))
        target = still("plane" if other == "plane" else "box", half, np.zeros(3), R)
        offset = R @ (rng.uniform(-1.1, 1.1, 3) * half)
        world, bodies, initial, whom, v = f"{{{shape_text(other, half, R=R)}}}", "", "", "world", way
        if other == "plane":
            v = v if v @ R[:, 2] < 0.0 else -v
            offset = rng.uniform(-0.5, 0.5) * R[:, 2] if rng.random() < 0.3 else np.zeros(3)
    a = body(rng, "a", kind, offset, when, v - when * g if len(world) else v, g, span)
    thing = a.thing
    text = scene(world, a.text + bodies, a.start + initial, g, TOUCH % whom)
    spins = [float(np.linalg.norm(x.w)) * t.reach for x, t in ((a.flight, thing),)]
    spins += [float(np.linalg.norm(b.flight.w)) * target.reach] if other in SOLIDS else []

    def way_of(t: float) -> float:
        return sum(spins) * t

    return Throw(f"{kind}-{other}", text, span, gap(thing, target), approach(thing, target), way_of)


# --- links ------------------------------------------------------------------------------------------------------------


def turned(axis: np.ndarray, angle: np.ndarray) -> np.ndarray:
    """Return rotations (n, 3, 3) about an axis by angles (n,)."""
    return np.asarray(Rotation.from_rotvec(np.asarray(angle)[:, None] * axis).as_matrix())


def constant(value: float) -> Rates:
    """Return a rate that is the same in every span."""
    return lambda low, high: np.full(len(low), value)


def at_one(path: Path, place: np.ndarray, t: float) -> np.ndarray:
    """Return where a place of what moves is at a time."""
    p, R = path(np.array([t]))
    return np.asarray((p + R @ place)[0])


def swing(axis: np.ndarray, c: np.ndarray, moments: np.ndarray, rate: float, g: np.ndarray, span: float) -> Any:
    """Return angle and rate over time (2, n) of a link of 1 kg on a hinge at the origin, and bounds of both rates.

    c : centre of mass at the angle 0, where it starts; by Newton's law about the hinge, to 1e-12
    """
    across = c - (c @ axis) * axis
    inertia = float(axis @ (moments * axis) + across @ across)
    even, odd = float(axis @ np.cross(across, g)) / inertia, float(axis @ np.cross(np.cross(axis, across), g)) / inertia
    strength = float(np.hypot(even, odd))
    most = np.sqrt(rate**2 + 4.0 * strength)
    if strength == 0.0:
        return lambda t: np.stack([rate * t, np.full(len(t), rate)]), most, 1e-9

    def slope(t: float, y: np.ndarray) -> list[float]:
        return [y[1], even * np.cos(y[0]) + odd * np.sin(y[0])]

    found = solve_ivp(slope, (0.0, span), [0.0, rate], method="DOP853", rtol=1e-12, atol=1e-12, dense_output=True)
    return found.sol, most, strength


def link_text(name: str, c: np.ndarray, moments: np.ndarray, kind: str, size: tuple[float, ...], Q: np.ndarray) -> str:
    """Return a link of 1 kg whose solid is about its centre of mass."""
    shape = shape_text(kind, size, c, Q)
    return f"  {name}: {{mass: 1, com: {said(c)}, inertia: {said(moments)}, shapes: [{{{shape}}}]}}"


def swung(rng: np.random.Generator, kind: str) -> Throw:
    """Swing a solid on a hinge at another one that flies or floats."""
    g, axis, size = gravity(rng), direction(rng), size_of(rng, kind)
    c, Q = log(rng, 0.1, 1.0) * direction(rng), Rotation.random(rng=rng).as_matrix()
    c = c if c @ g >= 0.0 else -c  # it hangs: one that stands on its head doubles small errors again and again
    moments = np.round(rng.uniform(0.005, 0.009, 3), 6)
    turns, rate = log(rng, 0.3, 60.0), log(rng, 0.1, 1000.0)
    when = min(turns / rate, 5.0)
    span = float(round(when * log(rng, 0.7, 5.0), 6))
    state, most, _ = swing(axis, c, moments, rate, g, span * 1.001)

    def path(t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return np.zeros((1, 3)), turned(axis, state(t)[0])

    a = Thing(family(kind), size, path, constant(0.0), c, Q)
    a = replace(a, speed=constant(most * a.reach))
    meets = at_one(path, c, min(when, span))
    b = body(rng, "b", SOLIDS[rng.integers(3)], meets, when, log(rng, 1e-3, 10.0) * direction(rng) - when * g, g, span)
    joint = f"joints: {{hinge: {{type: rotational, parent: world, child: a, position: [0, 0, 0], axis: {said(axis)}}}}}"
    start = f"  hinge: {{coordinate: 0, rate: {number(rate)}}}\n{b.start}"
    bodies = link_text("a", c, moments, kind, size, Q) + "\n" + b.text
    text = scene("", bodies, start, g, joint + "\n" + TOUCH % "b")
    spin, arm = float(np.linalg.norm(b.flight.w)) * b.thing.reach, a.reach
    return Throw(f"swung {kind}", text, span, gap(a, b.thing), approach(a, b.thing), lambda t: (most * arm + spin) * t)


def post(rng: np.random.Generator, meets: np.ndarray) -> tuple[str, Thing]:
    """Return a solid of the world near a place, as text and as it stands."""
    R = Rotation.random(rng=rng).as_matrix()
    if rng.random() < 0.3:
        size = (0.0, round(log(rng, 1e-3, 0.05), 6))
        place = meets + 0.02 * rng.uniform(-1, 1, 3)
        return shape_text("sphere", size, place), still("round", size, place, R)
    half = (*np.round(rng.uniform(0.01, 0.1, 2), 6).tolist(), round(0.5 * log(rng, 1e-3, 0.1), 6))
    place = meets + R @ (rng.uniform(-1.1, 1.1, 3) * half)
    return shape_text("box", half, place, R), still("box", half, place, R)


def chain(axes: np.ndarray, l1: np.ndarray, moments: np.ndarray, c2: np.ndarray, kind: str, size: Any, Q: Any) -> str:
    """Return two links as text, the second with a solid; the first has its centre of mass half way to the second."""
    return (
        f"  one: {{mass: 1, com: {said(0.5 * l1)}, inertia: {said(moments)}}}\n"
        + link_text("a", l1 + c2, moments, kind, size, Q)
        + "\n"
    )


def two_joints(axes: np.ndarray, l1: np.ndarray, more: tuple[str, str] = ("", "")) -> str:
    """Return the joints of two links."""
    return f"""joints:
  first: {{type: rotational, parent: world, child: one, position: [0, 0, 0], axis: {said(axes[0])}{more[0]}}}
  second: {{type: rotational, parent: one, child: a, position: {said(l1)}, axis: {said(axes[1])}{more[1]}}}
"""


def on_two_links(rng: np.random.Generator, kind: str) -> Throw:
    """Swing a solid on a plane double pendulum at a solid of the world."""
    y = np.array([0.0, 1.0, 0.0])
    g, size = gravity(rng), size_of(rng, kind)
    length, low = log(rng, 0.1, 0.5), log(rng, 0.1, 0.5)
    l1, c2 = np.array([0.0, 0.0, -length]), np.array([0.0, 0.0, -low])
    Q, moments = Rotation.random(rng=rng).as_matrix(), np.round(rng.uniform(0.005, 0.009, 3), 6)
    rates = np.round(log(rng, 0.3, 100.0) * rng.uniform(-1.0, 1.0, 2), 6)  # of both links
    m11, m22 = moments[1] + 1.25 * length**2, moments[1] + low**2
    m12, w1, w2 = length * low, 1.5 * length * -g[2], low * -g[2]
    moving = 0.5 * (m11 * rates[0] ** 2 + m22 * rates[1] ** 2) + m12 * rates[0] * rates[1]
    most = np.sqrt(2.0 * (moving + 2.0 * (w1 + w2)) / (m11 * m22 - m12**2) * np.array([m22, m11]))
    when = min(log(rng, 0.3, 30.0) / float(np.abs(rates).max()), 3.0)
    span = float(round(when * log(rng, 0.7, 3.0), 6))

    def slope(t: float, s: np.ndarray) -> list[float]:
        cosine, sine = m12 * np.cos(s[0] - s[1]), m12 * np.sin(s[0] - s[1])
        f1, f2 = -sine * s[3] ** 2 - w1 * np.sin(s[0]), sine * s[2] ** 2 - w2 * np.sin(s[1])
        free = m11 * m22 - cosine**2
        return [s[2], s[3], (m22 * f1 - cosine * f2) / free, (m11 * f2 - cosine * f1) / free]

    start = [0.0, 0.0, *rates]
    found = solve_ivp(slope, (0.0, span), start, method="DOP853", rtol=1e-12, atol=1e-12, dense_output=True)

    def path(t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        angles = found.sol(t)
        return turned(y, angles[0]) @ l1, turned(y, angles[1])

    a = Thing(family(kind), size, path, constant(0.0), c2, Q)
    fast = float(most[0] * length + most[1] * a.reach)
    a = replace(a, speed=constant(fast))
    world, b = post(rng, at_one(path, c2, min(when, span)))
    turns = {"first": rates[0], "second": rates[1] - rates[0]}
    initial = "\n".join(f"  {joint}: {{coordinate: 0, rate: {number(rate)}}}" for joint, rate in turns.items())
    axes = np.array([y, y])
    text = scene(
        f"{{{world}}}", chain(axes, l1, moments, c2, kind, size, Q), initial, g,
        two_joints(axes, l1) + TOUCH % "world",
    )  # fmt: skip
    return Throw(f"{kind} on two links", text, span, gap(a, b), approach(a, b), lambda t: fast * t)


def driven(rng: np.random.Generator, kind: str) -> Throw:
    """Turn a solid on two driven joints, in space, at a solid of the world."""
    g, size = gravity(rng), size_of(rng, kind)
    axes = np.array([direction(rng), direction(rng)])
    l1, c2 = log(rng, 0.1, 0.5) * direction(rng), log(rng, 0.1, 0.5) * direction(rng)
    Q, moments = Rotation.random(rng=rng).as_matrix(), np.round(rng.uniform(0.005, 0.009, 3), 6)
    rates = np.round(log(rng, 0.3, 1000.0) * rng.uniform(-1.0, 1.0, 2), 6)
    when = min(log(rng, 0.3, 60.0) / float(np.abs(rates).max()), 5.0)
    span = float(round(when * log(rng, 0.7, 4.0), 6))

    def path(t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        R1 = turned(axes[0], rates[0] * t)
        return R1 @ l1, R1 @ turned(axes[1], rates[1] * t)

    a = Thing(family(kind), size, path, constant(0.0), c2, Q)
    fast = float(abs(rates[0]) * (np.linalg.norm(l1) + a.reach) + abs(rates[1]) * a.reach)
    a = replace(a, speed=constant(fast))
    world, b = post(rng, at_one(path, c2, min(when, span)))
    more = [f", motion: {float(rate)!r} rad/s*t" for rate in rates]
    text = scene(
        f"{{{world}}}", chain(axes, l1, moments, c2, kind, size, Q), "  {}", g,
        two_joints(axes, l1, (more[0], more[1])) + TOUCH % "world",
    ).replace("initial:\n  {}\n", "")  # fmt: skip
    return Throw(f"driven {kind}", text, span, gap(a, b), approach(a, b), lambda t: fast * t)


# --- conditions -------------------------------------------------------------------------------------------------------

WHEN = 'events: {{found: {{when: "{}", stop: true}}}}'
WHEEL = "joints: {hinge: {type: rotational, parent: world, child: a, position: [0, 0, 0], axis: %s}}\n"


def number(x: float) -> str:
    """Return a number as a condition says it, to the last bit."""
    return f"({float(x)!r})"


def flying(rng: np.random.Generator) -> tuple[Body, float, float, np.ndarray]:
    """Return a ball that flies, when it is at the origin, how long to run, and gravity."""
    when, span = times(rng)
    g, speed = gravity(rng), log(rng, 0.1, 1000.0)
    return body(rng, "a", "sphere", np.zeros(3), when, speed * direction(rng) - when * g, g, span), when, span, g


def short(rng: np.random.Generator) -> float:
    """Return how long a condition holds [s]."""
    return log(rng, 1e-4, 0.1)


def window(rng: np.random.Generator, a: Body, when: float, g: np.ndarray, k: int) -> tuple[str, Values]:
    """Return a window of a coordinate that a ball passes about a time, as text and as a value."""
    rate, half = float((a.flight.v + when * g)[k]), 0.5 * short(rng)
    low, high = sorted(float(rate * half * s) for s in (-1.0, 1.0))
    text = f"position('a')[{k}] > {number(low)} and position('a')[{k}] < {number(high)}"
    if rng.random() < 0.3:
        text = f"not (position('a')[{k}] < {number(low)} or position('a')[{k}] > {number(high)})"
    return text, lambda t: np.minimum(a.flight.at(t)[0][:, k] - low, high - a.flight.at(t)[0][:, k])


def condition(
    kind: str, bodies: str, initial: str, g: np.ndarray, joints: str, when: str, span: float, value: Values,
    rate: Rates, way: float = 0.0,
) -> Throw:  # fmt: skip
    """Return a throw of which the value rises above zero where the condition becomes true."""
    text = scene("", bodies, initial, g, joints + WHEN.format(when))
    return Throw(kind, text, span, lambda t: -value(t), rate, lambda t: way * t)


def place_window(rng: np.random.Generator) -> Throw:
    """A ball passes a window of a coordinate."""
    a, when, span, g = flying(rng)
    text, value = window(rng, a, when, g, int(rng.integers(3)))
    return condition("place window", a.text, a.start, g, "", text, span, value, a.flight.speed(0.0))


def either_window(rng: np.random.Generator) -> Throw:
    """A ball passes one of two windows."""
    a, when, span, g = flying(rng)
    (one, of_one), (two, of_two) = (window(rng, a, when * rng.uniform(0.8, 1.2), g, k) for k in (0, 2))
    return condition(
        "either window", a.text, a.start, g, "", f"({one}) or ({two})", span,
        lambda t: np.maximum(of_one(t), of_two(t)), a.flight.speed(0.0),
    )  # fmt: skip


def place_and_time(rng: np.random.Generator) -> Throw:
    """A ball is beyond a place until a time shortly after it gets there."""
    a, when, span, g = flying(rng)
    k = int(rng.integers(3))
    side = float(np.sign((a.flight.v + when * g)[k])) or 1.0
    end = when + rng.uniform(-0.3, 1.0) * short(rng)
    text = f"{number(side)}*position('a')[{k}] > 0 and t < {number(end)}"
    speed = a.flight.speed(0.0)
    return condition(
        "place and time", a.text, a.start, g, "", text, span,
        lambda t: np.minimum(side * a.flight.at(t)[0][:, k], end - t),
        lambda low, high: np.maximum(speed(low, high), 1.0),
    )  # fmt: skip


def height(rng: np.random.Generator) -> Throw:
    """A ball is thrown up and rises a little above a height."""
    when, span = times(rng)
    g, above = np.array([0.0, 0.0, -G0]), log(rng, 1e-5, 0.1)
    a = body(rng, "a", "sphere", np.zeros(3), when, np.array([1.0, 0.0, G0 * when]), g, span)
    return condition(
        "height", a.text, a.start, g, "", f"position('a')[2] > {number(-above)}", span,
        lambda t: a.flight.at(t)[0][:, 2] + above, a.flight.speed(0.0),
    )  # fmt: skip


def grazing_balls(rng: np.random.Generator) -> Throw:
    """Two balls pass one another and overlap by a very little, or do not."""
    when, span = times(rng)
    g, relative = gravity(rng), log(rng, 0.1, 1000.0) * direction(rng)
    a = body(rng, "a", "sphere", np.zeros(3), when, relative + direction(rng) - when * g, g, span)
    b = body(rng, "b", "sphere", np.zeros(3), when, a.flight.v - relative, g, span)
    aside = np.cross(relative, direction(rng))
    aside *= (a.size[1] + b.size[1] - grazing(rng)) / np.linalg.norm(aside)
    b = replace(b, flight=replace(b.flight, p=b.flight.p + aside))
    text = scene("", a.text + "\n" + b.text, a.start + "\n" + b.start, g, TOUCH % "b")
    fast = constant(1.001 * float(np.linalg.norm(relative)))  # turning changes nothing
    return Throw("grazing balls", text, span, gap(a.thing, b.thing), fast, lambda t: 0.0)


def grazing_lid(rng: np.random.Generator) -> Throw:
    """A ball is thrown up and gets as high as a plane above it, a very little more, or less."""
    when, span = times(rng)
    g = np.array([0.0, 0.0, -G0])
    a = body(rng, "a", "sphere", np.zeros(3), when, np.array([log(rng, 0.1, 100.0), 0.0, G0 * when]), g, span)
    place, down = np.array([0.0, 0.0, a.size[1] - grazing(rng)]), np.diag([1.0, -1.0, -1.0])
    text = scene(f"{{{shape_text('plane', (), place, down)}}}", a.text, a.start, g, TOUCH % "world")
    lid = still("plane", (0.0, 0.0, 0.0), place, down)

    def rising(low: np.ndarray, high: np.ndarray) -> np.ndarray:
        return np.maximum(*(np.abs(a.flight.v[2] - G0 * t) for t in (low, high)))

    return Throw("grazing lid", text, span, gap(a.thing, lid), rising, lambda t: 0.0)


def grazing(rng: np.random.Generator) -> float:
    """Return how deep [m] solids get that pass: to some micrometres, or negative."""
    return float(rng.choice([-1.0, 1.0, 1.0])) * log(rng, 1e-8, 1e-3)


def near(rng: np.random.Generator) -> Throw:
    """Two balls pass one another; their centres come nearer than a distance."""
    a, when, span, g = flying(rng)
    relative = log(rng, 0.1, 1000.0) * direction(rng)
    passes = np.cross(relative, direction(rng))
    passes *= log(rng, 0.01, 1.0) / np.linalg.norm(passes)
    b = body(rng, "b", "sphere", passes, when, a.flight.v - relative, g, span)
    least = float(np.linalg.norm(passes)) + log(rng, 1e-5, 0.1)
    return condition(
        "distance", a.text + "\n" + b.text, a.start + "\n" + b.start, g, "",
        f"distance('a', 'b') < {number(least)}", span,
        lambda t: least - np.linalg.norm(a.flight.at(t)[0] - b.flight.at(t)[0], axis=1),
        constant(1.001 * float(np.linalg.norm(relative))),
    )  # fmt: skip


def wheel(rng: np.random.Generator) -> tuple[str, str, str, float, float, float]:
    """Return a wheel about y as text, its start, its joint, its rate, how far it turns until a time, and the span."""
    rate, turns = log(rng, 0.1, 1000.0), log(rng, 0.5, 1000.0)
    when = min(turns / rate, 10.0)
    span = float(round(when * log(rng, 0.7, 5.0), 6))
    text = "  a: {mass: 1, com: [0, 0, 0], inertia: [0.01, 0.02, 0.01], points: {tip: [0, 0, 0.3]}}"
    return text, f"  hinge: {{coordinate: 0, rate: {number(rate)}}}", WHEEL % "[0, 1, 0]", rate, rate * when, span


def angle_window(rng: np.random.Generator) -> Throw:
    """A wheel turns through a window of its angle."""
    text, start, joint, rate, turns, span = wheel(rng)
    width = rate * short(rng)
    when = f"coordinate('hinge') > {number(turns)} and coordinate('hinge') < {number(turns + width)}"
    return condition(
        "angle window", text, start, np.zeros(3), joint, when, span,
        lambda t: np.minimum(rate * t - turns, turns + width - rate * t), constant(rate), rate,
    )  # fmt: skip


def tip(rng: np.random.Generator) -> Throw:
    """A point on a wheel is near its top for a moment; it starts at the bottom or so."""
    text, start, joint, rate, _, span = wheel(rng)
    begin, half = float(rng.uniform(1.0, 5.0)), log(rng, 5e-3, 0.3)
    start = start.replace("coordinate: 0", f"coordinate: {number(begin)}")
    level = 0.3 * float(np.cos(half))
    return condition(
        "tip", text, start, np.zeros(3), joint, f"position('a.tip')[2] > {number(level)}", span,
        lambda t: 0.3 * np.cos(begin + rate * t) - level, constant(0.3 * rate), 0.3 * rate,
    )  # fmt: skip


def free_tip(rng: np.random.Generator) -> Throw:
    """A corner of a free spinning box is higher than a height for a moment."""
    g, span = gravity(rng), log(rng, 0.1, 5.0)
    a = body(rng, "a", "box", np.zeros(3), 0.5 * span, log(rng, 0.01, 10.0) * direction(rng), g, span)
    corner = np.array(a.size)
    thing = replace(a.thing, place=corner)

    def z(t: np.ndarray) -> np.ndarray:
        return np.asarray(thing.at(t)[0][:, 2])

    grid = np.linspace(0.02 * span, 0.9 * span, 400)
    level = float(z(grid).max()) - log(rng, 1e-5, 0.01)
    text = a.text.replace("shapes:", f"points: {{tip: {said(corner)}}}, shapes:")
    fast = float(np.linalg.norm(a.flight.w)) * thing.reach
    return condition(
        "free tip", text, a.start, g, "", f"position('a.tip')[2] > {number(level)}", span, lambda t: z(t) - level,
        a.flight.speed(float(np.linalg.norm(corner))), fast,
    )  # fmt: skip


def pendulum(rng: np.random.Generator) -> Throw:
    """A pendulum's angle or rate is a little below its peak, or above its trough, for a moment."""
    axis, g = direction(rng), np.array([0.0, 0.0, -G0])
    c, moments = log(rng, 0.05, 1.0) * direction(rng), np.round(rng.uniform(0.005, 0.009, 3), 6)
    rate, span = float(round(rng.uniform(-6.0, 6.0), 6)), log(rng, 0.2, 6.0)
    state, most, strength = swing(axis, c, moments, rate, g, span * 1.001)
    which, depth = int(rng.integers(2)), log(rng, 1e-5, 0.1)
    side = 1.0 if rng.random() < 0.5 else -1.0
    level = float((side * state(np.linspace(0.05 * span, span, 400))[which]).max()) - depth
    name = ("coordinate", "rate")[which]
    return condition(
        f"pendulum's {name}", f"  a: {{mass: 1, com: {said(c)}, inertia: {said(moments)}}}",
        f"  hinge: {{coordinate: 0, rate: {number(rate)}}}", g, WHEEL % said(axis),
        f"{number(side)}*{name}('hinge') > {number(level)}", span, lambda t: side * state(t)[which] - level,
        constant(1.001 * (most, strength)[which]), most,
    )  # fmt: skip


def time_window(rng: np.random.Generator) -> Throw:
    """A condition of time alone."""
    a, when, span, g = flying(rng)
    end = when + short(rng)
    return condition(
        "time window", a.text, a.start, g, "", f"t > {number(when)} and t < {number(end)}", span,
        lambda t: np.minimum(t - when, end - t), constant(1.0),
    )  # fmt: skip


# --- all of them ------------------------------------------------------------------------------------------------------

Maker = Callable[[np.random.Generator], Throw]


def _throws() -> dict[str, Maker]:
    pairs = [(a, b) for i, a in enumerate(SOLIDS) for b in SOLIDS[: i + 1]]
    pairs += [(a, b) for a in SOLIDS for b in ("plate", "plane")]
    grazed = {"grazing balls": grazing_balls, "grazing lid": grazing_lid}
    return {f"{a}-{b}": lambda rng, a=a, b=b: thrown(rng, a, b) for a, b in pairs} | grazed


def _links() -> dict[str, Maker]:
    out: dict[str, Maker] = {}
    for kind in SOLIDS:
        out[f"swung {kind}"] = lambda rng, kind=kind: swung(rng, kind)
        out[f"{kind} on two links"] = lambda rng, kind=kind: on_two_links(rng, kind)
        out[f"driven {kind}"] = lambda rng, kind=kind: driven(rng, kind)
    return out


CONDITIONS: dict[str, Maker] = {
    "place window": place_window, "either window": either_window, "place and time": place_and_time, "height": height,
    "distance": near, "angle window": angle_window, "tip": tip, "free tip": free_tip, "pendulum": pendulum,
    "time window": time_window,
}  # fmt: skip
KINDS: dict[str, Maker] = _throws() | _links() | CONDITIONS


def make(kind: str, seed: int, number: int) -> Throw:
    """Return one throw of a kind; those that begin in touch, or true, are drawn again."""
    rng = np.random.default_rng([seed, list(KINDS).index(kind), number])
    while True:
        throw = KINDS[kind](rng)
        rough = 0.0 if kind in CONDITIONS else ROUGH
        if float(throw.value(np.zeros(1))[0]) > rough:
            return throw


def outcomes(kind: str, count: int, seed: int, simulate: str = "") -> list[tuple[int, Outcome]]:
    """Return what comes of so many throws of a kind."""
    return [(k, judge(make(kind, seed, k), simulate)) for k in range(count)]


def main() -> None:
    """Throw, count by kind, and print the first of those that are missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kind", choices=list(KINDS))
    parser.add_argument("--one", type=int, help="print this one's scene and what comes of it")
    parser.add_argument("--show", type=int, default=3, help="how many to name of each kind that are not right")
    parser.add_argument("--simulate", default="", help="more of how it is simulated, as 'method: radau'")
    wish = parser.parse_args()
    if wish.one is not None:
        throw = make(wish.kind or next(iter(KINDS)), wish.seed, wish.one)
        print(throw.text + f"# duration: {throw.span!r} s\n# {judge(throw, wish.simulate)}")
        return
    kinds, total, began = [wish.kind] if wish.kind else list(KINDS), Counter[str](), time.perf_counter()
    print(f"{'':24}" + "".join(f"{name:>15}" for name in CLASSES))
    for n, kind in enumerate(kinds):
        found = outcomes(kind, len(range(n, wish.count, len(kinds))), wish.seed, wish.simulate)
        counted = Counter(outcome.what for _, outcome in found)
        total += counted
        print(f"{kind:24}" + "".join(f"{counted[name]:15}" for name in CLASSES), flush=True)
        wrong = [item for item in found if item[1].what in (MISSED, FALSE, ENDED)]
        for k, outcome in wrong[: wish.show]:
            print(f"    --one {k}: {outcome.what}, told {outcome.told:.9g}, right {outcome.deep:.9g} {outcome.said}")
    print(f"{'all':24}" + "".join(f"{total[name]:15}" for name in CLASSES))
    print(f"{time.perf_counter() - began:.0f} s")


if __name__ == "__main__":
    main()
