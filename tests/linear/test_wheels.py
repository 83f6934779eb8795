"""Linear models of what rolls and skids, against published numbers and closed forms."""

from __future__ import annotations

from dataclasses import replace
from math import cos, pi, sin, sqrt

import numpy as np
import pytest

import sim
from sim.scene.load import load_text
from sim.scene.spec import Scene
from tests.dynamics.shipped import SCENES
from tests.linear.differences import differences

pytestmark = pytest.mark.nonholonomic

# Of the published A(v), Meijaard et al. (2007): v, weave (two real ones at rest), capsize, castering.
PUBLISHED = [
    (0, [3.13164324791, -3.13164324791, 5.53094371765, -5.53094371765]),
    (1, [3.52696170990 + 0.80774027520j, -3.13423125067, -7.11008014637]),
    (2, [2.68234517513 + 1.68066296591j, -3.07158645642, -8.67387984832]),
    (3, [1.70675605664 + 2.31582447384j, -2.63366137254, -10.35101467246]),
    (4, [0.41325331521 + 3.07910818603j, -1.42944427361, -12.15861426576]),
    (5, [-0.77534188220 + 4.46486771379j, -0.32286642900, -14.07838969280]),
    (6, [-1.52644486584 + 5.87673060599j, -0.00406690077, -16.08537123098]),
    (7, [-2.13875644258 + 7.19525913330j, 0.10268170575, -18.15788466125]),
    (8, [-2.69348683581 + 8.46037971397j, 0.14327879766, -20.27940894395]),
    (9, [-3.21675402252 + 9.69377351532j, 0.15790184031, -22.43788559041]),
    (10, [-3.72016840437 + 10.90681139476j, 0.16105338653, -24.62459635017]),
]


def bicycle(v: float) -> Scene:
    return sim.load(SCENES / "bicycle.yaml", set={"v": v, "roll_rate": 0.0})


def disc(v: float) -> Scene:
    """A disc of 10 cm and 1 kg that rolls straight on, upright."""
    return sim.load(SCENES / "rolling_disc.yaml", set={"tilt": 0.0, "yaw": 0.0, "spin": v / 0.1})


def sleigh(u: float) -> Scene:
    """Chaplygin's sleigh, its centre of mass half a metre before the blade, that glides straight on."""
    scene = sim.load(SCENES / "chaplygin_sleigh.yaml")
    return replace(scene, initial={"ice": replace(scene.initial["ice"], rate=(u, 0.0, 0.0))})


def coin() -> tuple[Scene, float, float]:
    """A disc that rolls round in a circle (Le Saux, Leine and Glocker 2005), its spin and its turn [rad/s]."""
    radius, tilt, ratio = 0.05, 5.0 * pi / 180.0, 0.1
    spin = sqrt(4.0 * (9.81 / radius) * sin(tilt) / ((6.0 - 5.0 * ratio * sin(tilt)) * ratio * cos(tilt)))
    turn = -ratio * spin
    values = {"radius": radius, "mass": 0.3048, "tilt": tilt, "spin": spin, "yaw": turn}
    return sim.load(SCENES / "rolling_disc.yaml", set=values), spin, turn


def nearest(found: np.ndarray, value: complex) -> float:
    return float(np.min(np.abs(found - value)))


def test_eigenvalues_of_the_bicycle_are_those_of_the_benchmark() -> None:
    for v, expected in PUBLISHED:
        model = sim.linearize(bicycle(float(v)))
        assert model.steady
        assert [model.states[k] for k in model.fed] == ["frame[3]", "steer", "rate(frame[3])", "rate(steer)"]
        found = model.eigenvalues[: len(model.fed)]
        for value in expected:
            assert nearest(found, value) < 1e-8
            assert nearest(found, np.conj(value)) < 1e-8
        assert np.all(model.eigenvalues[4:] == 0.0) and len(model.eigenvalues) == 10
        assert model.trust["engine"] < 1e-10


def test_matrix_of_the_bicycle_is_the_published_one_in_roll_and_steer() -> None:
    """The paper's coordinates are these: yaw and the wheels' turns feed nothing back."""
    v = 3.0
    A, B = sim.linearize(bicycle(v)).reduced()
    third = [
        9.48977444677355,
        -0.891197738059089 * v**2 - 0.571523173729245,
        -0.105522449805691 * v,
        -0.330515398992311 * v,
    ]
    fourth = [
        11.7194768719633,
        -1.97171508499972 * v**2 + 30.9087533932407,
        3.67680523332152 * v,
        -3.08486552743311 * v,
    ]
    # Forward is x and up is z here: steer turns the other way than in the paper, where z points down.
    sign = np.diag([1.0, -1.0, 1.0, -1.0])
    assert np.allclose(sign @ A @ sign, [[0, 0, 1, 0], [0, 0, 0, 1], third, fourth], rtol=0.0, atol=1e-10 * 31)
    assert B.shape == (4, 3) and abs(B[3, 0]) > 1.0


def test_the_bicycle_weaves_and_capsizes_at_the_published_speeds() -> None:
    found = sim.root_locus(bicycle, np.arange(3.5, 7.1, 0.7), parameter="v").crossings
    assert [crossing.rising for crossing in found] == [False, True]
    assert abs(found[0].value - 4.292382536341) < 1e-9
    assert abs(found[1].value - 6.024262015388) < 1e-9
    assert abs(found[0].eigenvalue.imag - 3.4350338486) < 1e-9 and found[1].eigenvalue.imag == 0.0


def test_the_upright_bicycle_is_the_steady_motion_next_to_a_push() -> None:
    """The shipped scene begins with a push in roll: without it, it rolls straight on at about that speed."""
    model = sim.linearize(sim.load(SCENES / "bicycle.yaml"), at="steady")
    assert model.steady and abs(model.follows["frame[0]"] - 4.6) < 0.02
    straight = sim.linearize(bicycle(model.follows["frame[0]"]))
    assert np.allclose(model.eigenvalues[:4], straight.eigenvalues[:4], rtol=0.0, atol=1e-6)


def test_a_rolling_disc_stands_up_above_the_root_of_a_third_of_g_r() -> None:
    """lambda^2 = (A m g r - C (C + m r^2) w^2) / (A (A + m r^2)) for moments of inertia A across, C along the axle."""
    r, g = 0.1, 9.81
    A, C, w = r**2 / 4, r**2 / 2, 0.2 / r
    model = sim.linearize(disc(0.2))
    square = (A * g * r - C * (C + r**2) * w**2) / (A * (A + r**2))
    assert model.steady and square > 0.0
    assert np.allclose(
        sorted(model.eigenvalues.real)[:: len(model.states) - 1], [-sqrt(square), sqrt(square)], rtol=1e-11
    )
    square = (A * g * r - C * (C + r**2) * (1.0 / r) ** 2) / (A * (A + r**2))
    fast = sim.linearize(disc(1.0)).eigenvalues
    assert np.max(np.abs(fast.real)) < 1e-7 and abs(np.max(fast.imag) - sqrt(-square)) < 1e-10
    critical = sqrt(g * r / 3.0)
    for v, unstable in ((critical * (1.0 - 1e-9), True), (critical * (1.0 + 1e-9), False)):
        assert (np.max(sim.linearize(disc(v)).eigenvalues.real) > 1e-6) == unstable


def test_the_way_of_a_sleigh_is_stable_with_its_mass_before_the_blade() -> None:
    """d omega/dt = -m a / (I + m a^2) u omega about a straight way at u."""
    for u, value in ((2.0, -0.5 / 1.25 * 2.0), (-2.0, 0.5 / 1.25 * 2.0)):
        model = sim.linearize(sleigh(u))
        assert model.steady
        moving = model.eigenvalues[np.abs(model.eigenvalues) > 1e-9]
        assert np.allclose(moving, [value], rtol=1e-12)


def test_a_coin_that_rolls_in_a_circle_is_a_steady_motion() -> None:
    """A turn about the vertical and a spin about its axis: nothing is at rest, and elsewhere on the circle it is alike.

    Deviations in axes that do not go round with it would have other eigenvalues, and others again later.
    """
    scene, spin, turn = coin()
    model, later = sim.linearize(scene), sim.linearize(scene, at=1.3)
    assert model.steady and later.steady, model.remark + later.remark
    assert model.follows["coin about z of world"] == pytest.approx(turn, rel=1e-9)
    assert model.follows["coin[4]"] == pytest.approx(spin, rel=1e-9)
    found, again = (np.sort(m.eigenvalues.imag) for m in (model, later))
    assert found[-1] > 1.0 and np.allclose(found, again, rtol=0.0, atol=1e-4)
    assert np.max(np.abs(model.eigenvalues.real)) < 1e-4


def test_the_nearest_circle_of_a_coin_that_leans_too_far_is_found() -> None:
    """Leaning a little more than its speed asks for, it is brought to a circle nearby, not to rest."""
    scene, spin, _ = coin()
    body = scene.initial["coin"]
    rate = tuple(value * 1.01 for value in body.rate[:3]) + tuple(value * 1.01 for value in body.rate[3:])
    wrong = replace(scene, initial={"coin": replace(body, rate=rate)})
    assert not sim.linearize(wrong).steady
    found = sim.linearize(wrong, at="steady")
    assert found.steady and abs(found.follows["coin[4]"] / spin - 1.0) < 0.05
    motion = sim.Simulator(sim.compile(wrong))
    motion.flow.stepper.y[: len(found.q) + len(found.v)] = np.concatenate([found.q, found.v])
    height = float(found.q[2])
    motion.advance(0.5)
    assert abs(motion.position["coin"][2] - height) < 1e-7


CART = """
schema: 1
name: cart
world: {gravity: [0.5, 1, -9.81]}
bodies:
  b: {mass: 1, com: [0.1, 0.2, 0.4], inertia: [0.1, 0.2, 0.15]}
  c: {mass: 0.5, com: [0.6, 0.2, 0.5], inertia: [0.03, 0.02, 0.025], position: [0.5, 0, 0.4]}
"""
NECK = """
joints:
  neck: {type: universal, parent: b, child: c, position: [0.5, 0, 0.4], axis: [0, 1, 0], second_axis: [1, 0, 0]}
initial: {neck: {coordinate: [0.2, -0.1], rate: [1, 0.7]}}
"""
NUT = """
joints:
  neck: {type: universal, parent: b, child: c, position: [0.5, 0, 0.4], axis: [0, 1, 0], second_axis: [1, 0, 0]}
  nut: {type: cylindrical, parent: world, child: b, position: [0, 0, 0.2], axis: [0.6, 0, 0.8]}
initial: {neck: {coordinate: [0.2, -0.1], rate: [1, 0.7]}}
"""
LOOSE = "initial: {c: {rate: [0.1, 0.2, 0.3, 1, 2, 0.5]}}"


@pytest.mark.parametrize(
    ("joints", "said"),
    [
        (NECK, "{type: no_side_slip, body: c, position: [0.5, 0, 0], axis: [0.6, 0.8, 0], ground: world}"),
        (NECK, "{type: knife_edge, body: c, position: [0.5, 0, 0], along: [1, 0, 0], ground: world}"),
        (NECK, "{type: rolling, body: c, position: [0.5, 0, 0.3], axis: [0, 1, 0], radius: 0.3, ground: world}"),
        (
            NECK,
            "{type: rolling, body: c, position: [0.5, 0, 0.3], axis: [0, 1, 0], radius: 0.2, tube: 0.1, ground: world}",
        ),
        (NECK, "{type: rolling, body: c, position: [0.5, 0, 0.3], radius: 0.3, ground: world}"),
        (NECK, "{type: rolling, body: c, position: [0.5, 0, 0.3], radii: [0.4, 0.2, 0.3], ground: world}"),
        (
            LOOSE,
            "{type: rolling, body: c, position: [0.5, 0, 0.3], radii: [0.2, 0.15, 0.1], "
            "orientation: {rpy: [0.1, 0.2, 0.3]}, ground: b, normal: [0.1, 0, 1], level: [0, 0, 0.2]}",
        ),
        (
            LOOSE,
            "{type: rolling, body: c, position: [0.5, 0, 0.3], axis: [0, 1, 0], radius: 0.1, ground: b, "
            "normal: [0, 0, 1], level: [0, 0, 0.2]}",
        ),
        (
            NECK,
            "{type: rolling, body: c, position: [0.5, 0, 0.3], radius: 0.3, ground: world, bend: 1, "
            "level: [0.5, 0, -1]}",
        ),
        (
            LOOSE,
            "{type: rolling, body: c, position: [0.4, 0.2, 0.3], radius: 0.2, ground: b, bend: 0.6, inside: true, "
            "level: [0.5, 0, 0.7]}",
        ),
        (
            LOOSE,
            "{type: rolling, body: c, position: [0.5, 0, 0.3], radius: 0.2, ground: b, bend: 0.5, inside: true, "
            "level: [0.5, 0.1, 0.5], along: [1, 0.2, 0.1]}",
        ),
        (NECK, "{type: same_velocity, bodies: [c, world], position: [0.5, 0, 0], components: [y, rz]}"),
        (NUT, "{type: screw, joint: nut, pitch: 60 cm}"),
        (NUT, "{type: gear, joints: [nut, neck], freedoms: [1, 0], ratio: -1.7}"),
    ],
)
def test_every_constraint_against_differences_of_the_engine(joints: str, said: str) -> None:
    simulator = sim.Simulator(sim.compile(load_text(f"{CART}{joints}\nconstraints: {{it: {said}}}\n")))
    model = sim.linearize(simulator)
    assert model.trust["engine"] < 1e-10
    expected = differences(simulator, model)
    assert len(expected) > 4 and np.max(np.abs(model.A - expected)) < 1e-7 * np.max(np.abs(expected))
