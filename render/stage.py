"""Lit solids, drawn off screen with OpenGL by vispy (gl2): poses in, a picture out.

Bodies are turned and moved on the processor, in float64 and relative to the camera's target, so a
scene far from the origin is drawn as sharply as one at it, and one draw call does for all bodies.
The picture is drawn at `quality` times its size and averaged by the graphics card.
"""

from __future__ import annotations

import contextlib
import ctypes
import ctypes.util
import functools
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from render import rotation, shaders
from render.arrows import Arrows
from render.camera import Camera
from render.floors import Floors
from render.meshes import mesh, polyhedron
from render.palette import colors, rgb
from render.ropes import COLOR as HEMP
from render.ropes import Lines
from render.springs import COLOR, Coils
from render.touches import Touches
from render.trails import Trails
from render.view import Motion, RenderError

DEPTH_24_BITS = 0x81A6  # GL_DEPTH_COMPONENT24: with 16 bits, solids that nearly touch show stripes
SOLID = np.dtype([("a_position", np.float32, 3), ("a_normal", np.float32, 3), ("a_color", np.float32, 4)])
PLANE = np.dtype([("a_position", np.float32, 3), ("a_place", np.float32, 2), ("a_span", np.float32, 2)])
OVER = ("one", "one_minus_src_alpha")  # colours are multiplied by their opacity beforehand
PACKAGES = "libegl1 libgl1"  # of Debian; they bring Mesa's software renderer with them


@dataclass(frozen=True, kw_only=True)
class Look:
    """What the stage looks like apart from the bodies.

    background : colours at the top and at the bottom of the picture
    light : (3,) direction towards the light, world axes; None: over the camera's left shoulder
    ground : height of the ground, m; None: no ground
    wall : (4,) the plane {p : n . p = d} of a sheet of squared paper behind the motion; None: none
    floor : whether planes of the scene are drawn, in squares
    cell : width of one square of ground, wall or floor, m
    """

    background: tuple[tuple[float, float, float], tuple[float, float, float]] = (rgb("#f6f6f3"), rgb("#d9dee3"))
    light: np.ndarray | None = None
    ground: float | None = None
    wall: np.ndarray | None = None
    floor: bool = False
    cell: float = 0.5

    @property
    def scale(self) -> str:
        """What to write beside the squares, so that sizes can be read off; empty where there are none."""
        if self.ground is None and self.wall is None and not self.floor:
            return ""
        return f"squares {self.cell:g} m" if self.cell >= 1 else f"squares {100 * self.cell:g} cm"


class Stage:
    """Everything needed to draw one motion at one size.

    size : width and height of the pictures in pixels
    quality : 1 (fast, jagged edges) or 2 (each pixel is the mean of four)
    """

    def __init__(self, motion: Motion, size: tuple[int, int], *, look: Look | None = None, quality: int = 2):
        self.size, self.quality, self.look = size, quality, look or Look()
        self._canvas = _canvas()
        self._build(motion)
        with _sentence():
            self._make_buffers()

    def _build(self, motion: Motion) -> None:
        """Gather the meshes of all shapes, opaque ones first, in the axes of their bodies; springs and forces."""
        shapes, tint = motion.shapes, colors(motion.shapes, motion.body_names)
        self._body: list[int] = []
        self._part: list[slice] = []  # of the vertices
        vertices, normals, tints = [], [], []
        solid: list[np.ndarray] = []
        clear: list[np.ndarray] = []
        first = 0
        for s in range(len(shapes)):
            if shapes.kind[s] == "plane":
                continue
            made = polyhedron(*shapes.hulls[s]) if s in shapes.hulls else mesh(shapes.kind[s], shapes.size[s])
            R_BS = rotation.matrix(shapes.quat[s])
            vertices.append(shapes.position[s] + made.vertices @ R_BS.T)
            normals.append(made.normals @ R_BS.T)
            tints.append(np.broadcast_to(tint[s], (len(made.vertices), 4)))
            (solid if tint[s, 3] >= 1 else clear).append(made.faces + first)
            self._body.append(int(shapes.body[s]))
            self._part.append(slice(first, first + len(made.vertices)))
            first += len(made.vertices)
        self._floors = Floors(motion, self.look.cell)
        self._coils, self._lines, self._arrows = Coils(motion), Lines(motion), Arrows(motion)
        coils, lines, arrows = self._coils.count, self._lines.count, self._arrows.count
        self._coiled, first = slice(first, first + coils), first + coils
        self._lined, self._pushed = slice(first, first + lines), slice(first + lines, first + lines + arrows)
        if coils:
            tints.append(np.broadcast_to(COLOR, (coils, 4)))
            solid.append(self._coils.faces + self._coiled.start)
        if lines:
            tints.append(np.broadcast_to(HEMP, (lines, 4)))
            solid.append(self._lines.faces + self._lined.start)
        if arrows:
            tints.append(self._arrows.colors)
            solid.append(self._arrows.faces + self._pushed.start)
        self._trails = Trails(motion)
        self._trailed = slice(self._pushed.stop, self._pushed.stop + self._trails.count)
        if self._trails.count:
            tints.append(self._trails.colors)
            solid.append(self._trails.faces + self._trailed.start)
        self._touches = Touches(motion)
        self._touched = slice(self._trailed.stop, self._trailed.stop + self._touches.count)
        if self._touches.count:
            tints.append(np.zeros((self._touches.count, 4)))
        first = self._touched.stop
        empty = [np.zeros((0, 3))]
        self._vertices = np.concatenate(vertices or empty)
        self._normals = np.concatenate(normals or empty)
        self._clear = [faces.astype(np.uint32) for faces in clear]
        self._solid = np.concatenate(solid).astype(np.uint32) if solid else None
        self._table = np.zeros(first, SOLID)
        if first:
            self._table["a_color"] = np.concatenate(tints)

    def _make_buffers(self) -> None:
        from vispy import gloo

        width, height = (self.quality * side for side in self.size)
        self._canvas.set_current()
        self._drawn = gloo.Texture2D(
            (height, width, 4), format="rgba", interpolation="linear", wrapping="clamp_to_edge"
        )
        depth = gloo.RenderBuffer((height, width), DEPTH_24_BITS)
        self._sharp = gloo.FrameBuffer(color=self._drawn, depth=depth)
        self._final_color = gloo.Texture2D((self.size[1], self.size[0], 4), format="rgba")
        self._final = gloo.FrameBuffer(color=self._final_color)
        self._buffer = gloo.VertexBuffer(self._table) if len(self._table) else None
        self._indices = gloo.IndexBuffer(self._solid) if self._solid is not None else None
        touched = (self._touches.faces + self._touched.start).astype(np.uint32)
        self._touch_indices = gloo.IndexBuffer(touched) if self._touches.count else None
        self._clear_buffers = [gloo.IndexBuffer(faces) for faces in self._clear]
        self._bodies = gloo.Program(shaders.BODY_VERTEX, shaders.BODY_FRAGMENT)
        self._floor = gloo.Program(shaders.FLOOR_VERTEX, shaders.FLOOR_FRAGMENT)
        self._floor_buffer = gloo.VertexBuffer(self._floors.table) if self._floors.count else None
        self._floor_indices = gloo.IndexBuffer(self._floors.faces) if self._floors.count else None
        self._plane = gloo.Program(shaders.PLANE_VERTEX, shaders.PLANE_FRAGMENT)
        self._plane_buffer = gloo.VertexBuffer(np.zeros(4, PLANE))
        self._plane.bind(self._plane_buffer)
        everywhere = np.array([[-1, -1], [1, -1], [-1, 1], [1, 1]], np.float32)
        self._backdrop = gloo.Program(shaders.SCREEN_VERTEX, shaders.BACKDROP_FRAGMENT)
        self._backdrop["a_corner"] = everywhere
        self._backdrop["u_top"], self._backdrop["u_bottom"] = self.look.background
        self._average = gloo.Program(shaders.SCREEN_VERTEX, shaders.AVERAGE_FRAGMENT)
        self._average["a_corner"] = everywhere
        self._average["u_drawn"] = self._drawn

    def draw(
        self, poses: tuple[np.ndarray, np.ndarray], camera: Camera, forces: np.ndarray | None = None,
        touching: tuple[np.ndarray, np.ndarray, np.ndarray] | None = None, trails: np.ndarray | None = None,
    ) -> np.ndarray:  # fmt: skip
        """Return the picture (height, width, 3) uint8 of bodies at `poses`; forces, contacts, trails as in Motion."""
        from vispy import gloo

        self._canvas.set_current()
        self._place_trails(trails, camera)
        self._place(poses, camera, np.zeros((len(self._arrows.pushes), 3)) if forces is None else forces)
        self._place_touches(touching, camera)
        aspect = self.size[0] / self.size[1]
        to_clip = camera.matrix(aspect).T.astype(np.float32)  # vispy wants row vectors
        with self._sharp:
            gloo.set_viewport(0, 0, self.quality * self.size[0], self.quality * self.size[1])
            gloo.set_state(depth_test=True, blend=False, cull_face=False, depth_mask=True, clear_color=(0, 0, 0, 0))
            gloo.clear(color=True, depth=True)
            self._draw_bodies(to_clip, camera)
            self._draw_floors(to_clip, camera)
            self._draw_clear_bodies(camera)
            self._draw_touches()
        with self._final:
            gloo.set_viewport(0, 0, *self.size)
            gloo.set_state(depth_test=False, blend=True, blend_func=OVER, depth_mask=True, cull_face=False)
            self._backdrop.draw("triangle_strip")
            self._draw_planes(to_clip, camera)
            self._average.draw("triangle_strip")
            picture = gloo.read_pixels((0, 0, *self.size), alpha=False)
        return np.ascontiguousarray(picture)

    def _place(self, poses: tuple[np.ndarray, np.ndarray], camera: Camera, forces: np.ndarray) -> None:
        """Move all vertices to their place, relative to the camera's target, and upload them."""
        if self._buffer is None:
            return
        target = camera.target
        p_WB, R_WB = poses
        place, turn = self._table["a_position"], self._table["a_normal"]
        for body, part in zip(self._body, self._part, strict=True):
            np.add(self._vertices[part] @ R_WB[body].T, p_WB[body] - target, out=place[part], casting="same_kind")
            turn[part] = self._normals[part] @ R_WB[body].T
        if self._coils.count:
            vertices, turn[self._coiled] = self._coils.place(poses)
            np.subtract(vertices, target, out=place[self._coiled], casting="same_kind")
        if self._lines.count:
            vertices, turn[self._lined] = self._lines.place(poses)
            np.subtract(vertices, target, out=place[self._lined], casting="same_kind")
        if self._arrows.count:
            vertices, turn[self._pushed] = self._arrows.place(poses, forces, camera)
            np.subtract(vertices, target, out=place[self._pushed], casting="same_kind")
        self._buffer.set_data(self._table)

    def _place_trails(self, trails: np.ndarray | None, camera: Camera) -> None:
        """Move the ribbons of trails to their place; `_place` uploads them."""
        if self._trails.count and trails is not None:
            vertices, self._table["a_normal"][self._trailed] = self._trails.place(trails, camera)
            self._table["a_position"][self._trailed] = vertices - camera.target

    def _place_touches(self, touching: tuple[np.ndarray, np.ndarray, np.ndarray] | None, camera: Camera) -> None:
        """Move dots and arrows of contacts to their place, and upload them."""
        if not self._touches.count:
            return
        assert self._buffer is not None  # it holds these at least
        nothing = np.zeros((0, 3)), np.zeros((0, 3)), np.zeros(0, int)
        vertices, normals, tints = self._touches.place(touching or nothing, camera)
        self._table["a_position"][self._touched] = vertices - camera.target
        self._table["a_normal"][self._touched], self._table["a_color"][self._touched] = normals, tints
        self._buffer.set_data(self._table)

    def _draw_touches(self) -> None:
        """Draw contacts over all else: they are where bodies are, or under the ground."""
        from vispy import gloo

        if self._touch_indices is None:
            return
        gloo.set_state(depth_test=False, blend=False, cull_face="back")
        self._bodies["u_ground"] = -1e30
        self._bodies.draw("triangles", self._touch_indices)

    def _draw_bodies(self, to_clip: np.ndarray, camera: Camera) -> None:
        if self._buffer is None:
            return
        self._bodies.bind(self._buffer)
        self._bodies["u_to_clip"] = to_clip
        self._bodies["u_eye"] = (camera.distance * camera.backward).astype(np.float32)
        self._bodies["u_ground"] = self._below(camera)
        self._bodies["u_light"] = self._light(camera).astype(np.float32)
        if self._indices is not None:
            self._bodies.draw("triangles", self._indices)

    def _below(self, camera: Camera) -> float:
        """Return the height, from what the camera looks at, below which the ground hides everything."""
        below = -np.inf if self._no_ground(camera) else self.look.ground - camera.target[2]
        return float(max(below, -1e30))

    def _draw_floors(self, to_clip: np.ndarray, camera: Camera) -> None:
        """Draw planes of the scene: whoever is behind one looks through it."""
        from vispy import gloo

        if self._floor_buffer is None:
            return
        self._floor_buffer.set_data(self._floors.place(camera.target))
        self._floor.bind(self._floor_buffer)
        self._floor["u_to_clip"], self._floor["u_ground"] = to_clip, self._below(camera)
        self._floor["u_light"] = self._light(camera).astype(np.float32)
        gloo.set_state(blend=True, blend_func=OVER, cull_face="back")
        self._floor.draw("triangles", self._floor_indices)

    def _no_ground(self, camera: Camera) -> bool:
        """Whether there is no ground to see; one that the camera is under would hide everything."""
        return self.look.ground is None or camera.eye[2] <= self.look.ground

    def _draw_clear_bodies(self, camera: Camera) -> None:
        """Draw what can be seen through after all else, the farthest first."""
        from vispy import gloo

        if not self._clear_buffers:
            return
        gloo.set_state(blend=True, blend_func=OVER, depth_mask=False, cull_face="back")
        place = self._table["a_position"]
        nearness = [float(place[faces.ravel()].mean(axis=0) @ camera.backward) for faces in self._clear]
        for k in np.argsort(nearness):
            self._bodies.draw("triangles", self._clear_buffers[k])

    def _draw_planes(self, to_clip: np.ndarray, camera: Camera) -> None:
        """Draw ground and wall; nothing is behind them, so they need neither depth nor fourfold size."""
        if not self._no_ground(camera):
            self._draw_plane(to_clip, camera, np.array([0, 0, 1.0, self.look.ground]), shaders.GROUND_INK)
        if self.look.wall is not None:
            self._draw_plane(to_clip, camera, self.look.wall, shaders.WALL_INK)

    def _draw_plane(self, to_clip: np.ndarray, camera: Camera, plane: np.ndarray, ink: dict[str, Any]) -> None:
        """Draw squared paper on the plane {p : n . p = d}, fading out away from what the camera looks at."""
        normal, offset = plane[:3], plane[3]
        across = np.cross([0, 0, 1.0], normal) if abs(normal[2]) < 0.9 else np.array([1.0, 0, 0])
        across /= np.linalg.norm(across)
        along = np.cross(normal, across)
        foot = camera.target + (offset - normal @ camera.target) * normal  # the target, seen onto the plane
        reach = ink["reach"] * camera.distance
        corners = reach * np.array([[-1, -1], [1, -1], [-1, 1], [1, 1]], float)
        table = np.zeros(4, PLANE)
        table["a_position"] = foot - camera.target + corners @ np.stack([across, along])
        # Lines stand at whole multiples of the cell in world coordinates; only the rest is uploaded.
        phase = np.array([foot @ across, foot @ along]) % self.look.cell
        table["a_place"] = (corners + phase) / self.look.cell
        table["a_span"] = corners / reach
        self._plane_buffer.set_data(table)
        self._plane["u_to_clip"] = to_clip
        self._plane["u_line"], self._plane["u_fill"] = ink["line"], ink["fill"]
        self._plane.draw("triangle_strip")

    def _light(self, camera: Camera) -> np.ndarray:
        """Return the direction towards the light; it stands still while the camera follows."""
        if self.look.light is not None:
            return np.asarray(self.look.light, float) / np.linalg.norm(self.look.light)
        azimuth, elevation = camera.azimuth - np.deg2rad(40), np.deg2rad(50)
        flat = np.array([np.cos(azimuth), np.sin(azimuth), 0.0])
        return np.cos(elevation) * flat + np.array([0, 0, np.sin(elevation)])


@contextlib.contextmanager
def _sentence() -> Iterator[None]:
    """Turn whatever OpenGL raises into a sentence for a person."""
    try:
        yield
    except (RenderError, KeyboardInterrupt):
        raise
    except Exception as error:
        raise RenderError(_no_opengl(error)) from error


def _no_opengl(error: Exception) -> str:
    reason = str(error).strip().split("\n")[0] or type(error).__name__
    advice = (
        f"On Debian or Ubuntu: apt-get install {PACKAGES}"
        if sys.platform.startswith("linux")
        else "Install a window toolkit that vispy knows (pip install pyqt6) and a driver with OpenGL 2.1"
    )
    return f"pictures need OpenGL, which does not start here ({reason}). {advice}; `sim doctor` shows more."


@functools.cache
def _canvas() -> Any:
    """Return the one hidden canvas of this process; its OpenGL context serves all stages."""
    with _sentence():
        if sys.platform.startswith("linux"):
            _choose_platform()
            import vispy.app

            vispy.app.use_app("egl")
        import vispy
        from vispy import app

        vispy.set_log_level("error")
        canvas = app.Canvas(size=(16, 16), show=False)
        canvas.set_current()
        return canvas


def _choose_platform() -> None:
    """Let EGL work without a display, unless the user chose otherwise.

    vispy tries once in a process, so what works is found out here, before it does.
    """
    if "EGL_PLATFORM" in os.environ:
        return
    library = ctypes.util.find_library("EGL")
    if library is None:
        raise RenderError(_no_opengl(OSError("the library libEGL is not installed")))
    os.environ["EGL_PLATFORM"] = "surfaceless"
    egl = ctypes.CDLL(library)
    egl.eglGetDisplay.restype = ctypes.c_void_p
    display = ctypes.c_void_p(egl.eglGetDisplay(ctypes.c_void_p(0)))
    if not egl.eglInitialize(display, None, None):
        del os.environ["EGL_PLATFORM"]


def check() -> str:
    """Return the name of the renderer for `sim doctor`; raise RenderError where OpenGL does not start."""
    canvas = _canvas()
    from vispy.gloo import gl

    with _sentence():
        canvas.set_current()
        return f"{gl.glGetParameter(gl.GL_RENDERER)}, OpenGL {gl.glGetParameter(gl.GL_VERSION)}"
