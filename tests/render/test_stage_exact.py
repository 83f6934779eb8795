"""All that the stage tells OpenGL: every array, variable and state, in order."""

from __future__ import annotations

import ctypes
import os
import sys
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from render import shaders, stage
from render.arrows import Arrows
from render.camera import Camera
from render.meshes import mesh, polyhedron
from render.springs import Coils
from render.stage import Look, Stage
from render.touches import Touches
from render.trails import Trails
from render.view import Motion, Pushes, RenderError, Shapes, Springs, TouchTable

pytestmark = pytest.mark.fast
SIZE = (90, 60)
SEEN_BY = Camera(np.array([1.0, -2.0, 0.5]), 4.0, 0.7, 0.3, 0.6)
RANDOM = np.random.default_rng(31)
TURNS = Rotation.from_rotvec(RANDOM.normal(size=(12, 3)))
QUATS = TURNS.as_quat(scalar_first=True)
KINDS = ("box", "plane", "sphere", "mesh", "capsule", "cylinder")
HULL = (RANDOM.normal(size=(4, 3)), np.array([[0, 1, 2], [0, 3, 1], [0, 2, 3], [1, 3, 2]]))


def full() -> Motion:
    """Return a motion that has one of all: solids, clear ones, a hull, a plane, springs, forces, contacts, trails."""
    color = np.array(
        [[0.1, 0.2, 0.3, 1.0], [0.2] * 4, [0.9, 0.1, 0.1, 0.5], [0.3] * 4, [0.4, 0.5, 0.6, 1.0], [0.7] * 3 + [0.99]]
    )
    shapes = Shapes(
        body=np.array([0, -1, 1, 1, -1, 0]), kind=KINDS, position=RANDOM.normal(size=(6, 3)), quat=QUATS[:6],
        size=np.tile([0.2, 0.2, 0.5], (6, 1)), color=color, hulls={3: HULL},
    )  # fmt: skip
    motion = Motion.from_drawing(
        name="", body_names=["a", "b"], position=RANDOM.normal(size=(2, 3)), quat=QUATS[6:8], shapes=shapes
    )
    return replace(
        motion,
        springs=Springs(body=np.array([[0, 1]]), point=RANDOM.normal(size=(1, 2, 3))),
        pushes=Pushes(
            kind=("drag",), body=np.array([1]), point=RANDOM.normal(size=(1, 3)), force=np.array([[[3.0, 2, 1]]])
        ),
        touches=TouchTable(
            first=np.array([0, 2]),
            point=RANDOM.normal(size=(2, 3)),
            force=RANDOM.normal(size=(2, 3)),
            mode=np.array([1, 2]),
        ),
        settings={"trails": ["a"]},
        times=np.array([0.0, 1.0]),
        position=RANDOM.normal(size=(2, 2, 3)),
        quat=QUATS[6:10].reshape(2, 2, 4),
        velocity=np.zeros((2, 2, 3)),
        angular_velocity=np.zeros((2, 2, 3)),
    )


def drawn(motion: Motion, look: Look, log: list, quality: int = 2, camera: Camera = SEEN_BY) -> list:
    """Draw a motion at its start and return what was told meanwhile."""
    made = Stage(motion, SIZE, look=look, quality=quality)
    log.clear()
    touching = motion.touching(0.0) if len(motion.touches.mode) else None
    picture = made.draw(motion.poses(0.0), camera, motion.forces(0.0), touching, motion.trails(0.0))
    assert picture.shape == (60, 90, 3) and picture.flags["C_CONTIGUOUS"]
    return list(log)


def draws(log: list, name: str) -> list:
    return [entry for entry in log if entry[0] == "draw" and entry[1] == name]


def test_the_order_of_a_picture_and_its_states(gl):
    look = Look(ground=-0.5, wall=np.array([0, 1.0, 0, -3.0]), floor=True)
    log = drawn(full(), look, gl)
    over = ("one", "one_minus_src_alpha")
    assert [entry if entry[0] in ("state", "viewport", "clear", "read", "current") else entry[:2] for entry in log] == [
        ("current",),
        ("into", log[1][1]),
        ("viewport", 0, 0, 180, 120),
        (
            "state",
            {"depth_test": True, "blend": False, "cull_face": False, "depth_mask": True, "clear_color": (0, 0, 0, 0)},
        ),
        ("clear", {"color": True, "depth": True}),
        ("draw", "bodies"),
        ("state", {"blend": True, "blend_func": over, "cull_face": "back"}),
        ("draw", "floor"),
        ("state", {"blend": True, "blend_func": over, "depth_mask": False, "cull_face": "back"}),
        ("draw", "bodies"),
        ("draw", "bodies"),
        ("draw", "bodies"),
        ("state", {"depth_test": False, "blend": False, "cull_face": "back"}),
        ("draw", "bodies"),
        ("out of", log[1][1]),
        ("into", log[15][1]),
        ("viewport", 0, 0, 90, 60),
        ("state", {"depth_test": False, "blend": True, "blend_func": over, "depth_mask": True, "cull_face": False}),
        ("draw", "backdrop"),
        ("draw", "plane"),
        ("draw", "plane"),
        ("draw", "average"),
        ("read", (0, 0, 90, 60), False),
        ("out of", log[15][1]),
    ]
    sharp, final = log[1][1], log[15][1]
    assert sharp.color.shape == (120, 180, 4) and sharp.color.format == "rgba"
    assert sharp.color.options == {"interpolation": "linear", "wrapping": "clamp_to_edge"}
    assert sharp.depth.shape == (120, 180) and sharp.depth.format == 0x81A6
    assert final.color.shape == (60, 90, 4) and final.color.format == "rgba" and final.depth is None
    modes = [entry[2] for entry in log if entry[0] == "draw"]
    assert modes == ["triangles"] * 6 + ["triangle_strip"] * 4
    (average,), (backdrop,) = draws(log, "average"), draws(log, "backdrop")
    assert average[4]["u_drawn"] is sharp.color
    for entry in (average, backdrop):
        assert entry[4]["a_corner"].tolist() == [[-1, -1], [1, -1], [-1, 1], [1, 1]]
    assert np.rint(255 * backdrop[4]["u_top"]).tolist() == [0xF6, 0xF6, 0xF3]
    assert np.rint(255 * backdrop[4]["u_bottom"]).tolist() == [0xD9, 0xDE, 0xE3]


def test_every_vertex_is_where_its_body_is(gl):
    """Relative to what the camera looks at; solids first, then springs, forces, trails and contacts."""
    motion = full()
    log = drawn(motion, Look(), gl)
    poses = motion.poses(0.0)
    places = [(motion.position[0, b], Rotation.from_quat(motion.quat[0, b], scalar_first=True)) for b in (0, 1)]
    places.append((np.zeros(3), Rotation.identity()))
    position, normal, color, solid, clear, first = [], [], [], [], [], 0
    shapes = motion.shapes
    for s, kind in enumerate(KINDS):
        if kind == "plane":
            continue
        made = polyhedron(*HULL) if kind == "mesh" else mesh(kind, shapes.size[s])
        p, turn = places[shapes.body[s]]
        position.append(p + turn.apply(shapes.position[s] + TURNS[s].apply(made.vertices)))
        normal.append(turn.apply(TURNS[s].apply(made.normals)))
        color.append(np.tile(shapes.color[s], (len(made.vertices), 1)))
        (solid if shapes.color[s, 3] >= 1 else clear).append(made.faces + first)
        first += len(made.vertices)
    coils, arrows, trails, touches = Coils(motion), Arrows(motion), Trails(motion), Touches(motion)
    others = (
        (*coils.place(poses), np.tile([0.36, 0.40, 0.45, 1.0], (coils.count, 1)), coils.faces),
        (*arrows.place(poses, motion.forces(0.0), SEEN_BY), arrows.colors, arrows.faces),
        (*trails.place(motion.trails(0.0), SEEN_BY), trails.colors, trails.faces),
    )
    for vertices, normals, colors, faces in others:
        position.append(vertices), normal.append(normals), color.append(colors), solid.append(faces + first)
        first += len(vertices)
    vertices, normals, colors = touches.place(motion.touching(0.0), SEEN_BY)
    position.append(vertices), normal.append(normals), color.append(colors)
    bodies = draws(log, "bodies")
    assert np.array_equal(bodies[0][3], np.concatenate(solid)) and bodies[0][3].dtype == np.uint32
    assert np.array_equal(bodies[-1][3], touches.faces + first) and bodies[-1][3].dtype == np.uint32
    told = {frozenset(entry[3].ravel().tolist()) for entry in bodies[1:4]}
    assert told == {frozenset(faces.ravel().tolist()) for faces in clear} and len(bodies) == 5
    for entry in bodies:
        table = entry[5]
        assert np.allclose(table["a_position"], np.concatenate(position) - SEEN_BY.target, atol=3e-6)
        assert np.allclose(table["a_normal"], np.concatenate(normal), atol=1e-6)
        assert np.allclose(table["a_color"], np.concatenate(color), atol=1e-6)


def test_the_farthest_clear_body_is_drawn_first(gl):
    motion = full()
    log = drawn(motion, Look(), gl)
    clear = draws(log, "bodies")[1:4]
    nearness = [(entry[5]["a_position"][entry[3].ravel()] @ SEEN_BY.backward).mean() for entry in clear]
    assert nearness == sorted(nearness) and np.ptp(nearness) > 0.1


def test_variables_say_where_eye_light_and_ground_are(gl):
    look = Look(ground=-0.5, light=np.array([3.0, -4.0, 12.0]))
    log = drawn(full(), look, gl)
    bodies, (floor,) = draws(log, "bodies"), draws(log, "floor")
    for entry in (*bodies, floor):
        assert entry[4]["u_to_clip"] == pytest.approx(SEEN_BY.matrix(1.5).T.astype(np.float32))
        assert entry[4]["u_light"] == pytest.approx(np.array([3.0, -4.0, 12.0]) / 13)
    assert bodies[0][4]["u_eye"] == pytest.approx(SEEN_BY.eye - SEEN_BY.target, rel=1e-6)
    assert [entry[4]["u_ground"] for entry in (bodies[0], floor)] == [-1.0, -1.0]
    assert bodies[-1][4]["u_ground"] == -1e30  # contacts are drawn over the ground
    log = drawn(full(), Look(), gl)
    assert draws(log, "bodies")[0][4]["u_ground"] == draws(log, "floor")[0][4]["u_ground"] == -1e30
    light = draws(log, "bodies")[0][4]["u_light"]
    azimuth, elevation = 0.7 - np.deg2rad(40), np.deg2rad(50)
    expected = Rotation.from_euler("z", azimuth) * Rotation.from_euler("y", -elevation)
    assert light == pytest.approx(expected.apply([1, 0, 0]), abs=1e-6)


@pytest.mark.parametrize(("above", "seen"), [(1e-9, True), (0.0, False), (-1e-9, False)])
def test_a_ground_that_the_camera_is_under_is_not_drawn(gl, above, seen):
    camera = Camera(np.zeros(3), 2.0, 0.4, 0.0, 0.6)
    log = drawn(full(), Look(ground=-above), gl, camera=camera)
    assert len(draws(log, "plane")) == seen
    assert draws(log, "bodies")[0][4]["u_ground"] == pytest.approx(-above if seen else -1e30)


PLANES = {
    "ground": (Look(ground=-0.75, cell=0.4), np.array([0, 0, 1.0]), -0.75, 4.0),
    "wall": (Look(wall=np.array([0, -1.0, 0, -3.0]), cell=0.4), np.array([0, -1.0, 0]), -3.0, 2.5),
    "side": (Look(wall=np.array([1.0, 0, 0, -2.5]), cell=0.4), np.array([1.0, 0, 0]), -2.5, 2.5),
}


@pytest.mark.parametrize("name", PLANES)
def test_squared_paper_lies_on_its_plane_with_lines_at_whole_cells(gl, name):
    look, normal, offset, reach = PLANES[name]
    log = drawn(full(), look, gl)
    (entry,) = draws(log, "plane")
    table, variables = entry[5], entry[4]
    ink = shaders.GROUND_INK if name == "ground" else shaders.WALL_INK
    assert variables["u_line"].tolist() == list(ink["line"]) and variables["u_fill"].tolist() == list(ink["fill"])
    assert variables["u_to_clip"] == pytest.approx(SEEN_BY.matrix(1.5).T.astype(np.float32))
    corners = table["a_position"] + SEEN_BY.target
    assert corners @ normal == pytest.approx(np.full(4, offset), abs=1e-5)
    foot = SEEN_BY.target + (offset - normal @ SEEN_BY.target) * normal
    assert corners.mean(axis=0) == pytest.approx(foot, abs=1e-5)
    assert np.abs(corners - foot).max(axis=1) == pytest.approx(np.full(4, reach * 4.0), rel=1e-5)
    assert table["a_span"].tolist() == [[-1, -1], [1, -1], [-1, 1], [1, 1]]
    # Across and along the paper: where it says a whole number, a world coordinate is a whole multiple of the cell.
    across, along = (corners[1] - corners[0]) / 16, (corners[2] - corners[0]) / 16
    across, along = (axis / np.linalg.norm(axis) for axis in (across, along))
    assert np.sort(np.abs(np.stack([across, along, normal])).max(axis=1)) == pytest.approx(np.ones(3), abs=1e-6)
    for k, axis in enumerate((across, along)):
        off = table["a_place"][:, k] - corners @ axis / 0.4
        assert off == pytest.approx(np.rint(off), abs=2e-4) and np.ptp(off) < 1e-3
        assert np.abs(table["a_place"][:, k]).max() < reach * 10 + 1.001  # small numbers stay exact


def test_a_sloping_wall_has_squares_too(gl):
    normal = np.array([2.0, -3.0, 6.0]) / 7
    for n in (normal, np.array([0.0, 0.1, np.sqrt(0.99)])):
        (entry,) = draws(drawn(full(), Look(wall=np.append(n, 0.5)), gl), "plane")
        corners = entry[5]["a_position"] + SEEN_BY.target
        assert corners @ n == pytest.approx(np.full(4, 0.5), abs=1e-5)
        one, other = corners[1] - corners[0], corners[2] - corners[0]
        assert one @ other == pytest.approx(0.0, abs=1e-4)
        assert np.linalg.norm(one) == pytest.approx(20.0) and np.linalg.norm(other) == pytest.approx(20.0)
        level = one if n is normal else other
        assert level[2] == pytest.approx(0.0, abs=1e-5) or n is not normal


def test_ink_is_as_it_is():
    assert shaders.GROUND_INK == {"line": (0.42, 0.46, 0.50, 0.70), "fill": (0.80, 0.82, 0.83, 0.85), "reach": 4.0}
    assert shaders.WALL_INK == {"line": (0.55, 0.60, 0.66, 0.50), "fill": (1.0, 1.0, 1.0, 0.0), "reach": 2.5}


def test_an_empty_stage_draws_its_background(gl):
    motion = Motion.from_drawing(
        name="", body_names=["a"], position=np.zeros((1, 3)), quat=np.array([[1.0, 0, 0, 0]]),
        shapes=Shapes(
            body=np.array([-1]), kind=("plane",), position=np.zeros((1, 3)), quat=np.array([[1.0, 0, 0, 0]]),
            size=np.array([[1.0, 1.0, 0]]), color=np.full((1, 4), np.nan),
        ),
    )  # fmt: skip
    log = drawn(motion, Look(), gl, quality=1)
    assert [entry[1] for entry in log if entry[0] == "draw"] == ["floor", "backdrop", "average"]
    assert [entry[1:] for entry in log if entry[0] == "viewport"] == [(0, 0, 90, 60)] * 2


def test_without_forces_contacts_and_trails_nothing_has_a_size(gl):
    motion = full()
    made = Stage(motion, SIZE)
    gl.clear()
    made.draw(motion.poses(0.0), SEEN_BY)
    table = draws(gl, "bodies")[-1][5]
    assert made.quality == 2
    for part in (made._touched, made._pushed):
        assert np.ptp(table["a_position"][part], axis=0) == pytest.approx(np.zeros(3), abs=1e-6)


@pytest.mark.parametrize(
    ("look", "words"),
    [
        (Look(), ""), (Look(ground=0.0), "squares 50 cm"), (Look(wall=np.zeros(4), cell=1.0), "squares 1 m"),
        (Look(floor=True, cell=0.05), "squares 5 cm"), (Look(floor=True, cell=2.0), "squares 2 m"),
    ],
)  # fmt: skip
def test_the_width_of_squares_is_told(look, words):
    assert look.scale == words


# --- starting OpenGL --------------------------------------------------------------------------------


class Function:
    def __init__(self, answer):
        self.answer, self.asked, self.restype = answer, [], None

    def __call__(self, *given):
        self.asked.append([getattr(value, "value", value) for value in given])
        return self.answer


@pytest.mark.parametrize(("starts", "platform"), [(1, "surfaceless"), (0, None)])
def test_egl_is_tried_without_a_display(monkeypatch, starts, platform):
    monkeypatch.setenv("EGL_PLATFORM", "of before")  # so that what is set here is taken back
    monkeypatch.delenv("EGL_PLATFORM")
    library = SimpleNamespace(eglGetDisplay=Function(1234), eglInitialize=Function(starts))
    loaded = []
    monkeypatch.setattr(ctypes.util, "find_library", lambda name: f"lib{name}.so")
    monkeypatch.setattr(ctypes, "CDLL", lambda name: loaded.append(name) or library)
    stage._choose_platform()
    assert os.environ.get("EGL_PLATFORM") == platform and loaded == ["libEGL.so"]
    assert library.eglGetDisplay.asked == [[None]] and library.eglGetDisplay.restype is ctypes.c_void_p
    assert library.eglInitialize.asked == [[1234, None, None]]


def test_the_users_choice_of_a_platform_stays(monkeypatch):
    monkeypatch.setenv("EGL_PLATFORM", "x11")
    monkeypatch.setattr(ctypes.util, "find_library", lambda name: None)
    stage._choose_platform()
    assert os.environ["EGL_PLATFORM"] == "x11"
    monkeypatch.delenv("EGL_PLATFORM")
    with pytest.raises(RenderError, match=r"does not start here \(the library libEGL is not installed\)"):
        stage._choose_platform()


@pytest.mark.parametrize(
    ("platform", "advice"),
    [
        ("linux", "On Debian or Ubuntu: apt-get install libegl1 libgl1"),
        ("darwin", "Install a window toolkit that vispy knows (pip install pyqt6) and a driver with OpenGL 2.1"),
    ],
)
def test_what_opengl_raises_is_one_sentence(monkeypatch, platform, advice):
    monkeypatch.setattr(sys, "platform", platform)
    for error, reason in ((OSError(" no driver\nat all"), "no driver"), (ValueError(), "ValueError")):
        with pytest.raises(RenderError) as caught, stage._sentence():
            raise error
        assert str(caught.value) == (
            f"pictures need OpenGL, which does not start here ({reason}). {advice}; `sim doctor` shows more."
        )
    for passed in (RenderError("x"), KeyboardInterrupt()):
        with pytest.raises(type(passed)) as caught, stage._sentence():
            raise passed
        assert caught.value is passed


@pytest.mark.parametrize(("platform", "used"), [("linux", ["chosen", "egl"]), ("win32", [])])
def test_one_hidden_canvas_serves_all(monkeypatch, platform, used):
    import vispy
    from vispy import app

    done = []

    class Canvas:
        def __init__(self, **options):
            done.append(options)

        def set_current(self):
            done.append("current")

    monkeypatch.setattr(sys, "platform", platform)
    monkeypatch.setattr(stage, "_choose_platform", lambda: done.append("chosen"))
    monkeypatch.setattr(app, "use_app", done.append)
    monkeypatch.setattr(app, "Canvas", Canvas)
    monkeypatch.setattr(vispy, "set_log_level", lambda level: done.append(("log", level)))
    assert isinstance(stage._canvas.__wrapped__(), Canvas)
    assert done == [*used, ("log", "error"), {"size": (16, 16), "show": False}, "current"]


def test_the_renderer_is_named(monkeypatch, gl):
    from vispy.gloo import gl as functions

    names = {functions.GL_RENDERER: "Mesa", functions.GL_VERSION: "4.5"}
    monkeypatch.setattr(functions, "glGetParameter", names.get)
    assert stage.check() == "Mesa, OpenGL 4.5" and gl == [("current",)]
