"""Meshes in recordings: their hulls are recorded as triangles, and drawn as such."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

import sim
from render.meshes import polyhedron
from render.view import Motion
from sim.recording import load_recording
from sim.scene.load import load_text

TEXT = """
schema: 1
world: {shapes: [{mesh: {vertices: [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], position: [0, 0, -2]}}]}
bodies:
  a:
    density: 1000
    shapes:
      - box: {size: [1, 1, 1]}
      - mesh: {vertices: [[1, 0, 0], [-1, 0, 0], [0, 1, 0], [0, -1, 0], [0, 0, 1], [0, 0, -1]], scale: 0.5}
simulate: {duration: 0.01 s}
"""


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    path = tmp_path_factory.mktemp("meshes") / "run.h5"
    sim.run(load_text(TEXT), output=path).close()
    return path


def test_hulls_are_read_as_they_were(recorded):
    with load_recording(recorded) as recording:
        world, box, octahedron = recording.shapes
    scene = load_text(TEXT)
    assert (world.kind, box.kind, octahedron.kind) == ("mesh", "box", "mesh")
    assert box.vertices == box.triangles == ()
    assert (world.body, octahedron.body) == (-1, 0)
    assert world.vertices == scene.world.shapes[0].hull.corners
    assert octahedron.vertices == scene.bodies[0].shapes[1].hull.corners
    assert (len(world.triangles), len(octahedron.triangles)) == (4, 8)


def test_triangles_are_drawn_flat_closed_and_outward(recorded):
    shapes = Motion.from_recording(recorded).shapes
    assert sorted(shapes.hulls) == [0, 2]
    for number, volume in ((0, 1 / 6), (2, 1 / 6)):
        made = polyhedron(*shapes.hulls[number])
        a, b, c = (made.vertices[made.faces[:, k]] for k in range(3))
        assert np.einsum("fi,fi->", a, np.cross(b, c)) / 6 == pytest.approx(volume)
        flat = np.cross(b - a, c - a) / np.linalg.norm(np.cross(b - a, c - a), axis=1)[:, None]
        for k in range(3):
            np.testing.assert_allclose(made.normals[made.faces[:, k]], flat, rtol=0, atol=1e-14)
        place = [tuple(np.round(v, 9) + 0.0) for v in made.vertices]
        sides = Counter((place[f[i]], place[f[(i + 1) % 3]]) for f in made.faces for i in range(3))
        assert all(sides[q, p] == n == 1 for (p, q), n in sides.items())
