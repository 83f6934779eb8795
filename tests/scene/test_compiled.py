"""What a scene is compiled to, row by row: origins of bodies, joints that there may be, their columns and stops."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from sim.kernels.tables import DRAG, SPRING, TORSION, WRENCH
from sim.mechanism.compiler import _gives_force, compile
from sim.mechanism.model import Model
from sim.scene.load import load_text
from sim.simulation.recorded_runs import layout_of

pytestmark = pytest.mark.fast

SCENE = """
schema: 1
name: compiled
about: All kinds of things.
world: {gravity: [0.1, -0.2, -9.5], points: {post: [1, 2, 3]}, shapes: [{name: floor, plane: {center: [0, 0, -4]}}]}
bodies:
  given: {mass: 2, com: [0.5, 0.1, 0.2], inertia: [1, 2, 2.5, 0.1, 0.2, 0.3], position: [0.4, 0.3, 0.2],
          points: {tip: [1, 1, 1]},
          shapes: [{sphere: {center: [1, 0, 0.5], radius: 0.1}}]}
  held: {mass: 3, com: [1, 0, 0], inertia: [0.3, 0.3, 0.3], points: {eye: [1.5, 0.5, 0]}}
  pinned: {mass: 1, com: [2, 0, 0], inertia: [0.1, 0.1, 0.1], points: {hole: [1.75, 0.25, 0]},
           shapes: [{sphere: {center: [2, 0, 0], radius: 0.2}}]}
  loose: {mass: 4, com: [5, 0, 1], inertia: [0.2, 0.2, 0.2]}
  dropped: {mass: 0.5, com: [7, 0, 1], inertia: [0.05, 0.05, 0.05]}
joints:
  base: {type: universal, parent: world, child: given, position: [0, 0, 0], axis: [0, 0, 1], second_axis: [0, 1, 0],
         stiffness: [2, 3], rest: [0.1, 0.2], damping: [0.3, 0.4], armature: [0.5, 0.6], friction: [0.7, 0.8],
         limits: {range: [[-1, inf], [-0.5, 0.25]], stiffness: 40, dissipation: 0.9}}
  arm: {type: cylindrical, parent: given, child: held, position: [0.75, 0.5, 0], axis: [1, 0, 0],
        limits: {range: [[-3, 2], [-inf, inf]], stop: rigid, restitution: 0.4, rest_speed: 0.05}}
  link: {type: spherical, parent_point: eye, child_point: hole, parent: held, child: pinned, limits: {range: [0,
          0.6], stiffness: 9}}
  drive: {type: rotational, parent: world, child: pinned, position: [2, 0, 0], axis: [0, 0, 1], motion: 2*t/1 s}
  later: {type: rotational, parent: held, child: loose, position: [4, 0, 0], axis: [0, 0, 1], connected: false}
  falls: {type: fixed, parent: world, child: dropped, position: [6, 0, 0]}
constraints:
  geared: {type: gear, joints: [arm, base], freedoms: [1, 0], ratio: 2}
  nut: {type: screw, joint: arm, pitch: 0.5}
  wheel: {type: no_side_slip, body: loose, position: [5, 0, -4], axis: [0, 1, 0], ground: world, holds: 6}
  ball: {type: rolling, body: dropped, position: [7, 0, -3], radius: 1, ground: world, holds: 0.7}
  twin: {type: same_velocity, bodies: [loose, given], position: [5, 0, 0], components: [rx], holds: 8, active: false}
forces:
  strut: {type: spring, from: given.tip, to: loose, stiffness: 5, damping: 0.5}
  tight: {type: spring, from: world.post, to: held.com, stiffness: 6, length: 0.75}
  twist: {type: torsion_spring, joint: base, freedom: 1, stiffness: 7, damping: 0.25, rest: 0.5}
  ballspring: {type: torsion_spring, joint: link, stiffness: 8}
  jet: {type: wrench, body: held, point: eye, reaction: given, frame: body, force: [0, "1 N", 0], torque: ["2 N*m",
          0, 0]}
  air: {type: drag, body: loose, linear: 1, quadratic: 2, turning_linear: 3, turning_quadratic: 4}
contacts: {knobs: {between: [given, world], friction: 0.3}}
events: {cut: {at: 0.5 s, cut: falls}, join: {at: 0.6 s, connect: later}}
simulate: {duration: 1 s}
"""


@pytest.fixture
def model() -> Model:
    return compile(load_text(SCENE))


ORIGINS = {  # as given; the place of the first joint; its point; the centre of mass where no joint holds it
    "given": [0.4, 0.3, 0.2], "held": [0.75, 0.5, 0], "pinned": [1.75, 0.25, 0], "loose": [5, 0, 1], "dropped": [6,
            0, 0],
}  # fmt: skip


def test_bodies_count_from_where_they_are_told_to(model: Model) -> None:
    assert model.body_names == ("world", *ORIGINS)
    for name, place in ORIGINS.items():
        assert model.drawing.origins[name].tolist() == place, name
        body = model.bodies[model.body_names.index(name)]
        spec = next(one for one in model.scene.bodies if one.name == name)
        assert np.allclose(body.com_B, np.array(spec.com) - place, atol=1e-15) and body.mass == spec.mass
        assert body.inertia_B.tolist() == list(spec.inertia)
    assert model.bodies[0].mass == 0.0 and model.gravity_W.tolist() == [0.1, -0.2, -9.5]
    sizes = [
        math.dist(spec.com, ORIGINS[spec.name]) + math.sqrt(sum(spec.inertia[:3]) / (2 * spec.mass))
        for spec in model.scene.bodies
    ]
    assert model.length == pytest.approx(sum(sizes) / 5, rel=1e-15)


def test_joints_are_those_that_are_written_and_free_ones_for_what_may_come_loose(model: Model) -> None:
    written = ["base", "arm", "link", "drive", "later", "falls"]
    bound = ["geared", "nut", "wheel", "ball", "twin"]
    assert model.joint_names == (*written, *bound, "loose", "dropped")
    assert [spec is not None for spec in model.joint_specs] == [True] * 6 + [False] * 7
    assert model.free_joint.tolist() == [-1, -1, -1, -1, 11, 12]
    ends = [(int(j.parent), int(j.child)) for j in model.joints]
    assert ends == [
        (0, 1),
        (1, 2),
        (2, 3),
        (0, 3),
        (2, 4),
        (0, 5),
        (1, 2),
        (1, 2),
        (0, 4),
        (0, 5),
        (1, 4),
        (0, 4),
        (0, 5),
    ]
    types = ["universal", "cylindrical", "spherical", "rotational", "rotational", "fixed", *["free"] * 2]
    assert [model.type_of(j).name for j in (*range(6), 11, 12)] == types
    assert model.joints.kind.tolist() == [0] * 6 + [6, 6, 1, 3, 5] + [0] * 2
    assert model.joints.nv.tolist() == [2, 2, 3, 1, 1, 0, 0, 0, 1, 2, 1, 6, 6]
    assert model.joints.column.tolist() == [0, 2, 4, 7, 8, 9, 9, 9, 9, 10, 12, 13, 19]
    assert sorted(model.connected) == [0, 1, 2, 3, 5, 6, 7, 8, 9]
    assert [model.binds(j) for j in range(13)] == [True] * 6 + [True, True] + [False] * 5
    assert model.joint("later") == 4 and model.columns_of(1) == slice(2, 4) and model.columns_of(5) == slice(9, 9)
    assert model.geared(6) == ((1, 1), (0, 0)) and model.geared(7) == ((1, 0), (1, 1))
    assert model.tied(6) == {0, 1} and model.tied(7) == {1} and model.tied(0) == model.tied(8) == set()
    assert model.waiting == frozenset() and model.one_sided


def test_columns_are_freedoms_with_what_acts_on_each(model: Model) -> None:
    names = ["base[0]", "base[1]", "arm[0]", "arm[1]", "link[0]", "link[1]", "link[2]", "drive", "later", "wheel",
            "ball[0]",
             "ball[1]", "twin", *(f"loose[{i}]" for i in range(6)), *(f"dropped[{i}]" for i in range(6))]  # fmt: skip
    columns = model.columns
    assert list(model.column_names) == names
    assert columns.joint.tolist() == [0, 0, 1, 1, 2, 2, 2, 3, 4, 8, 9, 9, 10, *[11] * 6, *[12] * 6]
    assert columns.linear.tolist() == [0, 0, 1, 0, 0, 0, 0, 0, 0, 1, 1, 1, 0, *[1, 1, 1, 0, 0, 0] * 2]
    for name, values in (
        ("stiffness", [2, 3]), ("rest", [0.1, 0.2]), ("damping", [0.3, 0.4]), ("armature", [0.5, 0.6]),
    ):  # fmt: skip
        assert columns[name].tolist() == values + [0.0] * 23, name
    friction = [0.7, 0.8] + [0.0] * 23
    friction[9], friction[10], friction[12] = 6.0, 0.7, 8.0
    assert columns.friction.tolist() == friction
    assert np.flatnonzero(columns.both).tolist() == [10]
    for name in ("code", "sine", "cosine", "sense"):  # slips are read from no frames
        assert not columns[name][9:13].any() and columns[name].any()
    assert np.flatnonzero(columns.motion >= 0).tolist() == [7]
    assert model.programs.sources[int(columns.motion[7])].text == "2*t/1 s"


def test_stops_are_ends_of_ranges(model: Model) -> None:
    assert model.stops.about.tolist() == [2] * 6 and model.stops.place.tolist() == model.stops.column.tolist()
    names = [name for name in model.stops.dtype.names if name not in ("about", "place")]
    found = [tuple(float(stop[name]) for name in names) for stop in model.stops]
    soft, hard = (40.0, 0.9, 0.0, 0.0), (0.0, 0.0, 1.0, 0.4)
    told = [row[:5] for row in found]
    assert told == [
        (0, 0, 0, -1, -1), (0, 1, 0, -1, -0.5), (0, 1, 0, 1, 0.25), (1, 2, 0, -1, -3), (1, 2, 0, 1, 2),
        (2, 4, 1, 1, 0.6),
    ]  # fmt: skip
    assert [row[5:9] for row in found[:3]] == [soft] * 3 and [row[5:9] for row in found[3:5]] == [hard] * 2
    assert [row[9] for row in found[3:5]] == [0.05] * 2 and found[5][5] == 9.0


def test_points_stand_in_the_axes_of_their_bodies(model: Model) -> None:
    expected = {
        "world": (0, [0, 0, 0]), "world.post": (0, [1, 2, 3]), "given": (1, [0, 0, 0]), "given.com": (1, [0.1, -0.2,
                0]),
        "given.tip": (1, [0.6, 0.7, 0.8]), "held": (2, [0, 0, 0]), "held.com": (2, [0.25, -0.5, 0]),
        "held.eye": (2, [0.75, 0, 0]), "pinned": (3, [0, 0, 0]), "pinned.com": (3, [0.25, -0.25, 0]),
        "pinned.hole": (3, [0, 0, 0]), "loose": (4, [0, 0, 0]), "loose.com": (4, [0, 0, 0]), "dropped": (5, [0, 0, 0]),
        "dropped.com": (5, [1, 0, 1]),
    }  # fmt: skip
    assert list(model.point_names) == list(expected)
    for name, (body, place) in expected.items():
        row = model.points[model.point_names[name]]
        assert int(row.body) == body and np.allclose(row.p_B, place, atol=1e-15), name


def test_forces_are_what_kernels_read_of_them(model: Model) -> None:
    at, forces = model.point_names, model.forces
    assert forces.kind.tolist() == [SPRING, SPRING, TORSION, TORSION, WRENCH, DRAG]
    assert forces.a.tolist() == [at["given.tip"], at["world.post"], -1, -1, at["held.eye"], at["loose.com"]]
    assert forces.b.tolist() == [at["loose"], at["held.com"], -1, -1, at["given"], -1]
    assert forces.stiffness.tolist() == [5, 6, 7, 8, 0, 0] and forces.damping.tolist() == [0.5, 0, 0.25, 0, 0, 1]
    assert forces.rest.tolist() == [pytest.approx(math.dist([1, 1, 1], [5, 0, 1])), 0.75, 0.5, 0, 0, 0]
    assert forces.column.tolist()[2:4] == [1, 4] and forces.turns.tolist()[2:4] == [1, 3]
    assert forces.quadratic[5] == 2 and forces.turning_damping[5] == 3 and forces.turning_quadratic[5] == 4
    assert forces.turned.tolist() == [0, 0, 0, 0, 1, 0]
    programs = model.programs
    entered = forces.programs[4].tolist()
    assert sorted(programs.pushing) == sorted(n for n in entered if n >= 0) and not (forces.programs[5] >= 0).any()
    values = {k: programs.sources[n].text for k, n in enumerate(entered) if n >= 0}
    assert values[0] == "2 N*m" and values[4] == "1 N"
    assert programs.acts and not compile(load_text(
        "schema: 1\nname: x\nbodies: {a: {mass: 1, com: [0, 0, 0], inertia: [1, 1, 1]}}\n")).programs.acts  # fmt: skip


def test_a_recording_says_what_there_is(model: Model) -> None:
    layout = layout_of(model, {"seed": 3}, 77)
    assert (layout.scene, layout.settings, layout.expected_rows) == ("compiled", {"seed": 3}, 77)
    assert [body.name for body in layout.bodies] == list(ORIGINS)
    assert layout.bodies[0].com == pytest.approx((0.1, -0.2, 0.0)) and layout.bodies[0].inertia == (
        1,
        2,
        2.5,
        0.1,
        0.2,
        0.3,
    )
    assert [(s.body, s.kind) for s in layout.shapes] == [(-1, "plane"), (0, "sphere"), (2, "sphere")]
    assert layout.shapes[0].position == (0, 0, -4)
    assert layout.shapes[1].position == pytest.approx((0.6, -0.3, 0.3)) and layout.shapes[2].position == pytest.approx(
        (0.25, -0.25, 0)
    )
    joints = [(j.name, j.type, j.parent, j.child) for j in layout.joints]
    assert joints[0] == ("base", "universal", "world", "given") and joints[6] == ("geared", "gear", "given", "held")
    assert joints[7][1] == "screw" and joints[11] == ("loose", "free", "world", "loose")
    units = [(c.name, c.joint, c.unit, c.rate_unit, c.torque_unit) for c in layout.columns]
    assert units[0] == ("base[0]", "base", "rad", "rad/s", "N m") and units[2] == ("arm[0]", "arm", "m", "m/s", "N")
    assert [(p.name, p.body) for p in layout.points] == [
        ("world.post", -1), ("given.tip", 0), ("held.eye", 1), ("pinned.hole", 2),
    ]  # fmt: skip
    assert [p.position for p in layout.points] == [
        pytest.approx(p) for p in ((1, 2, 3), (0.6, 0.7, 0.8), (0.75, 0, 0), (0, 0, 0))
    ]  # fmt: skip
    (pair,) = layout.pairs
    assert (pair.a, pair.b) == ("world.floor", "given")
    assert [model.solids[n].body for n in pair.shapes] == [0, 1]
    nowhere = [math.nan] * 3
    expected = [
        ("strut", "spring", (0, 3), [0.6, 0.7, 0.8], [0, 0, 0]), ("tight", "spring", (-1, 1), [1, 2, 3], [0.25, -0.5,
                0]),
        ("twist", "torsion_spring", (-1, 0), nowhere, nowhere), ("ballspring", "torsion_spring", (1, 2), nowhere,
                nowhere),
        ("jet", "wrench", (1, 0), [0.75, 0, 0], nowhere), ("air", "drag", (3, -1), [0, 0, 0], nowhere),
    ]  # fmt: skip
    for force, (name, kind, bodies, a, b) in zip(layout.forces, expected, strict=True):
        assert (force.name, force.type, force.bodies) == (name, kind, bodies)
        assert np.allclose(force.points, [a, b], equal_nan=True), name


def test_what_a_constraint_of_one_row_gives_is_a_force_where_it_pushes_along_what_slides() -> None:
    """Of gears as their first freedom has it: a cylindrical joint slides by its first and turns by its second."""
    types = {"post": "cylindrical", "rail": "translational", "wheel": "rotational"}

    def gives(**said: Any) -> int:
        return _gives_force(SimpleNamespace(**said), types)  # type: ignore[arg-type]

    for joints, freedoms, force in (
        (("post", "wheel"), (0, 1), 1), (("post", "wheel"), (1, 0), 0), (("rail", "post"), (0, 1), 1),
        (("wheel", "post"), (0, 0), 0), (("post", "post"), (1, 0), 0),
    ):  # fmt: skip
        assert gives(type="gear", joints=joints, freedoms=freedoms) == force
    for components, force in ((("x",), 1), (("rx",), 0), (("x", "rz"), 0), (("y", "z"), 1)):
        assert gives(type="same_velocity", components=components) == force
