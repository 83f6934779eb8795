"""The shipped figures: freedoms, mass, size, symmetry, against numbers of the tables."""

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import sim
from sim.joints import JOINT_TYPES

FIGURES = Path(__file__).parents[2] / "scenes" / "figures"
pytestmark = pytest.mark.fast


def load(name, **parameters):
    return sim.load(FIGURES / f"{name}.yaml", set=parameters)


@pytest.mark.parametrize(
    ("name", "links", "kinds"),
    [
        ("monkey16", 9, {"spherical": 4, "rotational": 4}),
        ("human28", 15, {"spherical": 5, "rotational": 5, "universal": 4}),
        ("human40", 17, {"spherical": 12, "rotational": 4}),
    ],
)
def test_links_joints_and_freedoms(name, links, kinds):
    scene = load(name)
    assert len(scene.bodies) == links
    assert len(scene.joints) == links - 1
    assert Counter(joint.type for joint in scene.joints) == kinds
    assert sum(JOINT_TYPES[joint.type].freedoms for joint in scene.joints) == int(name[-2:])


@pytest.mark.parametrize(("name", "mass"), [("monkey16", 30.0), ("human28", 73.0), ("human40", 73.0)])
def test_mass_is_the_parameter(name, mass):
    assert sum(body.mass for body in load(name).bodies) == pytest.approx(mass, rel=1e-14)
    assert sum(body.mass for body in load(name, mass=50.0).bodies) == pytest.approx(50.0, rel=1e-14)


@pytest.mark.parametrize("name", ["monkey16", "human28", "human40"])
def test_lengths_and_inertia_scale(name):
    """Twice the height: lengths double, inertia grows by four at the same mass."""
    small, large = load(name, height=1.0, mass=40.0), load(name, height=2.0, mass=40.0)
    for a, b in zip(small.bodies, large.bodies, strict=True):
        assert np.array(b.com) == pytest.approx(2.0 * np.array(a.com), abs=1e-15)
        assert np.array(b.inertia) == pytest.approx(4.0 * np.array(a.inertia), rel=1e-12, abs=1e-15)
    for a, b in zip(small.joints, large.joints, strict=True):
        assert np.array(b.position) == pytest.approx(2.0 * np.array(a.position), abs=1e-15)


@pytest.mark.parametrize("name", ["monkey16", "human28", "human40"])
def test_left_mirrors_right(name):
    bodies = {body.name: body for body in load(name).bodies}
    lefts = [body for body in bodies if body.endswith("_l")]
    assert len(lefts) >= 4
    for left in lefts:
        a, b = bodies[left], bodies[left[:-1] + "r"]
        assert a.mass == b.mass
        assert a.com == pytest.approx((b.com[0], -b.com[1], b.com[2]), abs=1e-15)
        assert {shape.color for shape in a.shapes} != {shape.color for shape in b.shapes} or len(a.shapes) < 3


def test_human_standing_height_and_centre_of_mass():
    """Head 0.47 heights above the hips; centre of mass at 0.53 to 0.58 of the height, as people have."""
    for name in ("human28", "human40"):
        scene = load(name, height=1.0)
        top = max(s.position[2] + s.size[2] for body in scene.bodies for s in body.shapes if s.kind == "ellipsoid")
        assert top == pytest.approx(0.47, abs=0.01)
        com = sum(body.mass * np.array(body.com) for body in scene.bodies) / sum(body.mass for body in scene.bodies)
        assert com[:2] == pytest.approx([0.0, 0.0], abs=0.01)
        assert 0.53 < com[2] + 0.53 < 0.58


def test_segment_numbers_of_the_tables():
    """De Leva's example: 73 kg, 1.741 m; thigh 10.3368 kg, shank 3.1609 kg, upper arm 1.9783 kg."""
    masses = {body.name: body.mass for body in load("human40", height=1.741, mass=73.0).bodies}
    assert masses["thigh_l"] == pytest.approx(10.3368, abs=1e-4)
    assert masses["shank_l"] == pytest.approx(3.1609, abs=1e-4)
    assert masses["upper_arm_l"] == pytest.approx(1.9783, abs=1e-4)
    assert masses["neck"] + masses["head"] == pytest.approx(5.066, abs=1e-3)
    assert masses["pelvis"] + masses["abdomen"] + masses["thorax"] == pytest.approx(31.726, abs=1e-3)
