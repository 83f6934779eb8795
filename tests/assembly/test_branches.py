"""What `initial` and `set` write is kept, on the branch of the drawing, or refused: against screws in fine steps."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

import sim
from sim.assembly.branches import _seeds
from sim.assembly.continuation import Way
from sim.assembly.start import first_structure
from sim.mechanism.mechanism import Mechanism
from sim.scene.library import find
from sim.scene.load import load_text
from sim.scene.problem import Problem
from tests.assembly import screws

pytestmark = pytest.mark.fast


def coordinates(text: str) -> dict[str, float]:
    """Return the coordinates at the start of a scene, by column."""
    simulator = sim.Simulator(sim.compile(load_text(text)))
    return {name: float(simulator.coordinate[name]) for name in simulator.model.column_names if "[" not in name}


# The shipped four-bar: closed forms.


def four_bar(initial: str) -> str:
    old, text = "initial: {drive: {rate: 6 rad/s}}", find("four_bar").read_text(encoding="utf-8")
    assert old in text
    return text.replace(old, f"initial: {initial}")


def pivots(drive: float) -> tuple[float, float]:
    """Return the rocker's angle on the drawing's branch and on the other one, by two circles [rad]."""
    pin = np.array([0.2 * math.sin(drive), 0.6 + 0.2 * math.cos(drive)])
    base, coupler, rocker = np.array([0.45, 0.6]), math.hypot(0.45, 0.2), 0.4
    d = base - pin
    size = float(np.linalg.norm(d))
    along = (coupler**2 - rocker**2 + size**2) / (2 * size)
    across = math.sqrt(coupler**2 - along**2)
    out = []
    for side in (1.0, -1.0):
        top = pin + along * d / size + side * across * np.array([-d[1], d[0]]) / size - base
        out.append(math.atan2(top[0], top[1]))
    return out[0], out[1]


@pytest.mark.parametrize(
    ("drive", "pivot"), [(90, 0.1002), (120, -0.3642), (150, -0.6855), (180, -0.8364), (-120, -0.8350)]
)
def test_the_four_bar_stays_on_the_branch_of_its_drawing(drive: float, pivot: float) -> None:
    found = coordinates(four_bar(f"{{drive: {drive} deg}}"))
    assert found["drive"] == math.radians(drive)
    assert found["pivot"] == pytest.approx(pivot, abs=5e-5)
    assert found["pivot"] == pytest.approx(pivots(math.radians(drive))[0], abs=1e-10)


def angle(x: float) -> float:
    """Return an angle without its whole turns."""
    return math.remainder(x, 2.0 * math.pi)


@pytest.mark.parametrize("drive", [120.0, -60.0, 200.0])
@pytest.mark.parametrize("off", [-20.0, 0.0, 30.0])
def test_a_guess_for_a_second_joint_chooses_the_branch(drive: float, off: float) -> None:
    for branch in pivots(math.radians(drive)):
        guess = branch + math.radians(off)
        found = coordinates(four_bar(f"{{drive: {drive} deg, pivot: {{near: {guess!r}}}}}"))
        assert found["drive"] == math.radians(drive)
        assert found["pivot"] == pytest.approx(branch, abs=1e-10)  # told by the turn of the guess


def test_a_guess_alone_is_met_where_it_can_be() -> None:
    found = coordinates(four_bar("{pivot: {near: -150 deg}}"))
    assert found["pivot"] == pytest.approx(math.radians(-150.0), abs=1e-12)
    assert min(abs(angle(found["pivot"] - x)) for x in pivots(found["drive"])) < 1e-10


def test_a_guess_of_a_loop_joint_counts_from_its_turn() -> None:
    """The joint that closes the loop of the four-bar turns by the rocker's angle less the coupler's."""
    one = coordinates(four_bar("{drive: 120 deg}"))["link"]
    guess = one + 2.0 * math.pi + 0.3
    found = coordinates(four_bar(f"{{drive: 120 deg, link: {{near: {guess!r}}}}}"))
    assert found["link"] == pytest.approx(one + 2.0 * math.pi, abs=1e-9)


def test_values_of_all_joints_that_fit_choose_their_branch() -> None:
    """Who pastes a whole pose means that pose; `sim check` prints such poses."""
    other = coordinates(four_bar(f"{{drive: 120 deg, pivot: {{near: {pivots(math.radians(120.0))[1]!r}}}}}"))
    said = ", ".join(f"{name}: {other[name]!r}" for name in ("drive", "pin", "pivot"))
    assert coordinates(four_bar(f"{{{said}}}")) == pytest.approx(other, abs=1e-9)


def test_values_that_leave_a_choice_of_poses_choose_no_branch() -> None:
    """The rocker where the other branch alone has it, and how a pendulum hangs: every crank angle would do."""
    other = pivots(math.radians(120.0))[1]
    text = four_bar(f"{{pivot: {other!r}, swings: 0.3}}")
    text = text.replace("\nbodies:\n", "\nbodies:\n  bob: {mass: 1, com: [3, 0, 0], inertia: [1, 1, 1]}\n")
    hinge = "{type: rotational, parent: world, child: bob, position: [3, 0, 1], axis: [0, 1, 0]}"
    (problem,) = problems(text.replace("\njoints:\n", f"\njoints:\n  swings: {hinge}\n"))
    assert problem.path == "initial.pivot" and "with 'swings' as written, 'pivot' comes to" in problem.what


def test_branches_are_looked_for_from_everywhere() -> None:
    """Twelve poses besides the drawing, angles within half a turn either way, slides within half the size."""
    text = PARALLELOGRAM.replace("pb: {type: rotational", "pb: {type: cylindrical")
    model = sim.compile(load_text(text))
    mechanism = Mechanism.of(model, first_structure(model))
    drawn = np.arange(mechanism.structure.sizes.q) * 1.0
    first, *others = _seeds(mechanism, drawn, ())
    off = np.abs(np.array(others) - drawn) / np.where(
        mechanism.structure.tables.freedoms.linear, model.length / 2, np.pi
    )
    assert np.array_equal(first, drawn) and off.shape == (12, 4)
    assert off.max() <= 1.0 and (off.max(axis=0) > 0.7).all() and (off.min(axis=0) < 0.3).all()


def test_the_pose_that_a_check_prints_is_that_of_the_start() -> None:
    text = four_bar("{drive: 120 deg}")
    report = sim.check(load_text(text))
    assert report.ok
    assert report.pose_yaml.startswith("initial:\n")
    pose = ", ".join(line.strip() for line in report.pose_yaml.splitlines()[1:])
    assert coordinates(four_bar(f"{{drive: 120 deg, {pose}}}")) == pytest.approx(coordinates(text), abs=1e-9)


def problems(text: str) -> list[Problem]:
    with pytest.raises(sim.SceneError) as caught:
        coordinates(text)
    return caught.value.problems


def test_what_cannot_be_kept_is_refused_with_what_was_reached() -> None:
    """The rocker's limits, where crank and coupler are in line, by the law of cosines."""
    base, rocker, reach = 0.45, 0.4, math.hypot(0.45, 0.2) + 0.2
    limit = math.degrees(math.pi / 2 - math.acos((base**2 + rocker**2 - reach**2) / (2 * base * rocker)))
    (problem,) = problems(four_bar("{pivot: 40 deg}"))
    assert problem.path == "initial.pivot"
    assert problem.what == (
        "the loops do not allow this coordinate: on the branch of the drawing 'pivot' comes to "
        f"{-limit:.6g} deg, not to 40 deg"
    )
    assert "near" in problem.hint


def test_a_second_value_that_does_not_fit_is_told_what_it_would_be() -> None:
    (problem,) = problems(four_bar("{drive: 120 deg, pivot: 10 deg}"))
    there = math.degrees(pivots(math.radians(120.0))[0])
    assert problem.path == "initial.pivot"
    assert f"with 'drive' as written, 'pivot' comes to {there:.6g} deg, not to 10 deg" in problem.what


def test_no_guess_that_is_far_from_all_poses_moves_what_is_written() -> None:
    found = coordinates(four_bar("{drive: 120 deg, pivot: {near: 80 deg}}"))
    assert found["drive"] == math.radians(120.0)


# Change points.

PARALLELOGRAM = """
schema: 1
name: parallelogram
world: {gravity: [0, 0, 0]}
bodies:
  a: {mass: 2 kg, com: [-0.3, 0, 0.85], inertia: [0.05, 0.05, 0.005]}
  b: {mass: 2 kg, com: [0.3, 0, 0.85], inertia: [0.05, 0.05, 0.005]}
  c: {mass: 3 kg, com: [0, 0, 0.6], inertia: [0.01, 0.1, 0.1]}
joints:
  pa: {type: rotational, parent: world, child: a, position: [-0.3, 0, 1.1], axis: [0, 1, 0]}
  pb: {type: rotational, parent: world, child: b, position: [0.3, 0, 1.1], axis: [0, 1, 0]}
  qa: {type: rotational, parent: a, child: c, position: [-0.3, 0, 0.6], axis: [0, 1, 0]}
  qb: {type: rotational, parent: b, child: c, position: [0.3, 0, 0.6], axis: [0, 1, 0]}
"""


@pytest.mark.parametrize("pa", [60, -60, 89.9999999, 90, 90.0000001, 150, -170, 180, 400, -1000])
def test_a_parallelogram_stays_one(pa: float) -> None:
    found = coordinates(PARALLELOGRAM + f"initial: {{pa: {pa} deg}}\n")
    turned = math.radians(pa)
    assert found == pytest.approx({"pa": turned, "pb": turned, "qa": -turned, "qb": -turned}, abs=1e-7)


@pytest.mark.parametrize("qb", [60, -60, 150, -200])
def test_a_parallelogram_stays_one_from_the_joint_that_closes_it(qb: float) -> None:
    found, turned = coordinates(PARALLELOGRAM + f"initial: {{qb: {qb} deg}}\n"), math.radians(qb)
    assert found == pytest.approx({"pa": -turned, "pb": -turned, "qa": turned, "qb": turned}, abs=1e-7)


@pytest.mark.parametrize("joint", ["pa", "qb"])
def test_thousands_of_turns_are_kept_and_take_no_time(joint: str) -> None:
    found = coordinates(PARALLELOGRAM + f"initial: {{{joint}: -12345 rad}}\n")
    assert found[joint] == pytest.approx(-12345.0, abs=1e-9)
    assert angle(found["pa"] - found["pb"]) == pytest.approx(0.0, abs=1e-9)
    assert angle(found["pa"] + found["qb"]) == pytest.approx(0.0, abs=1e-9)


def test_a_guess_makes_the_parallelogram_cross() -> None:
    """The other pose: pins a distance 0.6 apart, top of b on two circles."""
    pa = math.radians(60.0)
    pin = np.array([-0.3 - 0.5 * math.sin(pa), 1.1 - 0.5 * math.cos(pa)])
    d = np.array([0.3, 1.1]) - pin
    size = float(np.linalg.norm(d))
    along = (0.6**2 - 0.5**2 + size**2) / (2 * size)
    across = math.sqrt(0.6**2 - along**2)
    tops = [pin + (along * d + side * across * np.array([-d[1], d[0]])) / size - [0.3, 1.1] for side in (1.0, -1.0)]
    turns = [math.atan2(-top[0], -top[1]) for top in tops]
    crossed = max(turns, key=lambda pb: abs(angle(pb - pa)))
    found = coordinates(PARALLELOGRAM + f"initial: {{pa: 60 deg, pb: {{near: {crossed + 0.2!r}}}}}\n")
    assert (found["pa"], found["pb"]) == (pytest.approx(pa, abs=1e-15), pytest.approx(crossed, abs=1e-9))


@pytest.mark.parametrize("beyond", [3e-6, 5e-5, 4e-4, 3e-3])
@pytest.mark.parametrize("pa", [90.0, -90.0])
def test_a_change_point_close_to_the_end_is_stepped_over_and_no_further(pa: float, beyond: float) -> None:
    turned = math.radians(pa) + math.copysign(beyond, pa)
    found = coordinates(PARALLELOGRAM + f"initial: {{pa: {turned!r}}}\n")
    assert found["pa"] == turned
    assert found == pytest.approx({"pa": turned, "pb": turned, "qa": -turned, "qb": -turned}, abs=1e-7)


@pytest.mark.parametrize(
    ("shorter", "pa"),
    [(0.03, 400.0), (0.01, -170.0), (0.003, 100.0), (0.003, -100.0), (0.001, 100.0), (0.001, -100.0), (0.001, 400.0)],
)
def test_branches_that_come_close_are_told_apart(shorter: float, pa: float) -> None:
    """With a shorter crank, both ways of closing nearly meet where all pins are in line, but never change sides."""
    old, turned = "position: [-0.3, 0, 0.6]", math.radians(pa)
    text = PARALLELOGRAM.replace(old, f"position: [-0.3, 0, {0.6 + shorter!r}]")
    assert old in PARALLELOGRAM
    crank, coupler, other, base = 0.5 - shorter, math.hypot(0.6, shorter), 0.5, np.array([0.3, 1.1])
    d = base - [-0.3 - crank * math.sin(turned), 1.1 - crank * math.cos(turned)]
    size = float(np.linalg.norm(d))
    along = (coupler**2 - other**2 + size**2) / (2 * size)
    top = along * d / size + math.sqrt(coupler**2 - along**2) * np.array([d[1], -d[0]]) / size - d
    found = coordinates(text + f"initial: {{pa: {turned!r}}}\n")
    assert found["pa"] == turned
    assert found["pb"] == pytest.approx(math.atan2(-top[0], -top[1]), abs=1e-8)
    assert found["pa"] + found["qa"] == pytest.approx(found["pb"] + found["qb"], abs=1e-8)


@pytest.mark.parametrize(("shorter", "pa"), [(0.003, -100.0), (0.001, 100.0), (0.05, 250.0)])
def test_steps_of_a_way_are_short_turn_little_and_are_halved_or_doubled(
    shorter: float, pa: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """None longer than 0.2 rad; the corrector moves 0.3 of a step at most, the tangent turns by 0.2 rad at most."""
    tried: list[tuple[float, float, np.ndarray, bool, np.ndarray | None, np.ndarray, np.ndarray]] = []
    attempt = Way._try

    def watched(way: Way, s: float, step: float, tangent: np.ndarray, known: bool) -> tuple[np.ndarray, bool] | None:
        before = way.q.copy()
        out = attempt(way, s, step, tangent, known)
        tried.append((s, step, tangent.copy(), known, None if out is None else out[0], before, way.q.copy()))
        return out

    monkeypatch.setattr(Way, "_try", watched)
    text = PARALLELOGRAM.replace("position: [-0.3, 0, 0.6]", f"position: [-0.3, 0, {0.6 + shorter!r}]")
    coordinates(text + f"initial: {{pa: {math.radians(pa)!r}}}\n")
    s, step, refused = 0.0, 1.0, 0
    for at, length, tangent, known, after, before, now in tried:
        size = float(np.abs(tangent).max())
        assert at == pytest.approx(s, abs=1e-15) and known
        assert length == pytest.approx(min(step, 0.2 / size, 1.0 - s), rel=1e-12)
        if after is None:
            assert np.array_equal(now, before)
            refused, step = refused + 1, 0.5 * length
            continue
        assert np.abs(now - before - length * tangent).max() <= 0.3 * length * size + 1e-12
        turned = np.arccos(min(1.0, float(tangent @ after / (np.linalg.norm(tangent) * np.linalg.norm(after)))))
        assert turned <= 0.2 + 1e-9
        s, step = s + length, 2.0 * length
    assert s == 1.0 and refused > 0 and len(tried) > abs(math.radians(pa)) / 0.2


# Linkages at random, against the same followed by screws.


@pytest.mark.parametrize("kind", sorted(screws.KINDS))
@pytest.mark.parametrize("seed", range(4))
def test_a_written_coordinate_is_followed_from_the_drawing(kind: str, seed: int) -> None:
    """In tree and loop joints, of both senses, beyond half a turn where the linkage goes so far."""
    rng = np.random.default_rng([seed, len(kind)])
    told = 0
    while told < 2:
        linkage = screws.KINDS[kind](rng)
        written, sense = int(rng.integers(len(linkage.pins))), float(rng.choice([-1.0, 1.0]))
        y = screws.walk(linkage, written, sense, rng.uniform(1.0, 9.0))
        if abs(y[written]) < 0.1 or np.abs(linkage.rows(y)[0]).max() > 1e-12:
            continue
        told += 1
        found = coordinates(linkage.text(f"{{j{written}: {float(y[written])!r}}}"))
        assert found[f"j{written}"] == pytest.approx(y[written], abs=1e-12)
        assert [found[f"j{k}"] for k in range(len(y))] == pytest.approx(y.tolist(), abs=1e-8), written in linkage.tree


def test_two_written_coordinates_are_followed_together() -> None:
    """A planar five-bar has two freedoms: both go their ways in even steps."""
    rng, told = np.random.default_rng(12), 0
    while told < 2:
        points = np.zeros((5, 3))
        points[:, [0, 2]] = rng.uniform(-1.0, 1.0, (5, 2))
        axes = np.outer(rng.choice([-1.0, 1.0], 5), [0.0, 1.0, 0.0])
        linkage = screws.ring(rng, ["rotational"] * 5, points, axes)
        i, j = (int(k) for k in rng.permutation(5)[:2])
        wanted = rng.uniform(-2.0, 2.0, 2)
        y = screws.straight(linkage, {i: float(wanted[0]), j: float(wanted[1])})
        if y is None:
            continue
        told += 1
        found = coordinates(linkage.text(f"{{j{i}: {float(wanted[0])!r}, j{j}: {float(wanted[1])!r}}}"))
        assert [found[f"j{k}"] for k in range(5)] == pytest.approx(y.tolist(), abs=1e-8)


def turned(axis: np.ndarray, angle: float) -> np.ndarray:
    K = screws.cross_matrix(axis / np.linalg.norm(axis))
    return np.asarray(np.eye(3) + math.sin(angle) * K + (1.0 - math.cos(angle)) * K @ K)


def rocker_in_space(A: np.ndarray, P: np.ndarray, Q: np.ndarray, D: np.ndarray, a: np.ndarray, d: np.ndarray,
                    crank: float) -> float | None:  # fmt: skip
    """Return the rocker's angle of a crank A P, a rod P Q and a rocker D Q, from the drawing on; None beyond a fold.

    The rod keeps its length: one equation, followed in 2000 steps.
    """

    def off(x: float, y: float) -> float:
        gap = D + turned(d, y) @ (Q - D) - A - turned(a, x) @ (P - A)
        return float(gap @ gap - (Q - P) @ (Q - P))

    y = 0.0
    for k in range(1, 2001):
        for _ in range(20):
            slope = (off(crank * k / 2000, y + 1e-6) - off(crank * k / 2000, y - 1e-6)) / 2e-6
            if abs(slope) < 0.05:
                return None
            step = off(crank * k / 2000, y) / slope
            y -= step
            if abs(step) < 1e-12:
                break
    return y


@pytest.mark.parametrize("seed", range(6))
def test_ball_joints_and_universal_joints_are_followed(seed: int) -> None:
    """With a ball at both ends the rod may spin besides; any of the four joints closes the loop."""
    rng, rocker = np.random.default_rng([seed, 3]), None
    while rocker is None:
        A, P, Q, D = rng.uniform(-1.0, 1.0, (4, 3))
        a, d, side = rng.normal(size=(3, 3))
        crank = rng.uniform(0.5, 4.0) * rng.choice([-1.0, 1.0])
        rocker = rocker_in_space(A, P, Q, D, a, d, crank)
    across = np.cross(Q - P, side)
    at = {name: screws.numbers(p) for name, p in (("A", A), ("P", P), ("Q", Q), ("D", D), ("a", a), ("d", d))}
    ends = {
        "spherical": f"type: spherical, position: {at['Q']}",
        "universal": f"type: universal, position: {at['Q']}, axis: {screws.numbers(across)}, "
        f"second_axis: {screws.numbers(np.cross(Q - P, across))}",
    }
    joints = [
        f"c: {{type: rotational, parent: world, child: crank, position: {at['A']}, axis: {at['a']}}}",
        f"s: {{type: spherical, parent: crank, child: rod, position: {at['P']}}}",
        f"u: {{parent: rod, child: rocker, {ends[str(rng.choice(list(ends)))]}}}",
        f"r: {{type: rotational, parent: world, child: rocker, position: {at['D']}, axis: {at['d']}}}",
    ]
    bodies = {"crank": (A + P) / 2, "rod": (P + Q) / 2, "rocker": (D + Q) / 2}
    lines = ["schema: 1", "name: rssr", "world: {gravity: [0, 0, 0]}", "bodies:"]
    lines += [f"  {name}: {{mass: 1, com: {screws.numbers(p)}, inertia: [1, 1, 1]}}" for name, p in bodies.items()]
    lines += ["joints:", *(f"  {joints[k]}" for k in rng.permutation(4)), f"initial: {{c: {float(crank)!r}}}"]
    found = coordinates("\n".join([*lines, "simulate: {duration: 1 s}"]) + "\n")
    assert found["c"] == pytest.approx(crank, abs=1e-12)
    assert found["r"] == pytest.approx(rocker, abs=1e-7)


# Events.


@pytest.mark.parametrize("drive", [90, 120, 150, 180, -120])
def test_what_an_event_sets_stays_on_the_branch_of_the_four_bar(drive: int) -> None:
    events = f"events: {{jump: {{at: 0.1 s, set: {{drive: {drive} deg}}}}}}\n"
    simulator = sim.Simulator(sim.compile(load_text(four_bar("{}") + events)))
    simulator.advance(0.1)
    assert float(simulator.coordinate["drive"]) == pytest.approx(math.radians(drive), abs=1e-12)
    assert float(simulator.coordinate["pivot"]) == pytest.approx(pivots(math.radians(drive))[0], abs=1e-10)


@pytest.mark.parametrize("written", [0, 1])
def test_what_an_event_sets_stays_on_the_branch(written: int) -> None:
    """From where the linkage is at that instant, one event after the other, in tree and loop joints."""
    rng = np.random.default_rng(4)
    linkage, y = None, np.zeros(4)
    while linkage is None or abs(y[written]) < 0.6:
        linkage = screws.four_bar(rng)
        y = screws.walk(linkage, written, 1.0, 3.0)
    half = screws.straight(linkage, {written: 0.5 * float(y[written])})
    assert half is not None
    events = f"""
events:
  half: {{at: 0.1 s, set: {{j{written}: {float(half[written])!r}}}}}
  whole: {{at: 0.2 s, set: {{j{written}: {float(y[written])!r}}}}}
"""
    simulator = sim.Simulator(sim.compile(load_text(linkage.text("{}", events))))
    for until, wanted in ((0.15, half), (0.25, y)):
        simulator.advance(until)
        found = [float(simulator.coordinate[f"j{k}"]) for k in range(4)]
        assert found == pytest.approx(wanted.tolist(), abs=1e-8)


def test_what_an_event_cannot_set_ends_the_run_with_what_was_reached() -> None:
    events = "events: {jump: {at: 0.1 s, set: {pivot: 40 deg}}}\n"
    simulator = sim.Simulator(
        sim.compile(load_text(four_bar("{}").replace("world:\n", "world:\n  gravity: [0, 0, 0]\n", 1) + events))
    )
    with pytest.raises(sim.SimulationError) as caught:
        simulator.advance(0.2)
    said = str(caught.value)
    assert "on the branch of the pose at this instant 'pivot' comes to 18.9617 deg, not to 40 deg" in said
    rate = "events: {jump: {at: 0.1 s, set: {drive: {rate: 1 rad/s}, pivot: {rate: 5 rad/s}}}}\n"
    with pytest.raises(sim.SimulationError, match="do not allow this rate"):
        sim.Simulator(sim.compile(load_text(four_bar("{}") + rate))).advance(0.2)


def test_an_event_may_guess_the_branch_too() -> None:
    guess = pivots(math.radians(30.0))[1] + 0.2
    events = f"events: {{flip: {{at: 0.1 s, set: {{drive: 30 deg, pivot: {{near: {guess!r}}}}}}}}}\n"
    simulator = sim.Simulator(sim.compile(load_text(four_bar("{}") + events)))
    simulator.advance(0.1)
    assert float(simulator.coordinate["drive"]) == pytest.approx(math.radians(30.0), abs=1e-12)
    assert float(simulator.coordinate["pivot"]) == pytest.approx(guess - 0.2, abs=1e-9)


# Motions.


@pytest.mark.parametrize("degrees", [150, -120, 200, 400])
def test_a_motion_starts_on_the_branch_of_the_drawing(degrees: int) -> None:
    old = "drive: {type: rotational, parent: world, child: crank, position: [0, 0, 0.6], axis: [0, 1, 0]}"
    text = four_bar("{}")
    assert old in text
    found = coordinates(text.replace(old, old[:-1] + f', motion: "{degrees} deg + 1 rad/s*t"}}'))
    assert found["drive"] == pytest.approx(math.radians(degrees), abs=1e-12)
    assert found["pivot"] == pytest.approx(pivots(math.radians(degrees))[0], abs=1e-10)
    turns = found["drive"] + found["pin"] + found["link"] - found["pivot"]
    assert turns == pytest.approx(0.0, abs=1e-9)  # around the loop, whole turns included


# What stands.

ON_BASE = PARALLELOGRAM.replace(
    "bodies:", "bodies:\n  base: {mass: 200 kg, shapes: [{box: {center: [0, 0, 0.1], size: [1.2, 1.2, 0.2]}}]}"
).replace("parent: world", "parent: base").replace(
    "world: {gravity: [0, 0, 0]}", "world: {shapes: [{name: floor, plane: {}}]}"
) + "contacts: {c: {between: [base, world], friction: 0.8}}\n"  # fmt: skip


@pytest.mark.parametrize("pa", ["60 deg", "-100 deg", "{coordinate: 60 deg, rate: 1 rad/s}"])
def test_a_body_that_stands_is_not_moved(pa: str) -> None:
    simulator = sim.Simulator(sim.compile(load_text(ON_BASE + f"initial: {{pa: {pa}}}\n")))
    assert simulator.position["base"] == pytest.approx([0.0, 0.0, 0.1], abs=1e-12)
    assert simulator.rotation["base"] == pytest.approx(np.eye(3), abs=1e-12)
    assert simulator.velocity["base"] == pytest.approx(np.zeros(3), abs=1e-12)
    assert simulator.coordinate["pb"] == pytest.approx(simulator.coordinate["pa"], abs=1e-10)
    simulator.advance(0.01)  # nothing overlaps, nothing collides


def test_a_body_that_stands_is_not_moved_by_what_an_event_sets() -> None:
    text = ON_BASE + "events: {jump: {at: 0.02 s, set: {pa: {coordinate: 60 deg, rate: 1 rad/s}}}}\n"
    simulator = sim.Simulator(sim.compile(load_text(text)))
    simulator.advance(0.02)
    assert simulator.coordinate["pb"] == pytest.approx(math.radians(60.0), abs=1e-10)
    assert simulator.position["base"] == pytest.approx([0.0, 0.0, 0.1], abs=1e-9)
    assert simulator.velocity["base"] == pytest.approx(np.zeros(3), abs=1e-9)


def test_a_body_that_has_to_slide_does_not_tilt() -> None:
    """A slider that stands on the floor, pushed by a crank: it cannot stay, but it need not leave the floor."""
    text = """
schema: 1
name: pushed
world: {shapes: [{name: floor, plane: {}}]}
bodies:
  crank: {mass: 1, com: [0, 0, 0.35], inertia: [0.1, 0.1, 0.1]}
  rod: {mass: 1, com: [0.5, 0, 0.35], inertia: [0.1, 0.1, 0.1]}
  block: {mass: 1, shapes: [{box: {center: [1, 0, 0.1], size: [0.2, 0.2, 0.2]}}]}
joints:
  a: {type: rotational, parent: world, child: crank, position: [0, 0, 0.1], axis: [0, 1, 0]}
  b: {type: rotational, parent: crank, child: rod, position: [0, 0, 0.6], axis: [0, 1, 0]}
  c: {type: spherical, parent: rod, child: block, position: [1, 0, 0.1]}
  d: {type: cylindrical, parent: world, child: block, position: [1, 0, 0.1], axis: [1, 0, 0]}
contacts: {c: {between: [block, world], friction: 0.5}}
initial: {a: 20 deg}
simulate: {duration: 1 s}
"""
    simulator = sim.Simulator(sim.compile(load_text(text)))
    turned = math.radians(20.0)
    reach = 0.5 * math.sin(turned) + math.sqrt(1.25 - (0.5 * math.cos(turned)) ** 2)
    assert simulator.position["block"] == pytest.approx([reach, 0.0, 0.1], abs=1e-10)
    assert simulator.rotation["block"] == pytest.approx(np.eye(3), abs=1e-10)


def test_what_is_written_lifts_a_body_that_stands() -> None:
    simulator = sim.Simulator(sim.compile(load_text(ON_BASE + "initial: {pa: 60 deg, base: {position: [0, 0, 1]}}\n")))
    assert simulator.position["base"] == pytest.approx([0.0, 0.0, 1.0], abs=1e-12)
    assert simulator.coordinate["pb"] == pytest.approx(math.radians(60.0), abs=1e-10)


# Bodies that float.


def test_a_half_written_pose_leaves_the_other_half_free() -> None:
    """A coin that rolls and is tilted: its centre comes down by the radius times 1 - cos, as the ground demands."""
    text = """
schema: 1
name: coin
world: {shapes: [{name: floor, plane: {}}]}
bodies:
  coin: {mass: 1 kg, com: [0, 0, 0.5], inertia: [0.1, 0.2, 0.1]}
constraints:
  rim: {type: rolling, body: coin, axis: [0, 1, 0], radius: 0.5, ground: world.floor}
initial: {coin: {rpy: [40 deg, 0, 0]}}
simulate: {duration: 1 s}
"""
    simulator = sim.Simulator(sim.compile(load_text(text)))
    assert simulator.position["coin"][2] == pytest.approx(0.5 * math.cos(math.radians(40.0)), abs=1e-10)
    c, s = math.cos(math.radians(40.0)), math.sin(math.radians(40.0))
    assert simulator.rotation["coin"] == pytest.approx(np.array([[1, 0, 0], [0, c, -s], [0, s, c]]), abs=1e-12)


# Figures.


def figure(folder: Path, include: str) -> str:
    """Write the four-bar on a base of its own as a figure; return a scene that includes it."""
    text = four_bar("{}").replace("parent: world", "parent: base")
    text = text.replace("bodies:", "bodies:\n  base: {mass: 5 kg, com: [0.2, 0, 0.6], inertia: [1, 1, 1]}", 1)
    (folder / "bar.yaml").write_text(text, encoding="utf-8")
    inner = "schema: 1\ninclude: {figure: bar.yaml, prefix: b, pose: {drive: 100 deg}}\n"
    arm = "bodies: {hand: {mass: 1, com: [2, 0, 0], inertia: [1, 1, 1]}}\n"
    hold = "joints: {wrist: {type: rotational, parent: b.base, child: hand, position: [2, 0, 0.6], axis: [0, 1, 0]}}\n"
    (folder / "armed.yaml").write_text(inner + arm + hold, encoding="utf-8")
    return f"schema: 1\nname: posed\nworld: {{gravity: [0, 0, 0]}}\n{include}\nsimulate: {{duration: 1 s}}\n"


def posed(folder: Path, include: str) -> sim.Simulator:
    text = figure(folder, include)
    return sim.Simulator(sim.compile(load_text(text, folder=folder)))


@pytest.mark.parametrize("drive", [90, 120, 150, 180, -120])
def test_a_figure_is_posed_on_the_branch_of_its_file(drive: int, tmp_path: Path) -> None:
    place = "placement: {position: [1, 2, 3], orientation: {rpy: [0, 0, 40 deg]}}"
    simulator = posed(tmp_path, f"include: {{figure: bar.yaml, prefix: a, {place}, pose: {{drive: {drive} deg}}}}")
    assert float(simulator.coordinate["a.drive"]) == pytest.approx(math.radians(drive), abs=1e-12)
    assert float(simulator.coordinate["a.pivot"]) == pytest.approx(pivots(math.radians(drive))[0], abs=1e-10)
    c, s = math.cos(math.radians(40.0)), math.sin(math.radians(40.0))
    assert simulator.position["a.base"] == pytest.approx([1.0 + 0.2 * c, 2.0 + 0.2 * s, 3.6], abs=1e-12)


def test_a_pose_that_the_loops_of_a_figure_do_not_allow_is_refused(tmp_path: Path) -> None:
    with pytest.raises(sim.SceneError) as caught:
        posed(tmp_path, "include: {figure: bar.yaml, prefix: a, pose: {pivot: 40 deg}}")
    (problem,) = caught.value.problems
    assert problem.path == "pose.a.pivot"
    assert "on the branch of the figure's own file 'a.pivot' comes to 18.9617 deg, not to 40 deg" in problem.what


def test_the_pose_of_a_figure_in_a_figure_is_kept(tmp_path: Path) -> None:
    """Where the outer file poses other joints, and where it poses the same."""
    simulator = posed(tmp_path, "include: {figure: armed.yaml, prefix: a, pose: {wrist: 20 deg}}")
    assert float(simulator.coordinate["a.wrist"]) == pytest.approx(math.radians(20.0), abs=1e-12)
    assert float(simulator.coordinate["a.b.drive"]) == pytest.approx(math.radians(100.0), abs=1e-12)
    assert float(simulator.coordinate["a.b.pivot"]) == pytest.approx(pivots(math.radians(100.0))[0], abs=1e-10)
    simulator = posed(tmp_path, "include: {figure: armed.yaml, prefix: a, pose: {b.drive: 60 deg}}")
    assert float(simulator.coordinate["a.b.drive"]) == pytest.approx(math.radians(60.0), abs=1e-12)
