"""Linear models of what touches: against closed forms, differences of the engine, and rolling as a constraint."""

from __future__ import annotations

from dataclasses import replace
from math import atan, cos, hypot, sin, sqrt, tan

import numpy as np
import pytest

import sim
from sim.analysis.linear.roots import matched
from sim.analysis.linear.study import LinearError
from sim.mechanism.compiler import compile
from sim.scene.load import load_text
from sim.scene.spec import Scene
from tests.dynamics.shipped import SCENES
from tests.linear.differences import differences

pytestmark = pytest.mark.contact

G = 9.81
MASS = 2.0


def on_the_ground(body: str, friction: float = 0.8, slope: float = 0.0, more: str = "", beside: str = "") -> Scene:
    """A body called `it` of 2 kg on a plane, the weight turned by the plane's slope; beside: another shape."""
    return load_text(f"""
schema: 1
name: x
world: {{gravity: [{G * sin(slope)}, 0, {-G * cos(slope)}], shapes: [{{name: ground, plane: {{edge: 4}}}}{beside}]}}
bodies: {{it: {{mass: {MASS}, {body}}}}}
contacts: {{touch: {{between: [it, world], friction: {friction}}}}}
{more}""")


def block(friction: float = 0.5, slope: float = 0.0, v: float = 0.0, more: str = "") -> Scene:
    """A block, 40 cm by 40 cm and 20 cm high, that slides along x."""
    body = "com: [0, 0, 0.1], inertia: [0.1, 0.1, 0.1], shapes: [{box: {center: [0, 0, 0.1], size: [0.4, 0.4, 0.2]}}]"
    return on_the_ground(body, friction, slope, f"initial: {{it: {{rate: [{v}, 0, 0, 0, 0, 0]}}}}\n{more}")


def ball(com: float = 0.2, more: str = "", beside: str = "") -> Scene:
    """A ball with a radius of 30 cm and its centre of mass above the ground where it is said."""
    body = f"com: [0, 0, {com}], inertia: [0.1, 0.1, 0.08], shapes: [{{sphere: {{center: [0, 0, 0.3], radius: 0.3}}}}]"
    return on_the_ground(body, more=more, beside=beside)


def same(model: sim.Linearization, expected: list[complex], tolerance: float = 1e-10) -> None:
    """Hold all eigenvalues to others, zeros apart, and the model to the engine."""
    found = model.eigenvalues[np.abs(model.eigenvalues) > 1e-9]
    assert len(found) == len(expected)
    assert np.abs(found - np.array(expected)[matched(found, np.array(expected))]).max(initial=0.0) < tolerance
    assert model.trust["engine"] < 1e-11 and model.trust["differences"] < 1e-8


def swings(square: float) -> list[complex]:
    return [1j * sqrt(square), -1j * sqrt(square)] if square > 0.0 else [sqrt(-square), -sqrt(-square)]


# --- points that stick ------------------------------------------------------------------------------


def test_a_block_that_sticks_on_a_slope_has_no_freedoms() -> None:
    model = sim.linearize(block(slope=0.3))
    assert model.states == () and model.A.shape == (0, 0) and model.steady and len(model.eigenvalues) == 0
    assert model.notes == ("ground and it stick at 4 points, which do not slip",)


@pytest.mark.parametrize("at", [None, "steady"])
def test_a_rod_that_stands_on_a_rough_edge_is_an_inverted_pendulum(at: str | None) -> None:
    half, height, inertia = 0.1, 0.5, 0.2
    up = hypot(half, height)
    body = (
        f"com: [0, 0, {up}], inertia: [0.1, {inertia}, 0.3], shapes: [{{box: {{center: [0, 0, {up}], "
        f"size: [{2 * half}, 0.1, {2 * height}], orientation: {{rpy: [0, {atan(half / height)}, 0]}}}}}}]"
    )
    model = sim.linearize(on_the_ground(body), at=at)
    assert model.steady and len(model.states) == 2
    same(model, swings(-MASS * G * up / (inertia + MASS * up**2)))


@pytest.mark.fast
def test_a_cube_that_stands_on_a_corner_falls_to_all_sides_and_may_turn() -> None:
    side, inertia = 0.4, 0.1
    up = 0.5 * sqrt(3.0) * side
    body = (
        f"com: [0, 0, {up}], inertia: [{inertia}, {inertia}, {inertia}], shapes: [{{box: {{center: [0, 0, {up}], "
        f"size: [{side}, {side}, {side}], orientation: {{rpy: [45 deg, {atan(sqrt(0.5))}, 0]}}}}}}]"
    )
    model = sim.linearize(on_the_ground(body))
    assert model.steady and len(model.states) == 6 and model.notes[0].startswith("ground and it stick at 1 point")
    same(model, 2 * swings(-MASS * G * up / (inertia + MASS * up**2)))


FOOT = """
schema: 1
name: x
world: {{gravity: [0, 0, -9.81], shapes: [{{name: ground, plane: {{edge: 4}}}}]}}
bodies:
  foot: {{mass: 0.5, com: [0, 0, 0.02], inertia: [0.01, 0.01, 0.01],
         shapes: [{{box: {{center: [0, 0, 0.02], size: [0.2, 0.1, 0.04]}}}}]}}
  rod: {{mass: 2, com: [0, 0, 0.54], inertia: [0.1, 0.2, 0.1]}}
joints:
  ankle: {{type: rotational, parent: foot, child: rod, position: [0, 0, 0.04], axis: [0, 1, 0], stiffness: {stiffness},
          rest: {rest}, damping: 3}}
contacts: {{soles: {{between: [foot, world.ground], friction: 0.8}}}}
initial: {{ankle: {angle}}}
"""


def test_what_stands_on_a_flat_foot_sways_about_its_ankle() -> None:
    """Twelve rows of four corners, of which six are independent."""
    model = sim.linearize(load_text(FOOT.format(stiffness=30, rest=0.0, angle=0.01)), at="steady")
    inertia = 0.2 + MASS * 0.5**2
    assert model.states == ("ankle", "rate(ankle)") and abs(model.pose["ankle"]) < 1e-12
    same(model, list(np.roots([inertia, 3.0, 30.0 - MASS * G * 0.5])))


def test_what_stands_on_a_foot_buckles_where_its_spring_is_as_weak_as_its_weight() -> None:
    locus = sim.root_locus(
        lambda stiffness: load_text(FOOT.format(stiffness=stiffness, rest=0.0, angle=0.0)), [5.0, 8.0, 12.0]
    )
    assert [crossing.kind for crossing in locus.crossings] == ["buckling"]
    assert locus.crossings[0].value == pytest.approx(MASS * G * 0.5, rel=1e-9)


def test_a_steady_motion_in_which_a_foot_would_tip_is_refused() -> None:
    """The spring is weaker than the weight, so that the rod would rest outside of its foot."""
    with pytest.raises(LinearError, match=r"no steady motion .* ground and foot .*at the start they stick"):
        sim.linearize(load_text(FOOT.format(stiffness=5, rest=0.35, angle=0.0)), at="steady")


# --- what rolls -------------------------------------------------------------------------------------


def test_a_ball_rolls_on_freely() -> None:
    model = sim.linearize(ball(0.3))
    assert len(model.states) == 6
    same(model, [])


def test_a_ball_that_is_heavy_below_rocks_as_a_pendulum() -> None:
    model = sim.linearize(ball(0.2))
    assert model.steady
    same(model, 2 * swings(MASS * G * 0.1 / (0.1 + MASS * 0.2**2)))


@pytest.mark.fast
def test_half_a_cylinder_rocks_on_its_line() -> None:
    """Its centre of mass is 4 r / 3 pi below the middle of the round side, and it is 2 r / pi long about there."""
    r = 0.3
    below = 4.0 * r / (3.0 * np.pi)
    inertia = MASS * (0.5 * r**2 - below**2)  # about the centre of mass
    body = (
        f"com: [0, 0, {r - below}], inertia: [0.2, {inertia}, 0.2], "
        f"shapes: [{{cylinder: {{from: [0, -0.5, {r}], to: [0, 0.5, {r}], radius: {r}}}}}]"
    )
    model = sim.linearize(on_the_ground(body))
    assert len(model.states) == 2
    same(model, swings(MASS * G * below / (inertia + MASS * (r - below) ** 2)))


@pytest.mark.fast
def test_an_ellipsoid_rocks_across_both_of_its_curvatures() -> None:
    """The weight acts below the centre of curvature a^2/c by a^2/c - c."""
    a, b, c = 0.5, 0.4, 0.3
    shape = f"{{ellipsoid: {{center: [0, 0, {c}], radii: [{a}, {b}, {c}]}}}}"
    body = f"com: [0, 0, {c}], inertia: [0.1, 0.12, 0.15], shapes: [{shape}]"
    model = sim.linearize(on_the_ground(body))
    along, across = (
        MASS * G * (radius**2 / c - c) / (inertia + MASS * c**2) for radius, inertia in ((a, 0.12), (b, 0.1))
    )
    same(model, [*swings(along), *swings(across)])


def wheel(v: float, contact: bool, more: str = "") -> Scene:
    r = 0.3
    rolls = (
        "contacts: {touch: {between: [it, world.ground], friction: 0.8}}"
        if contact
        else f"constraints: {{rim: {{type: rolling, body: it, position: [0, 0, {r}], radii: [{r}, 0.05, {r}], "
        "ground: world.ground}}"
    )
    return load_text(f"""
schema: 1
name: x
world: {{gravity: [0, 0, {-G}], shapes: [{{name: ground, plane: {{edge: 4}}}}]}}
bodies: {{it: {{mass: 2, com: [0, 0, {r}], inertia: [0.05, 0.09, 0.05],
              shapes: [{{ellipsoid: {{center: [0, 0, {r}], radii: [{r}, 0.05, {r}]}}}}]}}}}
{rolls}
initial: {{it: {{rate: [{v}, 0, 0, 0, {v / r}, 0.0]}}}}
{more}""")


@pytest.mark.fast
@pytest.mark.parametrize("v", [1.0, 2.0])
def test_a_wheel_that_sticks_is_a_wheel_that_rolls(v: float) -> None:
    """It stands up above some speed, as the constraint of rolling has it, which is written with other kernels."""
    contact, constraint = (sim.linearize(wheel(v, contact)) for contact in (True, False))
    assert contact.states == constraint.states and contact.steady
    assert np.abs(contact.A - constraint.A).max() < 1e-11
    assert contact.follows == pytest.approx({"it[0]": v, "it[4]": v / 0.3})
    assert (contact.eigenvalues.real.max() < 1e-9) == (v > 1.5)


def test_a_ball_that_rolls_out_of_balance_against_differences_of_the_engine() -> None:
    """Its places are bound by its rates, which what it rolls over turns."""
    simulator = sim.Simulator(compile(ball(more="initial: {it: {rate: [0.3, 0.2, 0, -0.667, 1, 2]}}")))
    simulator.advance(0.4)
    model = sim.linearize(simulator)
    assert len(model.states) == 8 and not model.steady
    expected = differences(simulator, model)
    assert np.abs(expected).max() > 5.0 and np.abs(model.A - expected).max() < 1e-8


def test_what_would_roll_has_as_many_places_as_it_can_roll_to_about_rest() -> None:
    held, bound = (sim.linearize(wheel(0.0, contact)) for contact in (True, False))
    assert len(held.states) == 6 and len(bound.states) == 8
    same(held, [root for root in bound.eigenvalues if abs(root) > 1e-9])


# --- points that slide ------------------------------------------------------------------------------


@pytest.mark.fast
@pytest.mark.parametrize("slope", [0.0, 0.3])
def test_a_block_that_slides_keeps_straight_by_its_friction(slope: float) -> None:
    """Friction mu N against the slip turns with it: across by -mu g v_y / v.

    Turns are damped by mu N (S - X^2) / v, S the mean square of the distance of the corners from the middle along the
    way, and X = mu h how far before it the load is.
    """
    mu, v, h, inertia = (0.5 if slope == 0.0 else tan(slope)), 1.3, 0.1, 0.1
    model = sim.linearize(block(mu, slope, v))
    assert model.steady == (slope > 0.0)
    held = mu * G * cos(slope) / v
    same(model, [-held, -held * MASS * (0.2**2 - (mu * h) ** 2) / inertia])
    assert model.notes[0] == "ground and it slide at 4 points, with friction against their slip"


@pytest.mark.fast
@pytest.mark.parametrize("v", [0.02, 0.1, 1.3])
def test_nothing_depends_on_where_a_block_slides_and_where_it_heads(v: float) -> None:
    """Friction turns with the slip wherever that goes, and the way of the last step is not remembered."""
    model = sim.linearize(block(v=v))
    assert [model.states[k] for k in model.ignored] == ["it[0]", "it[1]", "it[5]", "rate(it[0])"]


def test_a_block_that_slides_by_a_spring_oscillates_as_without_friction() -> None:
    """Along its way friction is a constant: m x'' = -k x - mu m g."""
    body = "com: [0, 0, 0.1], inertia: [0.1, 0.1, 0.1], shapes: [{box: {center: [0, 0, 0.1], size: [0.4, 0.4, 0.2]}}]"
    rail = """
joints: {rail: {type: planar, parent: world, child: it, position: [0, 0, 0.1], axis: [0, 1, 0],
                second_axis: [1, 0, 0], stiffness: [50, 0, 0]}}
initial: {rail: {rate: [0.5, 0, 0]}}"""
    model = sim.linearize(on_the_ground(body, 0.2, more=rail))
    assert not model.steady
    same(model, swings(50.0 / MASS))


def test_what_slides_without_friction_has_a_model_at_rest() -> None:
    same(sim.linearize(block(friction=0.0)), [])


# --- a figure ---------------------------------------------------------------------------------------


def test_the_figure_that_stands_against_differences_of_the_engine() -> None:
    simulator = sim.Simulator(compile(sim.load(SCENES / "figure_stands.yaml")))
    simulator.advance(0.0)
    model = sim.linearize(simulator)
    assert len(model.states) == 48 and len(simulator.flow.structure.touches) == 4
    expected = np.linalg.eigvals(differences(simulator, model, step=2e-4))
    off = np.abs(model.eigenvalues - expected[matched(model.eigenvalues, expected)])
    assert np.max(off / np.maximum(np.abs(model.eigenvalues), 1.0)) < 1e-6
    assert model.trust["engine"] < 1e-11 and model.trust["differences"] < 1e-7


# --- time steps -------------------------------------------------------------------------------------

STEPS = "simulate: {contact: stepping, dt: 2 ms}"


def test_time_steps_have_the_modes_that_a_decision_finds_there() -> None:
    assert np.array_equal(sim.linearize(ball(more=STEPS)).A, sim.linearize(ball()).A)
    rolling = "initial: {it: {rate: [0.3, 0, 0, 0, 1, 0]}}\n"
    steps, events = (sim.linearize(ball(more=rolling + more), at=0.1) for more in (STEPS, ""))
    assert steps.states == events.states and len(steps.states) == 8
    assert np.abs(steps.A - events.A).max() < 2e-2 * np.abs(events.A).max()


def test_points_that_time_steps_left_apart_touch_as_they_pressed() -> None:
    """A block that rocks on two corners, of which a step leaves one or the other some nanometres off."""
    scene = sim.load(SCENES / "rocking_block.yaml")
    steps, events = (
        sim.linearize(replace(scene, simulate=replace(scene.simulate, contact=contact)), at=0.1)
        for contact in ("stepping", "event")
    )
    assert len(steps.states) == len(events.states) == 2 and steps.notes == events.notes
    assert np.abs(steps.eigenvalues - events.eigenvalues).max() < 1e-3


@pytest.mark.parametrize("more", [STEPS, ""], ids=["steps", "events"])
def test_a_run_goes_on_as_if_nothing_had_been_asked(more: str) -> None:
    asked, other = (sim.Simulator(compile(block(v=1.0, more=more))) for _ in range(2))
    assert "slide" in sim.linearize(asked).notes[0] and not asked.flow.structure.touches  # it has not begun yet
    for simulator in (asked, other):
        simulator.advance(0.05)
    assert "slide" in sim.linearize(asked).notes[0]
    for simulator in (asked, other):
        simulator.advance(0.1)
    assert np.array_equal(asked.q, other.q) and np.array_equal(asked.v, other.v)


# --- borders ----------------------------------------------------------------------------------------


def lifted(share: float) -> Scene:
    lift = f"forces: {{lift: {{type: wrench, body: it, force: [0, 0, {share * MASS * G} N]}}}}"
    return ball(0.3, lift)


def beside_a_wall() -> Scene:
    return ball(beside=", {name: wall, box: {center: [1.3, 0, 1], size: [2, 2, 2]}}")


@pytest.mark.fast
@pytest.mark.parametrize(
    ("scene", "why"),
    [
        (block(tan(0.3), 0.3), r"ground and it are about to slip: friction holds .* N of the .* N that it can"),
        (block(0.2, 0.3), r"ground and it slide at 0 m/s with friction at its bound of .* N"),
        (lifted(1.0 - 1e-10), r"ground and it are about to leave each other: a force of .* N presses them"),
        (
            ball(more="initial: {it: {rate: [0, 0, -1, 0, 0, 0]}}\nsimulate: {contact: stepping}"),
            r"bodies collide \(ground and it\)",
        ),
        (beside_a_wall(), r"wall and it touch \(gap .* m\) and do not press each other"),
    ],
    ids=["cone", "slip", "force", "speed", "gap"],
)
def test_a_contact_at_the_border_of_its_mode_is_refused(scene: Scene, why: str) -> None:
    with pytest.raises(LinearError, match=f"t = 0 s: {why}"):
        sim.linearize(scene)


def test_a_contact_a_little_inside_of_its_mode_is_not() -> None:
    assert sim.linearize(block(tan(0.3) * (1.0 + 1e-5), 0.3)).states == ()
    assert len(sim.linearize(lifted(1.0 - 1e-6)).states) == 6
    assert len(sim.linearize(block(v=1e-3)).states) == 6
