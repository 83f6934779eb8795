"""Friction and density that shapes say: what slides on them, and what their bodies weigh, in closed form."""

from __future__ import annotations

import numpy as np
import pytest

import sim
from sim.mechanism.solids import combined
from sim.scene.load import load_text
from sim.scene.problem import SceneError

pytestmark = pytest.mark.contact

G0 = 9.81
MODES = pytest.mark.parametrize("contact", ["event", "stepping"])

BLOCK = """
schema: 1
world: {{shapes: [{{plane: {{}}{ground}}}]}}
bodies: {{block: {{mass: 2 kg, shapes: [{{box: {{center: [0, 0, 5 cm], size: [0.4, 0.3, 0.1]}}{block}}}]}}}}
contacts: {{all: {{between: [block, world]{rule}}}}}
initial: {{block: {{velocity: [2, 0, 0]}}}}
simulate: {{duration: 0.25 s, contact: {contact}, dt: 1 ms, record: 100 Hz}}
"""

PAIRS = [
    ("", "", "", 0.5),  # nobody says anything
    (", friction: 0.2", "", "", 0.2),  # a surface that says none leaves it to the other
    ("", ", friction: 0.7", "", 0.7),
    (", friction: 0.2", ", friction: 0.7", ", friction: 0.3", 0.3),  # the rule's own number
    (", friction: 0.2", ", friction: 0.7", ", friction: 0", 0.0),
    (", friction: 0.2", ", friction: 0.7", "", np.sqrt(0.14)),
    (", friction: 0.2", ", friction: 0.7", ", friction: {combine: geometric}", np.sqrt(0.14)),
    (", friction: 0.2", ", friction: 0.7", ", friction: {combine: max}", 0.7),
    (", friction: 0.2", ", friction: 0.7", ", friction: {combine: min}", 0.2),
    (", friction: 0.2", ", friction: 0.7", ", friction: {combine: mean}", 0.45),
    (", friction: 0.2", ", friction: 0.7", ", friction: {combine: harmonic}", 0.28 / 0.9),
    (", friction: 0", ", friction: 0.7", "", 0.0),
    (", friction: 0", ", friction: 0", ", friction: {combine: harmonic}", 0.0),
]


@MODES
@pytest.mark.parametrize(("ground", "block", "rule", "mu"), PAIRS)
def test_a_block_slows_down_by_the_friction_of_its_pair(contact: str, ground: str, block: str, rule: str, mu) -> None:
    text = BLOCK.format(ground=ground, block=block, rule=rule, contact=contact)
    recording = sim.run(load_text(text))
    speed = recording.velocity["block"][:, 0]
    # Time steps solve to 1e-4 of the speeds of a step, mu g dt.
    assert speed == pytest.approx(2.0 - mu * G0 * recording.time, abs=1e-9 if contact == "event" else 1e-6)


def test_friction_of_two_surfaces_does_not_know_which_is_first() -> None:
    for how in ("geometric", "max", "min", "mean", "harmonic"):
        for a, b in np.random.default_rng(5).uniform(0.0, 2.0, (20, 2)):
            assert min(a, b) <= combined(how, a, b) == combined(how, b, a) <= max(a, b)
        assert combined(how, 0.5, 0.5) == pytest.approx(0.5, rel=1e-15)


SLED = """
schema: 1
world: {{shapes: [{{plane: {{}}, friction: 1}}]}}
bodies:
  sled:
    mass: 3 kg
    com: [0, 0, 0.3]
    inertia: [0.2, 0.3, 0.3]
    shapes:
      - {{sphere: {{center: [0.5, 0, 0.1], radius: 0.1}}, friction: {front}}}
      - {{sphere: {{center: [-0.5, 0.2, 0.1], radius: 0.1}}, friction: {rear}}}
      - {{sphere: {{center: [-0.5, -0.2, 0.1], radius: 0.1}}, friction: {rear}}}
contacts: {{all: {{between: [sled, world], friction: {{combine: min}}}}}}
initial: {{sled: {{velocity: [{way}, 0, 0]}}}}
simulate: {{duration: 0.2 s, contact: {contact}, dt: 1 ms, record: 100 Hz}}
"""


@MODES
@pytest.mark.parametrize(("front", "rear"), [(0.1, 0.8), (0.8, 0.1), (0.0, 0.4)])
@pytest.mark.parametrize("way", [3.0, -3.0])
def test_feet_of_one_body_have_each_its_friction(contact: str, front: float, rear: float, way: float) -> None:
    """F = mu_f N_f + mu_r N_r, and friction at the ground loads the feet ahead: (N_f - N_r) l = F h along the way."""
    recording = sim.run(load_text(SLED.format(front=front, rear=rear, way=way, contact=contact)))
    h, length = 0.3, 0.5
    a = G0 * 0.5 * (front + rear) / (1.0 - np.sign(way) * (front - rear) * h / (2.0 * length))
    speed = np.abs(recording.velocity["sled"][:, 0])
    # A time step weighs the feet by what it leaves of their speeds to 1e-4 of them.
    assert speed == pytest.approx(3.0 - a * recording.time, abs=1e-7 if contact == "event" else 1e-3)


ROLLS = """
schema: 1
world: {{shapes: [{{name: floor, plane: {{}}, friction: {friction}}}]}}
bodies: {{ball: {{mass: 1 kg, shapes: [{{sphere: {{center: [0, 0, 0.1], radius: 0.1}}, friction: 0.3}}]}}}}
contacts: {{touch: {{between: [ball, world.floor]}}}}
constraints: {{roll: {{type: rolling, body: ball, radius: 0.1, ground: world.floor, keeps: false}}}}
simulate: {{duration: 0.1 s}}
"""


@pytest.mark.fast
def test_what_rolls_while_it_touches_has_no_friction_of_surfaces_either() -> None:
    assert sim.compile(load_text(ROLLS.format(friction=0))).waiting
    with pytest.raises(SceneError, match="contact 'touch' has friction, and rolling says itself"):
        sim.compile(load_text(ROLLS.format(friction=0.3)))


# ---- density --------------------------------------------------------------------------------------------------------

HAMMER = """
schema: 1
bodies:
  hammer:
    {rest}
    shapes:
      - {{box: {{center: [0.3, 0, 0.1], size: [0.05, 0.12, 0.04]}}, density: 7800 kg/m^3}}
      - {{cylinder: {{from: [0, 0, 0.1], to: [0.275, 0, 0.1], radius: 1.5 cm}}, density: 700}}
      - {{sphere: {{center: [-0.02, 0, 0.1], radius: 2 cm}}, density: 1200}}
      - {{mesh: {{vertices: [[0, 0, 0], [0.1, 0, 0], [0, 0.1, 0], [0, 0, 0.1]]}}, density: 900}}
      - {{sphere: {{center: [0, 0, 9], radius: 1}}, density: 0}}
"""


def rigid_sum(parts: list[tuple[float, np.ndarray, np.ndarray]]) -> tuple[float, np.ndarray, np.ndarray]:
    """Return mass, com and inertia about it of parts (mass, com, inertia about their own com), by Steiner."""
    mass = sum(m for m, _, _ in parts)
    com = sum(m * p for m, p, _ in parts) / mass
    inertia = sum(i + m * ((p - com) @ (p - com) * np.eye(3) - np.outer(p - com, p - com)) for m, p, i in parts)
    return mass, com, inertia


def hammer() -> tuple[float, np.ndarray, np.ndarray]:
    a, b, c = 0.05, 0.12, 0.04
    box = 7800 * a * b * c
    rod, r, length = 700 * np.pi * 0.015**2 * 0.275, 0.015, 0.275
    ball = 1200 * 4 / 3 * np.pi * 0.02**3
    tip, s = 900 * 0.1**3 / 6, 0.1  # of integrals over the tetrahedron: x^2: 1/60, xy: 1/120, of edges 1
    middle = np.full(3, s / 4)
    about_corner = 6 * tip * s**2 * (np.eye(3) * 2 / 60 - (np.ones((3, 3)) - np.eye(3)) / 120)
    own = about_corner - tip * (middle @ middle * np.eye(3) - np.outer(middle, middle))
    return rigid_sum([
        (box, np.array([0.3, 0, 0.1]), box / 12 * np.diag([b * b + c * c, a * a + c * c, a * a + b * b])),
        (rod, np.array([0.1375, 0, 0.1]), rod * np.diag([r * r / 2, *[r * r / 4 + length**2 / 12] * 2])),
        (ball, np.array([-0.02, 0, 0.1]), 0.4 * ball * 0.02**2 * np.eye(3)),
        (tip, middle, own),
    ])  # fmt: skip


@pytest.mark.fast
@pytest.mark.parametrize("rest", ["about: all of it said", "density: 5"])
def test_a_body_of_several_densities_is_the_sum_of_its_shapes(rest: str) -> None:
    (body,) = load_text(HAMMER.format(rest=rest)).bodies
    mass, com, inertia = hammer()
    xx, yy, zz, xy, xz, yz = body.inertia
    assert body.mass == pytest.approx(mass, rel=1e-13)
    assert body.com == pytest.approx(com, abs=1e-14)
    assert np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) == pytest.approx(inertia, rel=1e-12, abs=1e-16)


@pytest.mark.fast
def test_shapes_without_a_density_have_that_of_the_body() -> None:
    text = """
schema: 1
bodies:
  a: {{density: 1000, shapes: [{{box: {{size: [0.1, 0.1, 0.1]}}}}, {{box: {{center: [1, 0, 0], size: [0.1, 0.1, 0.1]}}{said}}}]}}
"""  # noqa: E501
    (same,) = load_text(text.format(said=", density: 1000")).bodies
    (plain,) = load_text(text.format(said="")).bodies
    (other,) = load_text(text.format(said=", density: 3000")).bodies
    for what in ("com", "inertia"):
        assert getattr(same, what) == pytest.approx(getattr(plain, what), rel=1e-14)
    assert same.mass == pytest.approx(plain.mass, rel=1e-14)
    assert (other.mass, other.com[0]) == pytest.approx((4.0, 0.75), rel=1e-14)


@pytest.mark.fast
def test_a_mirror_and_an_include_carry_what_a_shape_says(tmp_path) -> None:
    foot = "{box: {center: [0, 0.2, 0], size: [0.1, 0.1, 0.1]}, density: 500, friction: 0.9}"
    figure = f"schema: 1\nmirror: {{l: r, plane: y}}\nbodies: {{foot_l: {{shapes: [{foot}]}}}}\n"
    (tmp_path / "figure.yaml").write_text(figure)
    (tmp_path / "scene.yaml").write_text("schema: 1\ninclude: [{figure: figure.yaml, prefix: f}]\n")
    left, right = sim.load(tmp_path / "scene.yaml").bodies
    assert (left.mass, right.mass) == pytest.approx((0.5, 0.5))
    assert [body.shapes[0].friction for body in (left, right)] == [0.9, 0.9]
