"""Meshes in scenes: files, hulls, mass properties, what is said of those that are not convex."""

from __future__ import annotations

import struct

import numpy as np
import pytest

from sim.scene.hull import hull_of
from sim.scene.load import load, load_checked, load_text
from sim.scene.meshes import MeshError, read_mesh
from sim.scene.mirror import Mirror

pytestmark = pytest.mark.fast

CUBE = [(x, y, z) for z in (0, 1) for y in (0, 1) for x in (0, 1)]
SIDES = [(1, 3, 4, 2), (5, 6, 8, 7), (1, 2, 6, 5), (2, 4, 8, 6), (4, 3, 7, 8), (3, 1, 5, 7)]
CUBE_OBJ = "\n".join([f"v {x} {y} {z}" for x, y, z in CUBE] + ["f " + " ".join(map(str, side)) for side in SIDES])
TRIANGLES = [(s[0], s[k], s[k + 1]) for s in SIDES for k in (1, 2)]


def corners_of(triangle):
    return [CUBE[k - 1] for k in triangle]


def binary_stl():
    data = b"solid as some programs write".ljust(80) + struct.pack("<I", len(TRIANGLES))
    for triangle in TRIANGLES:
        data += struct.pack("<12fH", 0, 0, 0, *np.array(corners_of(triangle), float).ravel(), 0)
    return data


def text_stl():
    lines = ["solid cube"]
    for triangle in TRIANGLES:
        vertices = [f"vertex {x:e} {y:e} {z:e}" for x, y, z in corners_of(triangle)]
        lines += ["facet normal 0 0 0", "outer loop", *vertices, "endloop", "endfacet"]
    return "\n".join([*lines, "endsolid cube"])


FILES = {
    "cube.obj": CUBE_OBJ.encode(),
    "from_the_end.obj": CUBE_OBJ.replace("f 1 3 4 2", "f -8/1/1 -6//2 -5 -7").encode(),
    "binary.stl": binary_stl(),
    "text.stl": text_stl().encode(),
}


def scene(shape: str, more: str = "") -> str:
    return f"schema: 1\nbodies:\n  a:\n    density: 500 kg/m^3\n    shapes:\n      - {shape}\n{more}"


@pytest.mark.parametrize("name", FILES)
def test_a_cube_is_read_from_every_kind_of_file(name, tmp_path):
    (tmp_path / name).write_bytes(FILES[name])
    points, triangles, _ = read_mesh(tmp_path / name)
    assert sorted(points) == sorted(CUBE)
    assert len(triangles) == 12
    (tmp_path / "scene.yaml").write_text(scene(f"mesh: {{file: {name}, scale: 0.1, position: [1, 0, 0]}}"))
    loaded, warnings = load_checked(str(tmp_path / "scene.yaml"))
    body = loaded.bodies[0]
    assert warnings == []
    assert body.mass == pytest.approx(0.5, rel=1e-7)
    assert body.com == pytest.approx((1.05, 0.05, 0.05), rel=1e-7)
    assert body.inertia == pytest.approx((0.5 * 0.01 / 6,) * 3 + (0,) * 3, rel=1e-6, abs=1e-12)
    assert len(body.shapes[0].hull.faces) == 6


@pytest.mark.parametrize("name", FILES)
def test_what_is_recorded_of_a_file_reads_as_the_file(name, tmp_path):
    (tmp_path / name).write_bytes(FILES[name])
    (tmp_path / "scene.yaml").write_text(scene(f"mesh: {{file: {name}}}"))
    first = load(str(tmp_path / "scene.yaml"))
    file, text = next((file, text) for file, text in first.sources.items() if file.endswith(name))
    assert file == str(tmp_path / name)
    (tmp_path / name).write_text(text, encoding="utf-8")
    again = load(str(tmp_path / "scene.yaml"))
    assert again.sources[file] == text
    assert again.bodies == first.bodies


def test_a_file_that_is_no_number_of_triangles_is_refused(tmp_path):
    for data, what in (
        (binary_stl()[:-7], "neither OBJ nor STL"), (b"\xff\xfe\x00", "neither OBJ nor STL"),
        (text_stl().replace("vertex", "vertx", 1).encode(), "no multiple of 3"),
    ):  # fmt: skip
        (tmp_path / "bad.stl").write_bytes(data)
        with pytest.raises(MeshError, match=what):
            read_mesh(tmp_path / "bad.stl")


@pytest.mark.parametrize("turn", ["{}", "{rpy: [20 deg, 30 deg, 40 deg]}"])
def test_a_box_of_corners_weighs_what_the_box_does(turn):
    orientation = "" if turn == "{}" else f", orientation: {turn}"
    corners = [[0.1 * (2 * x - 1), 0.2 * (2 * y - 1), 0.3 * (2 * z - 1)] for x, y, z in CUBE]
    ball = "\n      - sphere: {center: [0.5, 0, 0.2], radius: 0.1}"
    box = load_text(scene(f"box: {{size: [0.2, 0.4, 0.6], center: [1, 2, 3]{orientation}}}{ball}")).bodies[0]
    mesh = load_text(scene(f"mesh: {{vertices: {corners}, position: [1, 2, 3]{orientation}}}{ball}")).bodies[0]
    assert mesh.mass == pytest.approx(box.mass, rel=1e-14)
    assert mesh.com == pytest.approx(box.com, rel=1e-14)
    assert mesh.inertia == pytest.approx(box.inertia, rel=1e-12, abs=1e-12)
    assert mesh.shapes[0].size == pytest.approx(box.shapes[0].size, rel=1e-14)


def test_a_tetrahedron_off_its_origin_and_turned():
    """Moments of a regular tetrahedron of edge a are m a^2/20 about any axis through its centre, a^3/(6 sqrt 2) m^3."""
    corners = [[3, 1, 1], [3, -1, -1], [1, 1, -1], [1, -1, 1]]
    shape = f"mesh: {{vertices: {corners}, scale: 0.5, position: [0, 0, 1], orientation: {{rpy: [0, 0, 90 deg]}}}}"
    body = load_text(scene(shape)).bodies[0]
    mass = 500 * 2**1.5 / (6 * 2**0.5)
    assert body.mass == pytest.approx(mass, rel=1e-14)
    assert body.com == pytest.approx((0, 1, 1), abs=1e-15)
    assert body.inertia == pytest.approx((mass * 2 / 20,) * 3 + (0,) * 3, rel=1e-13, abs=1e-12)


def test_moments_of_a_hull_are_those_of_many_points_inside():
    rng = np.random.default_rng(5)
    points = rng.normal(size=(12, 3)) * [1, 0.7, 0.4]
    _, hull = hull_of(tuple(map(tuple, points.tolist())))
    normals = np.array(
        [np.cross(*(np.array(hull.corners)[list(f[1:3])] - np.array(hull.corners)[f[0]])) for f in hull.faces]
    )
    offsets = np.array([n @ hull.corners[f[0]] for n, f in zip(normals, hull.faces, strict=True)])
    low, high = np.min(hull.corners, axis=0), np.max(hull.corners, axis=0)
    tried = rng.uniform(low, high, (400_000, 3))
    inside = tried[(tried @ normals.T <= offsets).all(axis=1)]
    x, y, z = inside.T
    found = [
        np.mean(y * y + z * z),
        np.mean(x * x + z * z),
        np.mean(x * x + y * y),
        *(-np.mean(a * b) for a, b in ((x, y), (x, z), (y, z))),
    ]
    assert hull.volume == pytest.approx(np.prod(high - low) * len(inside) / len(tried), rel=0.01)
    assert hull.moments == pytest.approx(found, abs=0.005 * max(found))
    assert np.abs(inside.mean(axis=0)).max() < 0.005
    assert np.ptp(points, axis=0) == pytest.approx(high - low)


@pytest.mark.parametrize("noise", [0.0, 1e-7])
def test_faces_of_many_points_in_single_precision_are_whole(noise):
    grid = np.array([(x, y, z) for x in range(6) for y in range(6) for z in range(6)]) / 5
    turn = np.linalg.qr(np.random.default_rng(0).normal(size=(3, 3)))[0]
    points = (grid @ turn + noise * np.random.default_rng(1).uniform(-1, 1, grid.shape)).astype(np.float32)
    _, hull = hull_of(tuple(map(tuple, points.tolist())))
    assert len(hull.corners) == 8
    assert sorted(map(len, hull.faces)) == [4] * 6
    corners = np.array(hull.corners)
    for face in hull.faces:  # its corners lie in one plane
        assert np.linalg.svd(corners[list(face)] - corners[list(face)].mean(axis=0))[1][2] < 1e-15


def test_a_file_that_is_not_convex_is_told_with_what_the_hull_adds(tmp_path):
    """Three cubes in a corner, 3 m^3; their hull has 3.5."""
    outline = [(0, 0), (2, 0), (2, 1), (1, 1), (1, 2), (0, 2)]
    lines = [f"v {x} {y} {z}" for z in (0, 1) for x, y in outline]
    sides = [(k, k % 6 + 1, k % 6 + 7, k + 6) for k in range(1, 7)]
    caps = [(1, 4, 3, 2), (1, 6, 5, 4), (7, 8, 9, 10), (7, 10, 11, 12)]
    lines += ["f " + " ".join(map(str, face)) for face in sides + caps]
    (tmp_path / "corner.obj").write_text("\n".join(lines))
    (tmp_path / "scene.yaml").write_text(scene("mesh: {file: corner.obj}"))
    loaded, warnings = load_checked(str(tmp_path / "scene.yaml"))
    assert loaded.bodies[0].mass == pytest.approx(500 * 3.5)
    (warning,) = warnings
    assert warning.severity == "warning"
    assert "16.7 % more volume" in warning.what
    assert (warning.path, warning.where.line) == ("bodies.a.shapes[0].mesh.file", 6)


def test_a_mirrored_mesh_is_the_other_hand():
    corners = [[0, 0, 0], [1, 0, 0], [0, 2, 0], [0, 0, 3], [1, 2, 0.5]]
    shape = load_text(
        scene(
            f"mesh: {{vertices: {corners}, position: [0.3, 0.5, 0], orientation: {{rpy: [0.2 rad, 0.4 rad, 1 rad]}}}}"
        )
    )
    shape = shape.bodies[0].shapes[0]
    twin = Mirror(axis=1, sides={}).shape(shape)

    def world(one):
        from sim.mechanism.frames import rotation_of

        return np.array(one.position) + np.array(one.hull.corners) @ rotation_of(one.orientation).T

    np.testing.assert_allclose(world(twin), world(shape) * [1, -1, 1], rtol=0, atol=1e-15)
    for one in (shape, twin):
        for face in one.hull.faces:  # counter-clockwise from outside
            p = np.array(one.hull.corners)[list(face)]
            assert np.cross(p[1] - p[0], p[2] - p[0]) @ p[0] > 0
    from sim.scene.mass_properties import moments_of

    found, expected = moments_of(twin, 1.0), Mirror(axis=1, sides={}).inertia(moments_of(shape, 1.0))
    assert found == pytest.approx(expected, abs=1e-14)
