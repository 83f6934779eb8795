"""Convex meshes: distances against coal and certificates, a box of eight corners against the box, and what they do."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from sim.kernels.shapes import BALL, BOX, CAPSULE, CYLINDER, ELLIPSOID, FACE, LINE, PLANE, SPHERE
from tests.contact import polyhedra
from tests.contact.engine import G0, PENETRATION, Run
from tests.contact.polyhedra import CUBE, DODECAHEDRON, ICOSAHEDRON, TETRAHEDRON, coal_distance, polyhedron
from tests.contact.solids import EYE, NAMES, Solid, depth, meet, random_solid, width
from tests.support.interpreted import times

pytestmark = pytest.mark.contact

MESHES = {
    "tetrahedron": 0.6 * TETRAHEDRON, "icosahedron": 0.5 * ICOSAHEDRON, "dodecahedron": 0.5 * DODECAHEDRON,
    "pebble": polyhedra.pebble(80), "plate": polyhedra.prism(7, 0.1),
}  # fmt: skip
EVERYWHERE = 1e9  # m, a margin that leaves nothing out
FAST = pytest.mark.fast
FLOOR = Solid(PLANE, np.array([10.0, 10.0, 0.0]), np.zeros(3), EYE)


def thrown(rng: np.random.Generator, name: str, other: int | str) -> tuple[Solid, Solid]:
    """A mesh and another solid at random poses, in either order; about every third time they overlap."""
    a = polyhedron(MESHES[name], 0.9 * rng.normal(size=3), Rotation.random(rng=rng).as_matrix())
    if isinstance(other, str):
        b = polyhedron(MESHES[other], 0.9 * rng.normal(size=3), Rotation.random(rng=rng).as_matrix())
    else:
        b = random_solid(rng, other)
    return (a, b) if rng.random() < 0.5 else (b, a)


def pairs(others: list[int | str]) -> list[object]:
    """Meshes beside other solids; those of many corners are left out of the fast subset."""
    return [
        pytest.param(
            name, other, id=f"{name}-{NAMES.get(other, other)}", marks=() if "pebble" in (name, other) else FAST
        )
        for name in MESHES
        for other in others
    ]


@pytest.mark.parametrize(("name", "other"), pairs([SPHERE, CAPSULE, BOX, *MESHES]))
def test_distances_are_those_of_coal(name: str, other: int | str) -> None:
    pytest.importorskip("coal")
    rng, apart, count = np.random.default_rng(2), 0, times(30, 3)
    for _ in range(count):
        a, b = thrown(rng, name, other)
        distance, normal = coal_distance(a, b)
        meeting = meet(a, b, EVERYWHERE, rng)
        assert meeting.distance == pytest.approx(distance, abs=1e-9)
        assert width(a, b, meeting.normal) == pytest.approx(meeting.distance, abs=1e-12)
        if distance > 1e-3:
            apart += 1
            assert meeting.gap.min() == pytest.approx(distance, abs=1e-9)
            np.testing.assert_allclose(meeting.normal, normal, rtol=0, atol=1e-9)
            assert 1 <= meeting.count <= 8
    assert count < 30 or 8 <= apart < 30


@pytest.mark.parametrize(("name", "other"), pairs([CYLINDER, ELLIPSOID]))
def test_two_points_and_two_planes_prove_the_distance_to_round_solids(name: str, other: int) -> None:
    rng, apart, count = np.random.default_rng(3), 0, times(40, 4)
    for _ in range(count):
        a, b = thrown(rng, name, other)
        meeting = meet(a, b, EVERYWHERE, rng)
        assert width(a, b, meeting.normal) == pytest.approx(meeting.distance, abs=1e-12)
        if meeting.distance < 0:
            continue
        apart += 1
        k = int(np.argmin(meeting.gap))
        assert meeting.gap[k] == pytest.approx(meeting.distance, abs=1e-12)
        for solid, side in ((a, -0.5), (b, 0.5)):
            y = meeting.p[k] + side * meeting.gap[k] * meeting.n[k]
            away = outside_of_mesh(solid, y) if solid.corners is not None else solid.outside(y)
            assert away <= 1e-11
    assert apart >= count // 4


def outside_of_mesh(solid: Solid, y: np.ndarray) -> float:
    """How far a point is outside of a polyhedron, across its faces."""
    from scipy.spatial import ConvexHull

    equations = ConvexHull(solid.corners).equations
    return float((equations[:, :3] @ (solid.R.T @ (y - solid.x)) + equations[:, 3]).max())


@FAST
@pytest.mark.parametrize("name", ["icosahedron", "plate"])
@pytest.mark.parametrize("other", [CYLINDER, ELLIPSOID], ids=NAMES.get)
@pytest.mark.parametrize("seed", range(3))
def test_overlap_with_round_solids_is_the_smallest_translation_that_parts(name: str, other: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    while True:
        a, b = thrown(rng, name, other)
        n = rng.normal(size=3)
        n = n / np.linalg.norm(n)
        b.x = b.x - n * (float(width(a, b, n)) + 10 ** rng.uniform(-4, -1))
        meeting = meet(a, b, EVERYWHERE, rng)
        if meeting.distance < 0:
            break
    assert meeting.distance == pytest.approx(depth(a, b, meeting.normal), abs=1e-9)


def lies_on_ground(points: np.ndarray) -> Solid:
    """The mesh on the face that is its lowest."""
    solid = polyhedron(points)
    solid.x = np.array([0.0, 0.0, -solid.corners[:, 2].min()])
    return solid


def turned_upright(points: np.ndarray) -> np.ndarray:
    """Points turned so that one of the faces of their hull points down."""
    from scipy.spatial import ConvexHull

    normal = ConvexHull(points).equations[0, :3]
    return points @ Rotation.align_vectors([[0, 0, -1]], [normal])[0].as_matrix().T


@FAST
@pytest.mark.parametrize(("name", "corners"), [("tetrahedron", 3), ("icosahedron", 3), ("dodecahedron", 5)])
def test_a_face_on_the_ground_touches_with_its_corners(name: str, corners: int) -> None:
    meeting = meet(FLOOR, lies_on_ground(turned_upright(MESHES[name])), 1e-6, np.random.default_rng(0))
    assert meeting.count == corners
    np.testing.assert_allclose(meeting.gap, 0, rtol=0, atol=1e-14)
    np.testing.assert_allclose(meeting.n, np.tile([0, 0, 1], (corners, 1)), rtol=0, atol=1e-14)
    assert (meeting.touches.kind[:corners] == [FACE, BALL]).all()


@FAST
def test_of_more_corners_than_eight_the_same_are_kept_in_every_call() -> None:
    """Those on the ground before those above it, however many are within the margin and however they are rounded."""
    keys = set()
    for seed in range(times(20, 3)):
        rng = np.random.default_rng(seed)
        turn = Rotation.from_rotvec([0, 0, rng.uniform(0, 6)]).as_matrix()
        solid = lies_on_ground(polyhedra.prism(12, 1e-3))
        solid.R = turn
        meeting = meet(FLOOR, solid, 1e-2, rng)
        assert meeting.count == 8
        np.testing.assert_allclose(meeting.gap, 0, rtol=0, atol=1e-14)
        keys.add(tuple(sorted(meeting.touches.key[:8, 1].tolist())))
    assert len(keys) == 1


@FAST
def test_a_cylinder_stands_and_lies_on_a_mesh_as_on_a_box() -> None:
    box, mesh = polyhedra.box(np.array([1.0, 0.8, 1.0]), np.zeros(3))
    standing = Solid(CYLINDER, np.array([0.3, 0.3, 1.0]), np.array([0.1, 0.05, 1.0]), EYE)
    over = Solid(CYLINDER, np.array([0.3, 0.3, 1.0]), np.array([0.4, 0.3, 1.0]), EYE)
    lying = Solid(CYLINDER, np.array([0.3, 0.3, 1.0]), np.array([0.1, 0.2, 0.8]), polyhedra_turn("x", 90))
    for cylinder, count in ((standing, 4), (over, 5), (lying, 2)):
        expected, found = meet(box, cylinder, 1e-6), meet(mesh, cylinder, 1e-6, np.random.default_rng(0))
        assert found.count == expected.count >= count
        assert_same_points(expected.p, found.p)
    rail = Solid(CYLINDER, np.array([0.6, 0.6, 0.2]), np.array([0.0, 0.0, -0.6]), EYE)
    expected, found = meet(rail, box, 1e-6), meet(rail, mesh, 1e-6)
    assert found.count == expected.count
    assert_same_points(expected.p, found.p)


def polyhedra_turn(axis: str, degrees: float) -> np.ndarray:
    return Rotation.from_euler(axis, degrees, degrees=True).as_matrix()


def assert_same_points(expected: np.ndarray, found: np.ndarray) -> None:
    away = np.linalg.norm(expected[:, None] - found[None], axis=2)
    np.testing.assert_allclose(away.min(axis=0), 0, rtol=0, atol=1e-9)
    np.testing.assert_allclose(away.min(axis=1), 0, rtol=0, atol=1e-9)


@pytest.mark.parametrize("seed", [pytest.param(k, marks=FAST if k < 16 else ()) for k in range(40)])
def test_a_box_of_corners_touches_where_the_box_does(seed: int) -> None:
    """On a box: flush, turned, on an edge, on a corner; gaps of nothing, little and much."""
    rng = np.random.default_rng(seed)
    low, low_mesh = polyhedra.box(rng.uniform(0.5, 2, 3), np.zeros(3))
    turns = [EYE, polyhedra_turn("z", 37), polyhedra_turn("x", 45), Rotation.random(rng=rng).as_matrix()]
    R = turns[seed % 4]
    high, high_mesh = polyhedra.box(rng.uniform(0.5, 2, 3), np.append(rng.uniform(-0.3, 0.3, 2), 0.0), R)
    gap = [0.0, 1e-10, -1e-6, 1e-3][seed // 4 % 4]
    for solid in (high, high_mesh):
        solid.x[2] = 0.5 * low.size[2] + gap + (np.abs(R[2]) @ high.size) / 2
    expected = meet(low, high, 1e-2)
    for a, b in ((low_mesh, high), (low, high_mesh), (low_mesh, high_mesh)):
        found = meet(a, b, 1e-2, rng)
        assert found.distance == pytest.approx(expected.distance, abs=1e-13)
        assert found.count == expected.count
        if expected.count:  # else the corner is beside the lower box
            assert_same_points(expected.p, found.p)
    assert expected.count or seed % 4 >= 2


# What they do.


def block(kind: str, size: tuple[float, ...], at: str, more: str = "") -> str:
    """A box, or the same of its corners, in the order in which a box lists those below it."""
    if kind == "box":
        return f"{{box: {{center: {at}, size: {list(size)}{more}}}}}"
    return f"{{mesh: {{position: {at}, vertices: {(0.5 * CUBE * size).tolist()}{more}}}}}"


def scene(bodies: str, rest: str, mode: str, ground: str = "plane: {}") -> str:
    return f"""
schema: 1
world: {{shapes: [{{{ground}}}]}}
bodies: {{{bodies}}}
{rest}
simulate: {{{mode}, duration: 10 s}}
"""


def throw(kind: str, mode: str) -> str:
    body = f"b: {{density: 500, shapes: [{block(kind, (0.2, 0.3, 0.1), '[0, 0, 0.6]')}]}}"
    rest = """
initial: {b: {rate: [1, 2, 3, 1.5, 0.5, 0]}}
contacts: {c: {between: [b, world], friction: 0.4, restitution: 0.3}}"""
    return scene(body, rest, mode)


def slide(kind: str, mode: str) -> str:
    turn = ", orientation: {rpy: [0, -30 deg, 0]}"
    body = f"b: {{density: 500, shapes: [{block(kind, (0.2, 0.3, 0.1), '[-0.025, 0, 0.025*sqrt(3)]', turn)}]}}"
    rest = "contacts: {c: {between: [b, world], friction: 0.3}}"
    return scene(body, rest, mode, "plane: {normal: [-0.5, 0, 0.5*sqrt(3)]}")


def pile(kind: str, mode: str) -> str:
    upper = block(kind, (0.2, 0.3, 0.1), "[0.03, 0.02, 0.16]", ", orientation: {rpy: [0, 0, 20 deg]}")
    bodies = f"""
  a: {{density: 500, shapes: [{block(kind, (0.3, 0.3, 0.1), "[0, 0, 0.05]")}]}},
  b: {{density: 500, shapes: [{upper}]}}"""
    rest = """
initial: {b: {rate: [0, 0, 1, 0.3, 0, 0]}}
contacts: {ground: {between: ["*", world], friction: 0.4}, c: {between: [a, b], friction: 0.4, restitution: 0.3}}"""
    return scene(bodies, rest, mode)


STEPPING, EVENT = "contact: stepping, dt: 2 ms", "contact: event"


@pytest.mark.parametrize(
    ("made", "mode", "until", "same"),
    [  # steps are solved to 1e-4 of the speeds, in the order of points: that of edges is not the box's
        (throw, STEPPING, 1.5, 1e-9), (slide, STEPPING, 1.0, 2e-8), (pile, STEPPING, 0.5, 5e-6),
        (throw, EVENT, 1.0, 1e-9), (slide, EVENT, 1.0, 1e-9), (pile, EVENT, 0.06, 1e-9),
    ],
)  # fmt: skip
def test_a_box_of_corners_moves_as_the_box(made, mode: str, until: float, same: float) -> None:
    box, mesh = (Run(made(kind, mode)).to(until) for kind in ("box", "mesh"))
    assert len(box.told.rows_) == len(mesh.told.rows_)
    for name in ("time", "position", "quat_wxyz", "velocity"):
        of = [np.array([row[name] for row in run.told.rows_]) for run in (box, mesh)]
        allowed = 1e-2 if name == "velocity" and "stepping" in mode else 100 * same
        np.testing.assert_allclose(of[1], of[0], rtol=0, atol=same if name in ("time", "position") else allowed)
    if mode == EVENT:
        times = [run.times() for run in (box, mesh)]
        assert len(times[0]) == len(times[1])
        np.testing.assert_allclose(times[1], times[0], rtol=0, atol=1e-9)
        assert [event.text for event in box.told.events] == [event.text for event in mesh.told.events]


def tetrahedron(mode: str, height: float) -> str:
    """A tetrahedron of edge 1 m and 600 kg/m^3 with a face down, its lowest corners so high."""
    corners = turned_upright(TETRAHEDRON / 8**0.5)
    corners[:, 2] += height - corners[:, 2].min()
    body = f"b: {{density: 600, shapes: [{{mesh: {{vertices: {corners.tolist()}}}}}]}}"
    return scene(body, "contacts: {c: {between: [b, world], friction: 0.5}}", mode)


@pytest.mark.parametrize("mode", [STEPPING, EVENT])
def test_a_tetrahedron_falls_and_stands_on_three_corners(mode: str) -> None:
    run = Run(tetrahedron(mode, 0.2)).to(0.5)
    weight = 600 / (6 * 2**0.5) * G0
    row = run.told.rows_[-1]
    assert row["com"][0][2] == pytest.approx(1 / (4 * 1.5**0.5), abs=1e-9 if mode == EVENT else 1e-4)
    if mode == EVENT:
        np.testing.assert_allclose(run.times(), [np.sqrt(2 * 0.2 / G0)], rtol=0, atol=1e-12)
        points = run.points()
        np.testing.assert_allclose(points.normal, [weight / 3] * 3, rtol=1e-9)
        assert np.abs(points.gap).max() < PENETRATION
    else:
        contacts = run.simulator.flow.pressed()  # it is asleep
        np.testing.assert_allclose(contacts.impulse[:, 0] / 2e-3, [weight / 3] * 3, rtol=1e-3)


STAIRS = """
schema: 1
world:
  shapes:
    - plane: {{}}
    - box: {{center: [-0.2, 0, 0.2], size: [0.8, 1, 0.4]}}
    - mesh: {{vertices: {step}, position: [0.35, 0, 0.1]}}
bodies:
  b: {{density: 500, shapes: [{{mesh: {{vertices: {points}, scale: 0.05, position: [0, 0.01, 0.55]}}}}]}}
initial: {{b: {{velocity: [1.2, 0.1, 0], angular_velocity: [0, 8, 1]}}}}
contacts: {{c: {{between: [b, world], friction: 0.5, restitution: 0.2}}}}
simulate: {{{mode}, duration: 4 s}}
"""


@pytest.mark.parametrize("mode", ["contact: stepping, dt: 1 ms", EVENT])
def test_an_icosahedron_rolls_down_steps_and_comes_to_rest(mode: str) -> None:
    step = (0.5 * CUBE * [0.3, 1, 0.2]).tolist()
    run = Run(STAIRS.format(step=step, points=ICOSAHEDRON.tolist(), mode=mode)).to(3.0)
    rows = run.told.rows_
    energy = np.array([row["energy/kinetic"] + row["energy/potential"] for row in rows])
    highest = energy.max() - energy.min()
    assert np.diff(energy).max() < (1e-7 if mode == EVENT else 1e-3) * highest
    last = rows[-1]
    assert last["position"][0][0] > 0.5  # beyond the last step
    assert last["position"][0][2] == pytest.approx(
        0.05 * polyhedra.PHI**2 / 3**0.5, abs=1e-9 if mode == EVENT else 1e-5
    )
    assert np.linalg.norm(last["velocity"]) < 1e-6
    assert np.linalg.norm(last["angular_velocity"]) < 1e-6
    if mode == EVENT:
        assert run.points().gap.min() > -PENETRATION


def test_dice_come_to_rest_on_their_faces() -> None:
    import sim
    from tests.contact.engine import SCENES

    loaded = sim.load(SCENES / "dice.yaml")
    run = Run(loaded).to(2.0)
    last = run.told.rows_[-1]
    assert np.abs(last["velocity"]).max() < 1e-5
    assert np.abs(last["angular_velocity"]).max() < 1e-3
    names = [body.name for body in loaded.bodies]
    edges = {"d4": 0.009 / 3**0.5, "d6": 0.008, "d8": 0.014 / 3**0.5}
    low = {k: last["position"][names.index(k)][2] for k in names}
    for name in names:
        assert abs(last["position"][names.index(name)][0]) < 0.1
        if name[:2] in edges:  # half of the distance between opposite faces, of a tetrahedron that of its centre
            assert low[name] == pytest.approx(edges[name[:2]], abs=1e-5)


def test_features_of_a_mesh_are_its_corners_edges_and_faces() -> None:
    from sim.mechanism.solids import features_of
    from sim.scene.hull import hull_of

    for points, counts in (
        (DODECAHEDRON, (20, 30, 12)), (ICOSAHEDRON, (12, 30, 20)), (CUBE, (8, 12, 6)), (TETRAHEDRON, (4, 6, 4)),
    ):  # fmt: skip
        rows = features_of(hull_of(tuple(map(tuple, points.tolist())))[1])
        assert tuple(int((rows.kind == kind).sum()) for kind in (BALL, LINE, FACE)) == counts
        edges, faces = rows[rows.kind == LINE], rows[rows.kind == FACE]
        assert np.sum(faces.p * faces.d, axis=1).min() > 0
        for way in (-1.0, 1.0):  # an edge leads from corner to corner
            ends = edges.p + way * edges.half[:, None] * edges.d
            away = np.linalg.norm(ends[:, None] - rows[rows.kind == BALL].p, axis=2)
            np.testing.assert_allclose(away.min(axis=1), 0, rtol=0, atol=1e-14)
        for side in (rows[edges.a], rows[edges.b]):  # an edge lies in both of its faces
            np.testing.assert_allclose(np.sum(side.d * edges.d, axis=1), 0, rtol=0, atol=1e-14)
            np.testing.assert_allclose(np.sum(side.d * (edges.p - side.p), axis=1), 0, rtol=0, atol=1e-14)
