"""Stairs, ramps and ground over a grid of heights: their solids, what they weigh, and what is said of bad ones."""

from __future__ import annotations

import math

import imageio.v3 as imageio
import numpy as np
import pytest

from sim.scene.kept import Kept
from sim.scene.load import load, load_text
from sim.scene.problem import SceneError
from sim.scene.rotation import rotate
from sim.scene.terrain import MOST_ON_TOP, Ground

pytestmark = pytest.mark.fast


def body_of(shape):
    text = f"schema: 1\nbodies:\n  a:\n    density: 500 kg/m^3\n    shapes:\n      - {shape}\n"
    return load_text(text).bodies[0]


def world_of(shape):
    return load_text(f"schema: 1\nworld:\n  shapes:\n    - {shape}\n").world.shapes


def corners_of(shape):
    """Return the corners of a box or mesh in the axes of its file."""
    half = 0.5 * np.array(shape.size)
    own = shape.hull.corners if shape.hull else half * np.array(np.meshgrid(*[(-1, 1)] * 3)).reshape(3, -1).T
    return np.array([rotate(shape.orientation, tuple(p)) for p in own]) + shape.position


def moments(boxes, density):
    """Return mass, centre and moments about it of boxes (low, high) by sums over their edges."""
    mass, first, second = 0.0, np.zeros(3), np.zeros((3, 3))
    for low, high in boxes:
        low, high = np.array(low), np.array(high)
        m, c = density * np.prod(high - low), 0.5 * (low + high)
        mass, first = mass + m, first + m * c
        second += m * (np.outer(c, c) + np.diag((high - low) ** 2 / 12))
    centre = first / mass
    second -= mass * np.outer(centre, centre)
    tensor = np.trace(second) * np.eye(3) - second
    return mass, centre, tensor


def test_steps_of_a_flight_are_boxes_down_to_its_foot_and_count_once():
    shape = "stairs: {number: 3, rise: 0.2, run: 0.3, width: 1, landing: 0.5, position: [1, 2, 3]}"
    body = body_of(shape)
    boxes = [((1 + x, 1.5, 3), (1 + y, 2.5, 3 + z)) for x, y, z in ((0, 0.3, 0.2), (0.3, 0.6, 0.4), (0.6, 1.1, 0.6))]
    mass, centre, tensor = moments(boxes, 500)
    assert [shape.kind for shape in body.shapes] == ["box"] * 3
    for solid, (low, high) in zip(body.shapes, boxes, strict=True):
        assert corners_of(solid).min(axis=0) == pytest.approx(low, abs=1e-12)
        assert corners_of(solid).max(axis=0) == pytest.approx(high, abs=1e-12)
    assert body.mass == pytest.approx(mass, rel=1e-13)
    assert body.com == pytest.approx(centre, rel=1e-13)
    assert body.inertia == pytest.approx([*np.diag(tensor), tensor[0, 1], tensor[0, 2], tensor[1, 2]], abs=1e-10)


def test_a_flight_that_is_turned_goes_up_the_other_way():
    shapes = world_of("stairs: {number: 4, rise: 0.1, run: 0.3, width: 1, orientation: {rpy: [0, 0, 90 deg]}}")
    tops = [corners_of(shape).max(axis=0)[1:] for shape in shapes]
    assert tops == pytest.approx(np.array([(0.3 * k, 0.1 * k) for k in (1, 2, 3, 4)]))


def test_a_flight_may_go_down_from_its_landing():
    flight = "number: 3, rise: 0.1, run: 0.3, width: 1, landing: 0.7"
    up = world_of(f"stairs: {{{flight}, orientation: {{rpy: [0, 0, 180 deg]}}}}")
    down = world_of(f"stairs: {{{flight}, goes: down, position: [-0.6, 0, 0]}}")
    assert len(up) == len(down) == 3
    for one, other in zip(up, reversed(down), strict=True):
        assert corners_of(one).min(axis=0) == pytest.approx(corners_of(other).min(axis=0), abs=1e-12)
        assert corners_of(one).max(axis=0) == pytest.approx(corners_of(other).max(axis=0), abs=1e-12)


def test_a_ramp_weighs_what_a_wedge_does():
    ramp = body_of("ramp: {length: 3, width: 2, height: 0.6, position: [1, 0, 0]}")
    assert ramp.mass == pytest.approx(500 * 3 * 2 * 0.6 / 2, rel=1e-13)
    assert ramp.com == pytest.approx((1 + 2, 0, 0.2), abs=1e-13)
    angle = math.degrees(math.atan2(0.6, 3))
    other = body_of(f"ramp: {{length: 3, width: 2, angle: {angle!r} deg, position: [1, 0, 0]}}")
    assert other.inertia == pytest.approx(ramp.inertia, rel=1e-12, abs=1e-12)
    assert len(ramp.shapes[0].hull.faces) == 5


def test_rows_lie_as_on_a_map():
    (shape,) = world_of("heightfield: {size: [4, 2], heights: [[1, 2], [3, 4]], depth: 1, position: [10, 0, 0]}")
    found = {(round(x), round(y)): round(z, 12) for x, y, z in corners_of(shape).tolist() if z > 0.5}
    assert found == {(8, 1): 1, (12, 1): 2, (8, -1): 3, (12, -1): 4}
    assert corners_of(shape)[:, 2].min() == pytest.approx(0.0, abs=1e-12)


def field(heights, size=(4.0, 2.0), depth=0.5):
    return Ground(heights, size, depth)


X, Y = np.meshgrid(np.linspace(-2, 2, 21), np.linspace(1, -1, 11))


def test_ground_in_one_plane_is_one_solid_and_level_ground_a_box():
    level, slope = field(0 * X + 0.3), field(0.1 * X - 0.07 * Y)
    (piece,), (tilted,) = level.pieces(), slope.pieces()
    assert level.solid(piece).kind == "box"
    assert level.solid(piece).size == pytest.approx((4, 2, 0.5))
    hull = slope.solid(tilted).hull
    assert (len(hull.corners), len(hull.faces)) == (8, 6)


def test_a_ridge_is_one_solid_and_a_valley_is_two():
    assert len(field(-0.1 * abs(X)).pieces()) == 1
    assert len(field(0.1 * abs(X)).pieces()) == 2


def surface(z, x, y):
    """Return the height of the upper hull of the four corners of the cell of a place; z: rows from the lowest y."""
    u, v = (x + 2) / 0.2, (y + 1) / 0.2
    j, i = min(int(u), 19), min(int(v), 9)
    u, v = u - j, v - i
    a, b, c, d = z[i, j], z[i, j + 1], z[i + 1, j], z[i + 1, j + 1]
    triangles = [((0, 0, a), (1, 0, b), (1, 1, d)), ((0, 0, a), (1, 1, d), (0, 1, c)),
                 ((0, 0, a), (1, 0, b), (0, 1, c)), ((1, 0, b), (1, 1, d), (0, 1, c))]  # fmt: skip
    best = -math.inf
    for p in triangles:
        p = np.array(p)
        share = np.linalg.solve(np.vstack([p[:, :2].T, np.ones(3)]), [u, v, 1])
        if share.min() > -1e-9:
            best = max(best, share @ p[:, 2])
    return best


@pytest.mark.parametrize("kind", ["rough", "hill", "terraces"])
def test_pieces_of_ground_cover_it_once_and_end_at_its_surface(kind):
    rng = np.random.default_rng(3)
    heights = {
        "rough": rng.normal(size=X.shape) * 0.1, "hill": 0.5 * np.exp(-(X**2) - Y**2), "terraces": np.floor(X) * 0.1,
    }[kind]  # fmt: skip
    ground = field(heights)
    pieces = ground.pieces()
    cells = np.zeros((10, 20), int)
    for i, i2, j, j2 in pieces:
        cells[i:i2, j:j2] += 1
    assert (cells == 1).all()
    solids = [ground.solid(piece) for piece in pieces]
    assert max(len(solid.hull.corners) for solid in solids if solid.hull) <= MOST_ON_TOP + 4
    assert len(pieces) < {"rough": 201, "hill": 120, "terraces": 12}[kind]
    for _ in range(60):
        x, y = rng.uniform((-2, -1), (2, 1))
        wanted = surface(heights[::-1], x, y)
        u, v = int((y + 1) / 0.2), int((x + 2) / 0.2)
        (solid,) = [s for (i, i2, j, j2), s in zip(pieces, solids, strict=True) if i <= u < i2 and j <= v < j2]
        assert top_of(solid, x, y) == pytest.approx(wanted, abs=1e-9)


def top_of(shape, x, y):
    """Return the height at which a vertical line leaves a solid."""
    if shape.hull is None:
        return shape.position[2] + 0.5 * shape.size[2]
    corners = np.array(shape.hull.corners) + shape.position
    least = math.inf
    for face in shape.hull.faces:
        p = corners[list(face)]
        normal = np.cross(p[1] - p[0], p[2] - p[0])
        if normal[2] > 1e-9 * np.linalg.norm(normal):
            least = min(least, p[0, 2] - (normal[:2] @ ((x, y) - p[0, :2])) / normal[2])
    return least


def test_what_ground_weighs_is_counted_once():
    """Over a cell the surface is a - (or +) half the kink: the volume is exact by its two triangles."""
    heights = np.random.default_rng(1).normal(size=(4, 6)) * 0.1
    rows = ", ".join(f"[{', '.join(map(repr, row))}]" for row in heights.tolist())
    body = body_of(f"heightfield: {{size: [5, 3], heights: [{rows}], depth: 0.5}}")
    a, b, c, d = heights[:-1, :-1], heights[:-1, 1:], heights[1:, :-1], heights[1:, 1:]
    mean = (a + b + c + d + np.maximum(a + d, b + c)) / 6  # of the two triangles on the higher diagonal
    assert body.mass == pytest.approx(500 * np.sum(mean - heights.min() + 0.5), rel=1e-12)


SCENE = "schema: 1\nworld:\n  shapes:\n    - heightfield: {{file: {file}, size: [2, 2]{more}}}\n"


def write_picture(path):
    imageio.imwrite(path, np.array([[0, 255, 51], [102, 0, 0]], np.uint8), extension=".png")


@pytest.mark.parametrize("name", ["a.csv", "a.png"])
def test_files_of_heights_read_as_the_numbers_do_and_are_kept(name, tmp_path):
    if name == "a.png":
        write_picture(tmp_path / name)
    else:
        (tmp_path / name).write_text("# metres\n0, 0.5, 0.1\n0.2; 0 0\n")
    more = ", height: 50 cm" if name == "a.png" else ""
    (tmp_path / "s.yaml").write_text(SCENE.format(file=name, more=more))
    found = load(tmp_path / "s.yaml")
    wanted = world_of("heightfield: {size: [2, 2], heights: [[0, 0.5, 0.1], [0.2, 0, 0]]}")
    assert len(found.world.shapes) == len(wanted)
    for one, other in zip(found.world.shapes, wanted, strict=True):
        assert corners_of(one) == pytest.approx(corners_of(other), abs=1e-12)
    (tmp_path / name).unlink()
    again = load_text(found.text, found.file, folder=tmp_path, kept=Kept(found.sources))
    assert again.world == found.world


PICTURES = {
    "grey of 8 bits": np.array([[0, 255], [85, 0]], np.uint8),
    "grey of 16 bits": np.array([[0, 65535], [21845, 0]], np.uint16),
    "colours": np.array([[[0, 0, 0], [255, 255, 255]], [[255, 0, 0], [0, 0, 0]]], np.uint8),
    "colours that one can see through": np.array(
        [[[0, 0, 0, 9], [255, 255, 255, 9]], [[0, 255, 0, 9], [0, 0, 0, 9]]], np.uint8
    ),
}


@pytest.mark.parametrize("kind", PICTURES)
def test_a_picture_is_as_high_as_it_is_bright(kind, tmp_path):
    imageio.imwrite(tmp_path / "a.png", PICTURES[kind], extension=".png")
    (tmp_path / "s.yaml").write_text(SCENE.format(file="a.png", more=", height: 3 m, depth: 1"))
    points = np.concatenate([corners_of(shape) for shape in load(tmp_path / "s.yaml").world.shapes])
    assert sorted({round(z, 9) for z in points[:, 2].tolist()}) == [-1, 0, 1, 3]


@pytest.mark.parametrize(
    ("shape", "path", "what"),
    [
        ("ramp: {length: 1, width: 1}", "", "neither 'height' nor 'angle'"),
        ("ramp: {length: 1, width: 1, height: 1, angle: 10 deg}", ".angle", "'height' and 'angle' at once"),
        ("ramp: {length: 1, width: 1, height: 1e-8}", "", "no solid"),
        ("ramp: {length: 1, width: 1 kg, height: 1}", ".width", "expected a length (m)"),
        ("stairs: {number: 1.5, rise: 1, run: 1, width: 1}", ".number", "expected a whole number"),
        ("stairs: {number: 1001, rise: 1, run: 1, width: 1}", ".number", "expected at most 1000"),
        ("heightfield: {size: [1, 1]}", "", "neither 'file' nor 'heights'"),
        ("heightfield: {size: [1, 1], heights: [[0, 1], [0, 1, 2]]}", ".heights", "row 2 has 3 heights"),
        ("heightfield: {size: [1, 1], heights: [[0, 1], [0, 1]], height: 1}", ".height", "'height' is for pictures"),
        ("heightfield: {size: [1, 1], file: a.png}", ".file", "a picture tells no height"),
        ("heightfield: {size: [1, 1], file: a.csv}", ".file", "line 2: 2 numbers, and 3 in the first row"),
        ("heightfield: {size: [1, 1], file: b.csv}", ".file", "line 1: 'no, numbers' are no numbers"),
        ("heightfield: {size: [1, 1], file: c.csv}", ".file", "300 times 300 heights; 40000 are the most"),
        ("heightfield: {size: [1, 1], file: d.csv}", ".file", "convex pieces; 2000 are the most"),
        ("heightfield: {size: [1, 1], file: e.csv}", ".file", "at least 2 of 2 make a field"),
        ("heightfield: {size: [1, 1], file: f.png, height: 1}", ".file", "no picture that can be read"),
        ("heightfield: {size: [1, 1], file: g.csv}", ".file", "there is no file 'g.csv'"),
    ],
)
def test_what_is_no_terrain_is_told(shape, path, what, tmp_path):
    rough = np.random.default_rng(0).normal(size=(60, 60))
    files = {
        "a.csv": "1, 2, 3\n1, 2\n", "b.csv": "no, numbers\n", "e.csv": "1 2 3\n", "f.png": "no picture",
        "c.csv": (("0 " * 300) + "\n") * 300, "d.csv": "\n".join(" ".join(map(str, row)) for row in rough),
    }  # fmt: skip
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "s.yaml").write_text(f"schema: 1\nworld:\n  shapes:\n    - {shape}\n")
    with pytest.raises(SceneError) as caught:
        load(tmp_path / "s.yaml")
    (problem,) = caught.value.problems
    assert problem.path == f"world.shapes[0].{shape.split(':')[0]}{path}"
    assert what in problem.what


def test_a_name_means_all_of_a_flight():
    text = (
        "schema: 1\nworld: {shapes: [{name: steps, stairs: {number: 1000, rise: 1 cm, run: 1 cm, width: 1}}]}\n"
        "bodies:\n  repeat: {for: {k: {from: 1, to: 501}}, 'a_${k}': {mass: 1, shapes: [sphere: {radius: 1}]}}\n"
        "contacts: {c: {between: ['a_*', world.steps]}}\n"
    )
    with pytest.raises(SceneError, match="501000 pairs of shapes"):
        load_text(text)
    scene = load_text(text.replace("to: 501", "to: 3"))
    assert scene.contacts[0].between == (("a_1", "a_2", "a_3"), ("world.steps",))
    assert {shape.name for shape in scene.world.shapes} == {"steps"}
