"""Meshes that are not convex: their parts, what they weigh, what is kept and told of them."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import sim
from sim.scene.concave import parts_of
from sim.scene.kept import Kept
from sim.scene.load import load, load_checked, load_text
from sim.scene.meshes import mesh_of
from sim.scene.problem import SceneError
from tests.support.solids_as_obj import bowl, boxes, prism_of_an_l

pytestmark = pytest.mark.fast

LEG, FOOT = ((0, 0, 0), (1, 3, 1)), ((1, 0, 0), (2, 1, 1))  # of the L


def scene(mesh, tmp_path, text):
    (tmp_path / "l.obj").write_text(text)
    (tmp_path / "s.yaml").write_text(
        f"schema: 1\nbodies:\n  a:\n    density: 500 kg/m^3\n    shapes:\n      - {{mesh: {mesh}, density: 500}}\n"
    )
    return tmp_path / "s.yaml"


def l_of_boxes():
    text = (
        "schema: 1\nbodies: {a: {density: 500, shapes: [box: {center: [0.5, 1.5, 0.5], size: [1, 3, 1]}, "
        "box: {center: [1.5, 0.5, 0.5], size: [1, 1, 1]}]}}"
    )
    return load_text(text).bodies[0]


def weighs_as(body, other):
    assert body.mass == pytest.approx(other.mass, rel=1e-12)
    assert body.com == pytest.approx(other.com, rel=1e-12)
    assert body.inertia == pytest.approx(other.inertia, rel=1e-12, abs=1e-9)


def test_convex_objects_of_a_file_are_its_parts(tmp_path):
    found = load(scene("{file: l.obj, concave: true}", tmp_path, boxes(LEG, FOOT)))
    assert [shape.hull.volume for shape in found.bodies[0].shapes] == pytest.approx([3.0, 1.0])
    weighs_as(found.bodies[0], l_of_boxes())
    assert set(found.sources) == {str(tmp_path / "s.yaml"), str(tmp_path / "l.obj")}
    assert "2 convex parts (the objects of its file)" in found.notes[0]


def test_without_being_asked_a_mesh_stays_its_hull(tmp_path):
    found, warnings = load_checked(scene("{file: l.obj}", tmp_path, prism_of_an_l()))
    (shape,) = found.bodies[0].shapes
    assert shape.hull.volume == pytest.approx(5.0)  # and the corner of 1 m by 2 m halved
    assert "concave: true" in warnings[0].hint


@pytest.mark.parametrize("inside_out", [False, True])
def test_a_mesh_in_parts_weighs_what_its_surface_encloses(inside_out):
    """Whatever its parts are: here they overlap, and stick out."""
    points, triangles, text = mesh_of(prism_of_an_l().encode())
    if inside_out:
        triangles = tuple(t[::-1] for t in triangles)
    kept = boxes(((0, 0, 0), (1, 3.1, 1)), ((0.5, 0, 0), (2, 1, 1)))
    found = parts_of(points, triangles, text, 1.0, 0.05, kept)
    assert [part.hull.volume for part in found.parts] == pytest.approx([3.1, 1.5])
    (whole,) = found.whole
    other = l_of_boxes()
    assert whole.hull.volume == pytest.approx(4.0, rel=1e-13)
    assert whole.position == pytest.approx(other.com, rel=1e-13)
    assert np.array(whole.hull.moments) * 2000 == pytest.approx(other.inertia, rel=1e-12, abs=1e-9)
    assert found.distance == pytest.approx(0.1, rel=0.05)
    assert "2 convex parts" in found.told("l.obj") and "+15.00 %" in found.told("l.obj")


def test_its_size_follows_its_scale():
    points, triangles, text = mesh_of(prism_of_an_l().encode())
    kept = boxes(LEG, ((1, 0, 0), (2.2, 1, 1)))
    one, tenth = (parts_of(points, triangles, text, scale, 0.05, kept) for scale in (1.0, 0.1))
    assert tenth.volume == pytest.approx(one.volume / 1000)
    assert tenth.distance == pytest.approx(one.distance / 10)
    assert tenth.whole[0].hull.volume == pytest.approx(one.whole[0].hull.volume / 1000)


def test_an_open_mesh_and_points_are_refused(tmp_path):
    text = prism_of_an_l().rsplit("f ", 1)[0]
    with pytest.raises(SceneError, match="cannot be taken as it is: the mesh is not closed"):
        load(scene("{file: l.obj, concave: true}", tmp_path, text))
    with pytest.raises(SceneError, match="'concave' beside 'vertices'"):
        load(scene("{vertices: [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], concave: true}", tmp_path, text))


def test_a_mesh_of_too_many_triangles_is_not_cut(tmp_path):
    with pytest.raises(SceneError, match="24000 triangles; 20000 are the most of a mesh that is cut"):
        load(scene("{file: l.obj, concave: true}", tmp_path, bowl(0.1, 0.08, 0.06, 0.02, n=3000)))


def test_a_missing_library_is_told(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "coacd", None)
    with pytest.raises(SceneError) as caught:
        load(scene("{file: l.obj, concave: true, concavity: 0.07}", tmp_path, prism_of_an_l()))
    (problem,) = caught.value.problems
    assert problem.what.endswith("CoACD, which cuts meshes into convex parts, is not installed")
    assert "brachiate[concave]" in problem.hint


class Cutter:
    """What stands in for the library: it cuts the L into its leg and its foot."""

    def __init__(self):
        self.asked = []

    def set_log_level(self, level):
        pass

    def Mesh(self, points, triangles):
        return points, triangles

    def run_coacd(self, mesh, threshold, seed):
        self.asked.append((threshold, seed))
        spans = np.array([LEG, FOOT], float)
        corners = [[[s[i][0], s[j][1], s[k][2]] for i in (0, 1) for j in (0, 1) for k in (0, 1)] for s in spans]
        return [(np.array(one), None) for one in corners]


def test_what_was_cut_is_kept_and_taken_again_without_the_library(tmp_path, monkeypatch):
    cutter = Cutter()
    monkeypatch.setitem(sys.modules, "coacd", cutter)
    path = scene("{file: l.obj, concave: true, concavity: 0.03, scale: 0.1}", tmp_path, prism_of_an_l())
    first = load(path)
    assert cutter.asked == [(0.03, 0)]
    assert load(path).bodies == first.bodies and len(cutter.asked) == 1  # not cut again
    label = f"{tmp_path / 'l.obj'}.parts_0.03.obj"
    assert first.sources[label].count("\no ") + 1 == 2
    monkeypatch.setitem(sys.modules, "coacd", None)
    again = load_text(first.text, first.file, folder=tmp_path / "elsewhere", kept=Kept(first.sources))
    assert again.bodies == first.bodies
    assert again.sources == first.sources
    weighs_as(
        first.bodies[0], load(scene("{file: l.obj, concave: true, scale: 0.1}", tmp_path, boxes(LEG, FOOT))).bodies[0]
    )


def test_a_check_tells_what_became_of_a_mesh(tmp_path):
    notes = sim.check(scene("{file: l.obj, concave: true}", tmp_path, boxes(LEG, FOOT))).notes
    assert any("mesh 'l.obj' is touched as 2 convex parts" in note for note in notes)


def test_the_library_cuts_a_bowl_into_parts_that_leave_it_hollow(tmp_path):
    pytest.importorskip("coacd")
    found = load(scene("{file: l.obj, concave: true}", tmp_path, bowl(0.1, 0.08, 0.06, 0.02)))
    body = found.bodies[0]
    area = 6 * np.sin(np.pi / 6)  # of a dodecagon of radius 1
    volume = area * (0.1**2 * 0.06 - 0.08**2 * 0.04)
    assert body.mass == pytest.approx(500 * volume, rel=1e-9)
    assert len(body.shapes) > 3
    assert sum(shape.hull.volume for shape in body.shapes) == pytest.approx(volume, rel=0.03)
    for shape in body.shapes:  # none reaches into the hollow
        corners = np.array(shape.hull.corners) + shape.position
        inner = corners[corners[:, 2] > 0.03]
        assert (np.hypot(inner[:, 0], inner[:, 1]) > 0.07).all()
