"""Every vertex, normal, face and colour of what is drawn, built again another way."""

from __future__ import annotations

import colorsys
from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from render import palette
from render.arrows import Arrows, Outline
from render.camera import Camera
from render.floors import Floors
from render.meshes import mesh, polyhedron, revolve
from render.springs import Coils, directions
from render.touches import Touches
from render.trails import Trails
from render.view import Motion, Pushes, Shapes, Springs, TouchTable

pytestmark = pytest.mark.fast
SEEN_BY = Camera(np.array([1.0, -2.0, 0.5]), 4.0, 0.7, 0.3, 0.6)
HEIGHT = 8.0 * np.tan(0.3)  # m, of the picture at the target
RANDOM = np.random.default_rng(12)
TURNS = Rotation.from_rotvec(RANDOM.normal(size=(8, 3)))
ROUND = 2 * np.pi * np.arange(32) / 32


def drawing(**more) -> Motion:
    """Return two bodies, turned and moved, with what else there is to draw."""
    none = Shapes(
        body=np.zeros(1, int), kind=("sphere",), position=np.zeros((1, 3)), quat=np.array([[1.0, 0, 0, 0]]),
        size=np.full((1, 3), 0.1), color=np.full((1, 4), np.nan),
    )  # fmt: skip
    motion = Motion.from_drawing(
        name="", body_names=["a", "b"], position=np.array([[0.3, -0.4, 1.2], [-0.7, 0.2, 0.5]]),
        quat=TURNS.as_quat(scalar_first=True)[:2], shapes=none,
    )  # fmt: skip
    return replace(motion, **more)


def outward(vertices: np.ndarray, normals: np.ndarray, faces: np.ndarray) -> np.ndarray:
    """Return twice the areas of faces, by the side to which their normals point."""
    a, b, c = (vertices[faces[:, k]] for k in range(3))
    return np.sum(np.cross(b - a, c - a) * normals[faces].mean(axis=1), axis=1)


# --- meshes -----------------------------------------------------------------------------------------


def ring(radius: float, z: float) -> np.ndarray:
    return np.stack([radius * np.cos(ROUND), radius * np.sin(ROUND), np.full(32, z)], axis=1)


def solid_of(rings: list[np.ndarray]) -> float:
    """Return the volume of a stack of rings of 32 sides, by the areas of their polygons (a prismatoid)."""
    area = 0.5 * 32 * np.sin(2 * np.pi / 32)
    radii, heights = np.array([[np.hypot(*r[0, :2]), r[0, 2]] for r in rings]).T
    return float((area / 3 * np.diff(heights) * (radii[1:] ** 2 + radii[1:] * radii[:-1] + radii[:-1] ** 2)).sum())


def volume(made) -> float:
    a, b, c = (made.vertices[made.faces[:, k]] for k in range(3))
    return float(np.sum(a * np.cross(b, c)) / 6)


LATITUDES = np.pi * (np.arange(17) / 16 - 0.5)
RINGS = {
    "sphere": [ring(np.cos(angle), np.sin(angle)) * 0.3 for angle in LATITUDES],
    "ellipsoid": [ring(np.cos(angle), np.sin(angle)) * [0.2, 0.3, 0.5] for angle in LATITUDES],
    "capsule": [
        *(ring(0.1 * np.cos(angle), 0.1 * np.sin(angle) - 0.35) for angle in LATITUDES[:9]),
        *(ring(0.1 * np.cos(angle), 0.1 * np.sin(angle) + 0.35) for angle in LATITUDES[8:]),
    ],
    "cylinder": [ring(r, z) for r, z in ((0, -0.25), (0.2, -0.25), (0.2, -0.25), (0.2, 0.25), (0.2, 0.25), (0, 0.25))],
}
SIZES = {
    "sphere": (0.3, 0.3, 0.3),
    "ellipsoid": (0.2, 0.3, 0.5),
    "capsule": (0.1, 0.1, 0.7),
    "cylinder": (0.2, 0.2, 0.5),
}
FACES = {"sphere": 14 * 64 + 64, "ellipsoid": 14 * 64 + 64, "capsule": 14 * 64 + 64 + 64, "cylinder": 32 + 64 + 32}


@pytest.mark.parametrize("kind", RINGS)
def test_round_solids_are_rings_of_32(kind):
    made = mesh(kind, np.array(SIZES[kind]))
    assert made.vertices == pytest.approx(np.concatenate(RINGS[kind]), abs=1e-15)
    assert len(made.faces) == FACES[kind] and (outward(*made) > 0).all()
    if kind != "ellipsoid":
        assert volume(made) == pytest.approx(solid_of(RINGS[kind]), rel=1e-12)
    else:
        unit = solid_of([r / [0.2, 0.3, 0.5] for r in RINGS[kind]])
        assert volume(made) == pytest.approx(unit * 0.2 * 0.3 * 0.5, rel=1e-12)


def test_normals_of_a_cylinder_are_those_of_ends_and_wall():
    made = mesh("cylinder", np.array(SIZES["cylinder"]))
    wall = ring(1.0, 0.0)
    down, up = np.tile([0, 0, -1.0], (32, 1)), np.tile([0, 0, 1.0], (32, 1))
    assert made.normals == pytest.approx(np.concatenate([down, down, wall, wall, up, up]))


def test_a_box_has_six_sides_of_two_triangles():
    made = mesh("box", np.array([0.4, 0.6, 1.0]))
    assert made.vertices.shape == (24, 3) and made.faces.shape == (12, 3) and (outward(*made) > 0).all()
    assert volume(made) == pytest.approx(0.24)
    half = np.array([0.2, 0.3, 0.5])
    assert np.abs(made.vertices) == pytest.approx(np.tile(half, (24, 1)))
    sides = {tuple(normal) for normal in made.normals}
    assert sides == {tuple(sign * row) for row in np.eye(3) for sign in (1.0, -1.0)}
    for normal in np.array(sorted(sides)):
        on_it = (made.normals == normal).all(axis=1)
        assert on_it.sum() == 4 and len({tuple(v) for v in made.vertices[on_it]}) == 4
        assert made.vertices[on_it] @ normal == pytest.approx(np.full(4, np.abs(normal) @ half))
        areas = outward(*made)[on_it[made.faces].all(axis=1)]
        assert areas == pytest.approx(np.full(2, np.prod(2 * half[normal == 0])))


@pytest.mark.parametrize(("radius", "count"), [(0.0, 64), (1e-12, 64), (2e-12, 96)])
def test_a_ring_without_a_radius_has_no_sides(radius, count):
    for profile in ([[0, -1], [1, 0], [radius, 1]], [[radius, -1], [1, 0], [0, 1]]):
        assert len(revolve(np.array(profile, float), np.ones((3, 2))).faces) == count


def test_faces_of_a_polyhedron_are_flat():
    vertices = RANDOM.normal(size=(5, 3))
    triangles = np.array([[0, 2, 1], [3, 4, 0], [1, 2, 4]])
    made = polyhedron(vertices, triangles)
    assert made.vertices == pytest.approx(vertices[triangles.ravel()]) and made.faces.tolist() == [
        [0, 1, 2],
        [3, 4, 5],
        [6, 7, 8],
    ]
    for k, (a, b, c) in enumerate(vertices[triangles]):
        normal = np.cross(b - a, c - a)
        assert made.normals[3 * k : 3 * k + 3] == pytest.approx(np.tile(normal / np.linalg.norm(normal), (3, 1)))


def test_an_ellipsoid_may_be_a_disc():
    made = mesh("ellipsoid", np.array([0.2, 0.3, 0.0]))
    assert np.abs(made.vertices[:, 2]).max() == 0.0 and np.isfinite(made.normals).all()


# --- springs ----------------------------------------------------------------------------------------


def test_directions_of_gaps():
    gaps = np.array([[3.0, 0, 4.0], [0, 0, 0], [0, -2e-12, 0], [0, 0.5e-12, 0], [0, 1e-12, 0]])
    assert directions(gaps) == pytest.approx(np.array([[0.6, 0, 0.8], [0, 0, 1], [0, -1, 0], [0, 0, 1], [0, 0, 1]]))
    spare = np.array([[1.0, 0, 0]] * 5)
    assert directions(gaps, spare)[[1, 3]].tolist() == [[1, 0, 0], [1, 0, 0]]


def least_turn(a: np.ndarray, b: np.ndarray) -> Rotation:
    axis = np.cross(a, b)
    sine = np.linalg.norm(axis)
    return Rotation.from_rotvec(axis / sine * np.arctan2(sine, a @ b) if sine > 1e-12 else np.zeros(3))


def wire(a: np.ndarray, b: np.ndarray, radius: float, across: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Return the middle: eight turns of sixteen points, drawn in to the axis over the first and last 12 %."""
    out = []
    for k in range(129):
        s = k / 128
        near = min(s, 1 - s) / 0.12 - 1
        near = min(max(near, 0.0), 1.0)
        off = near**2 * (3 - 2 * near)
        angle = 16 * np.pi * min(max((s - 0.12) / 0.76, 0.0), 1.0)
        out.append(a + s * (b - a) + radius * off * (np.cos(angle) * across + np.sin(angle) * other))
    return np.array(out)


def test_the_wire_of_a_coil_is_where_it_is():
    """Of two springs that stretch and turn after the start; their radius is that of the mean length."""
    times = np.array([0.0, 1.0])
    base = drawing()
    position = np.stack([base.position[0], base.position[0] + [[0.5, 0.9, -0.3], [0.1, -0.6, 0.8]]])
    springs = Springs(body=np.array([[0, -1], [1, 0]]), point=RANDOM.normal(size=(2, 2, 3)))
    motion = replace(
        base,
        times=times,
        position=position,
        quat=np.stack([base.quat[0]] * 2),
        velocity=0 * position,
        angular_velocity=0 * position,
        springs=springs,
    )
    coils = Coils(motion)
    instants = np.linspace(0, 1, 60)
    lengths = np.array([np.linalg.norm(np.diff(springs.ends(motion.poses(t)), axis=1)[:, 0], axis=1) for t in instants])
    assert coils.radius == pytest.approx(0.05 * lengths.mean(axis=0))
    vertices, normals = coils.place(motion.poses(0.8))
    assert coils.count == len(vertices) == 2 * 129 * 6
    first, now = springs.ends(motion.poses(0.0)), springs.ends(motion.poses(0.8))
    for s in range(2):
        axis = (first[s, 1] - first[s, 0]) / np.linalg.norm(first[s, 1] - first[s, 0])
        across = np.cross(axis, np.eye(3)[np.argmin(np.abs(axis))])
        across /= np.linalg.norm(across)
        (a, b) = now[s]
        turn = least_turn(axis, (b - a) / np.linalg.norm(b - a))
        path = wire(a, b, coils.radius[s], turn.apply(across), turn.apply(np.cross(axis, across)))
        part = vertices.reshape(2, 129, 6, 3)[s]
        assert part.mean(axis=1) == pytest.approx(path, abs=1e-12)
        thin = part - path[:, None]
        assert np.linalg.norm(thin, axis=2) == pytest.approx(np.full((129, 6), 0.16 * coils.radius[s]))
        assert normals.reshape(2, 129, 6, 3)[s] * 0.16 * coils.radius[s] == pytest.approx(thin, abs=1e-12)
        tangent = path[2:] - path[:-2]
        assert np.abs(np.einsum("kij,kj->ki", thin[1:-1], tangent)).max() < 1e-12
        # One after another, a sixth of a turn apart.
        assert np.einsum("kij,kij->ki", thin, np.roll(thin, -1, axis=1)) == pytest.approx(
            np.full((129, 6), 0.5 * (0.16 * coils.radius[s]) ** 2)
        )
    assert len(coils.faces) == 2 * 128 * 12 and (outward(vertices, normals, coils.faces) > 0).all()


def test_coils_without_length_and_those_turned_right_round():
    """Their ends meet, or stand the other way round: all is finite, and the pair stays across."""
    for ends, later in (
        ([[0, 0, 0.0], [0, 0, 0.0]], [[0, 0, 0.0], [0, 0, 0.0]]),
        ([[0, 0, 0.0], [0, 0, 0.6]], [[0, 0, 0.6], [0, 0, 0.0]]),
    ):
        springs = Springs(body=np.full((1, 2), -1), point=np.array([ends]))
        coils = Coils(drawing(springs=springs))
        turned = replace(coils.springs, point=np.array([later]))
        coils.springs = turned
        vertices, normals = coils.place(drawing().poses(0.0))
        assert np.isfinite(vertices).all() and np.linalg.norm(normals, axis=1) == pytest.approx(np.ones(len(normals)))
        middle = vertices.reshape(129, 6, 3).mean(axis=1)
        assert middle[:, 2] == pytest.approx(np.linspace(later[0][2], later[1][2], 129))
        assert np.hypot(middle[64, 0], middle[64, 1]) == pytest.approx(coils.radius[0])
    assert Coils(drawing()).count == 0 and Coils(drawing()).faces.shape == (0, 3)


def test_a_coil_that_turns_right_round_keeps_its_hand():
    springs = Springs(body=np.full((1, 2), -1), point=np.array([[[0, 0, 0.0], [0, 0, 1.0]]]))
    hands = []
    for end in ([0, 0, 1.0], [1e-3, 0, -1.0], [0, 0, -1.0]):
        coils = Coils(drawing(springs=springs))
        coils.springs = replace(springs, point=np.array([[[0, 0, 0.0], end]]))
        middle = coils.place(drawing().poses(0.0))[0].reshape(129, 6, 3).mean(axis=1)
        axis = np.array(end) / np.linalg.norm(end)
        off = middle - (middle @ axis)[:, None] * axis
        hands.append(np.sign(np.cross(off[60], off[61]) @ axis))
    assert hands == [1.0, 1.0, 1.0]


# --- arrows, contacts, trails -----------------------------------------------------------------------


def profile(length: float, size: float) -> list[tuple[float, float]]:
    """Return radius and height of the seven rings of an arrow so long, in a picture `size` high."""
    neck = max(0.0, length - 0.04 * size)
    shaft, head = 0.005 * size, 0.013 * size
    return [(0, 0), (shaft, 0), (shaft, 0), (shaft, neck), (head, neck), (head, neck), (0, neck + 0.04 * size)]


def check_arrow(vertices, normals, tail, axis, length, size):
    around = vertices.reshape(7, 32, 3) - tail
    along = around @ axis
    off = around - along[..., None] * axis
    for k, (radius, height) in enumerate(profile(length, size)):
        assert along[k] == pytest.approx(np.full(32, height), abs=1e-12)
        assert np.linalg.norm(off[k], axis=1) == pytest.approx(np.full(32, radius), abs=1e-12)
        if radius:
            step = np.sum(off[k] * np.roll(off[k], -1, axis=0), axis=1) / radius**2
            assert step == pytest.approx(np.full(32, np.cos(2 * np.pi / 32)))
            assert (np.cross(off[k], np.roll(off[k], -1, axis=0)) @ axis > 0).all()
    outwards = off[1] / np.linalg.norm(off[1], axis=1, keepdims=True)
    slope = np.array([0.04, 0.013]) / np.hypot(0.04, 0.013)
    expected = [-axis, -axis, outwards, outwards, -axis, *[slope[0] * outwards + slope[1] * axis] * 2]
    for k, normal in enumerate(expected):
        assert normals.reshape(7, 32, 3)[k] == pytest.approx(np.broadcast_to(normal, (32, 3)), abs=1e-12)


@pytest.mark.parametrize("length", [0.9, 0.05, 0.02])
@pytest.mark.parametrize("axis", [(2, -3, 6), (6, 2, -3), (-3, 6, 2)])
def test_an_arrow_is_a_shaft_and_a_head(axis, length):
    """A short one is all head, and a smaller one."""
    axis, tail = np.array(axis) / 7, np.array([0.3, 0.2, -0.5])
    made = Outline()
    assert made.count == 224 and len(made.faces) == 32 + 64 + 64 + 32
    vertices, normals = made.place(tail, axis, length, 1.5)
    check_arrow(vertices, normals, tail, axis, length, 1.5 * min(1.0, length / 0.06))
    assert (outward(vertices, normals, made.faces) > -1e-18).all()
    if length > 0.06:
        assert (outward(vertices, normals, made.faces) > 0).all()


def test_arrows_of_forces_stand_where_they_act():
    forces = np.array([[3.0, 0, 4.0], [-0.6, 2.0, 0.3], [0.2, 0.1, -0.1]])
    strongest = np.array([[0.0, 12.0, 5.0], [0, 0, 0], [np.nan] * 3])
    pushes = Pushes(
        kind=("wrench", "drag", "wrench"), body=np.array([0, 1, 1]), point=RANDOM.normal(size=(3, 3)),
        force=np.stack([forces, strongest]),
    )  # fmt: skip
    motion = drawing(pushes=pushes)
    arrows = Arrows(motion)
    assert arrows.strongest == 13.0 and arrows.count == 672
    vertices, normals = arrows.place(motion.poses(0.0), forces, SEEN_BY)
    colors = {"wrench": (0.86, 0.63, 0.10, 1.0), "drag": (0.31, 0.56, 0.66, 1.0)}
    for k, kind in enumerate(pushes.kind):
        body, part = pushes.body[k], slice(224 * k, 224 * k + 224)
        tail = motion.position[0, body] + TURNS[body].apply(pushes.point[k])
        size = np.linalg.norm(forces[k])
        length = 0.2 * HEIGHT * size / 13.0
        check_arrow(
            vertices[part], normals[part], tail, forces[k] / size, length, HEIGHT * min(1.0, length / (0.04 * HEIGHT))
        )
        assert arrows.colors[part] == pytest.approx(np.tile(colors[kind], (224, 1)))
        assert np.array_equal(arrows.faces[192 * k : 192 * k + 192], Outline().faces + 224 * k)
    assert len(arrows.faces) == 576


def test_contacts_are_dots_and_arrows():
    touches = TouchTable(
        first=np.array([0, 2, 5]), point=RANDOM.normal(size=(5, 3)), mode=np.array([1, 2, 0, 1, 2]),
        force=np.array([[0, 3.0, 4.0], [1, 0, 0], [0, 0, 1], [0, -2.0, 0], [0, 0, 0]]),
    )  # fmt: skip
    made = Touches(drawing(touches=touches))
    dot = mesh("sphere", np.ones(3))
    assert made.most == 3 and made.strongest == 5.0 and made.count == 3 * (224 + len(dot.vertices))
    point, force, mode = touches.point[:2], touches.force[:2], touches.mode[:2]
    vertices, normals, colors = (a.reshape(3, -1, a.shape[1]) for a in made.place((point, force, mode), SEEN_BY))
    tints = [[0.10, 0.50, 0.32, 1.0], [0.85, 0.28, 0.16, 1.0]]
    for k in range(2):
        size = np.linalg.norm(force[k])
        check_arrow(vertices[k, :224], normals[k, :224], point[k], force[k] / size, 0.2 * HEIGHT * size / 5.0, HEIGHT)
        assert vertices[k, 224:] == pytest.approx(point[k] + 0.009 * HEIGHT * dot.vertices)
        assert np.array_equal(normals[k, 224:], dot.normals)
        assert colors[k] == pytest.approx(np.broadcast_to(tints[k], colors[k].shape))
    assert np.array_equal(vertices[2], np.broadcast_to(SEEN_BY.target, vertices[2].shape)) and not colors[2].any()
    assert np.array_equal(normals[2], np.broadcast_to([0, 0, 1.0], normals[2].shape))
    each = np.concatenate([Outline().faces, dot.faces + 224])
    assert np.array_equal(made.faces, np.concatenate([each + k * made.count // 3 for k in range(3)]))
    *_, colors = made.place((point[:1], 0 * force[:1], np.array([0])), SEEN_BY)
    assert colors[0].tolist() == [0.5, 0.5, 0.5, 1.0]
    still = replace(touches, force=0 * touches.force)
    vertices, *_ = Touches(drawing(touches=still)).place((point, 0 * force, mode), SEEN_BY)
    assert np.isfinite(vertices).all()
    nothing = Touches(drawing())
    assert nothing.count == nothing.most == 0 and nothing.faces.shape == (0, 3)


def test_ribbons_are_square_to_the_way_and_to_the_view():
    times = np.linspace(0, 1, 5)
    base = drawing()
    position = RANDOM.normal(size=(5, 2, 3))
    motion = replace(
        base, times=times, position=position, quat=np.stack([base.quat[0]] * 5), velocity=0 * position,
        angular_velocity=0 * position, settings={"trails": ["b", "a"]},
    )  # fmt: skip
    trails = Trails(motion)
    paths = RANDOM.normal(size=(2, 5, 3))
    paths[0, 3] = paths[0, 2] = paths[0, 1]  # it stands still for a while
    vertices, normals = trails.place(paths, SEEN_BY)
    assert trails.count == len(vertices) == 20
    assert normals == pytest.approx(np.tile(SEEN_BY.backward, (20, 1)))
    pairs = vertices.reshape(2, 5, 2, 3)
    assert pairs.mean(axis=2) == pytest.approx(paths)
    for t in range(2):
        for k in range(5):
            low, high = max(k - 1, 0), min(k + 1, 4)
            side = np.cross(paths[t, high] - paths[t, low], SEEN_BY.backward)
            size = np.linalg.norm(side)
            half = 0.0022 * HEIGHT * (side / size if size else side)
            assert pairs[t, k, 1] - pairs[t, k, 0] == pytest.approx(2 * half, abs=1e-15)
    faces = [[2 * r, 2 * r + 1, 2 * r + 2, 2 * r + 1, 2 * r + 3, 2 * r + 2] for r in (0, 1, 2, 3, 5, 6, 7, 8)]
    assert trails.faces.reshape(-1, 6).tolist() == faces
    assert trails.colors[[0, 9, 10, 19]] == pytest.approx(
        np.array([[180, 55, 63, 255]] * 2 + [[47, 111, 159, 255]] * 2) / 255
    )
    alone = Trails(drawing(settings={"trails": ["a"]}))
    vertices, _ = alone.place(np.ones((1, 1, 3)), SEEN_BY)
    assert vertices.tolist() == [[1, 1, 1], [1, 1, 1]] and alone.faces.shape == (0, 3)
    many = Trails(drawing(settings={"trails": ["a"] * 6}))
    assert np.array_equal(many.colors[:2], many.colors[10:]) and len({tuple(row) for row in many.colors}) == 5


# --- planes and colours -----------------------------------------------------------------------------


def test_planes_are_squares_of_cells():
    quats = TURNS.as_quat(scalar_first=True)
    shapes = Shapes(
        body=np.array([-1, 0, -1]),
        kind=("plane", "sphere", "plane"),
        position=RANDOM.normal(size=(3, 3)),
        quat=quats[:3],
        size=np.array([[2.0, 3.0, 0], [0.1, 0.1, 0.1], [4.0, 5.0, 0]]),
        color=np.array([[0.1, 0.2, 0.3, 0.4], [0.5] * 4, [np.nan] * 4]),
    )
    floors = Floors(drawing(shapes=shapes), 0.5)
    assert floors.count == 2 and floors.faces.tolist() == [[0, 1, 2], [0, 2, 3], [4, 5, 6], [4, 6, 7]]
    target = np.array([0.5, -0.25, 2.0])
    table = floors.place(target)
    span = np.array([[-1, -1], [1, -1], [1, 1], [-1, 1.0]])
    for k, s in enumerate((0, 2)):
        part, turn, half = table[4 * k : 4 * k + 4], TURNS[s], 0.5 * shapes.size[s]
        corners = shapes.position[s] + turn.apply(np.concatenate([span, np.zeros((4, 1))], axis=1) * half)
        assert part["a_position"] == pytest.approx(corners - target, rel=1e-6)
        assert part["a_normal"] == pytest.approx(np.tile(turn.apply([0, 0, 1]), (4, 1)), rel=1e-6)
        assert np.array_equal(part["a_span"], span) and part["a_place"] == pytest.approx(span * half[:2] / 0.5)
        color = [0.1, 0.2, 0.3, 0.4] if s == 0 else [195 / 255, 196 / 255, 185 / 255, 1.0]
        assert part["a_color"] == pytest.approx(np.tile(color, (4, 1)), rel=1e-6)
        corner = part["a_position"].astype(float)
        for a, b, c in floors.faces[:2]:
            assert np.cross(corner[b] - corner[a], corner[c] - corner[a]) @ turn.apply([0, 0, 1]) > 0
    assert len(Floors(drawing(), 0.5).faces) == 0


HUES = ("#d98645", "#4a7fa8", "#8fae62", "#b4637a", "#7d74b0", "#caa53d", "#4e9d95", "#8c7a6b")


def numbers(code: str) -> np.ndarray:
    return np.array([int(code[1:3], 16), int(code[3:5], 16), int(code[5:7], 16)]) / 255


@pytest.mark.parametrize(
    ("name", "family"),
    [
        ("monkey.shin_l", "monkey"),
        ("rope_l", "rope"),
        ("rope_r", "rope"),
        ("link_12", "link"),
        ("link12", "link"),
        ("_l", "_l"),
        ("link[3]", "link[3]"),
        ("a_3_l", "a"),
        ("beam-2", "beam"),
        ("12", "12"),
        ("a.b.c", "a"),
    ],
)
def test_families_of_bodies(name, family):
    assert palette.family_of(name) == family


def test_bodies_without_a_colour_have_that_of_their_family():
    """Figures come first; left ones are lighter, right ones darker; nine families share eight colours."""
    names = ("rope_l", "ape.arm_l", "ape.arm_r", "rope_r", "bee.eye", "c", "d", "e", "f", "g", "h")
    body = [*range(len(names)), -1, -1, 0, 1, 4]
    color = np.full((len(body), 4), np.nan)
    color[-3], color[-2], color[-1] = [0.1, 0.2, 0.3, 0.4], [1.5, 0.2, -0.3, np.nan], [0.5, np.nan, 0.5, 0.5]
    kinds = ("box",) * len(names) + ("plane", "box", "box", "box", "box")
    shapes = Shapes(
        body=np.array(body),
        kind=kinds,
        position=np.zeros((len(body), 3)),
        quat=np.zeros((len(body), 4)),
        size=np.ones((len(body), 3)),
        color=color,
    )
    found = palette.colors(shapes, names)
    order = ["ape", "bee", "rope", "c", "d", "e", "f", "g", "h"]
    for s, name in enumerate(names):
        hue, light, saturation = colorsys.rgb_to_hls(*numbers(HUES[order.index(palette.family_of(name)) % 8]))
        light *= {"_l": 1.1, "_r": 0.86}.get(name[-2:], 1.0)
        assert found[s] == pytest.approx([*colorsys.hls_to_rgb(hue, light, saturation), 1.0])
    assert found[-5] == pytest.approx([*numbers("#c3c4b9"), 1.0]) and found[-4] == pytest.approx(
        [*numbers("#8d939b"), 1.0]
    )
    assert found[-3] == pytest.approx([0.1, 0.2, 0.3, 0.4]) and found[-2] == pytest.approx([1.0, 0.2, 0.0, 1.0])
    assert found[-1] == pytest.approx(found[4])
    assert np.isnan(shapes.color[0]).all()  # what was given stays


def test_shades_end_before_white():
    assert palette._shaded((0.9, 0.9, 0.9), 1.5) == pytest.approx((0.92, 0.92, 0.92))
    assert palette.rgb("#0a80ff") == pytest.approx((10 / 255, 128 / 255, 1.0))


def test_weak_forces_are_as_long_as_strong_ones():
    """The strongest of a motion is a fifth of the picture high, whatever it is; without one nothing is drawn."""
    for size in (0.25, 40.0):
        force = size * np.array([[2.0, -3.0, 6.0]]) / 7
        motion = drawing(
            pushes=Pushes(kind=("drag",), body=np.array([0]), point=np.zeros((1, 3)), force=force[None]),
            touches=TouchTable(first=np.array([0, 1]), point=np.zeros((1, 3)), force=force, mode=np.array([1])),
        )
        arrows, touches = Arrows(motion), Touches(motion)
        assert arrows.strongest == pytest.approx(size) and touches.strongest == pytest.approx(size)
        for vertices in (
            arrows.place(motion.poses(0.0), force, SEEN_BY)[0] - motion.position[0, 0],
            touches.place(motion.touching(0.0), SEEN_BY)[0][:224],
        ):
            assert (vertices @ force[0] / size).max() == pytest.approx(0.2 * HEIGHT)
    absent = Pushes(kind=("drag",), body=np.array([0]), point=np.zeros((1, 3)), force=np.full((2, 1, 3), np.nan))
    assert Arrows(drawing(pushes=absent)).count == 0 and Arrows(drawing(pushes=absent)).strongest == 0.0
