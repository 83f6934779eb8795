"""Where the camera stands: fixed, fitted to the whole motion, or following a body smoothly.

A camera looks at a target from a distance.  `azimuth` is the direction from the target to the
camera, from x towards y; `elevation` is above the horizon; `fov` is the full angle of view
from bottom to top.  Angles in radians.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from render import rotation
from render.view import Motion, RenderError

FOV = np.deg2rad(32)  # about a 63 mm lens on small film: little distortion of a figure
MARGIN = 0.80  # part of the picture that the motion fills
CAPTION_SHIFT = 0.03  # part of the height by which the motion stands above the middle, for the captions
SMOOTHING = 0.25  # s of film, width of the Gaussian that a following camera is smoothed with
FIT_INSTANTS = 240  # instants of the motion that the fit looks at
FAR_TRAVEL = 2.0  # a motion whose middle wanders this many times the reach of its bodies is followed
STRAY = 4.0  # what is this many times as far from the middle as most bodies does not count (a part that fell off)


@dataclass(frozen=True)
class Camera:
    """One position of the camera: eye and target (3,) in m, fov in rad."""

    target: np.ndarray
    distance: float
    azimuth: float
    elevation: float
    fov: float

    @property
    def backward(self) -> np.ndarray:
        """Unit vector from the target to the eye."""
        ce = np.cos(self.elevation)
        return np.array([ce * np.cos(self.azimuth), ce * np.sin(self.azimuth), np.sin(self.elevation)])

    @property
    def axes(self) -> np.ndarray:
        """Rows: right, up, backward (3, 3), world axes."""
        right = np.array([-np.sin(self.azimuth), np.cos(self.azimuth), 0.0])
        return np.stack([right, np.cross(self.backward, right), self.backward])

    @property
    def eye(self) -> np.ndarray:
        """Position of the camera, m."""
        return self.target + self.distance * self.backward

    def matrix(self, aspect: float) -> np.ndarray:
        """Return the (4, 4) matrix from positions relative to `target` to clip space (column vectors)."""
        near, far = 0.02 * self.distance, 50.0 * self.distance
        view = np.eye(4)
        view[:3, :3] = self.axes
        view[2, 3] = -self.distance
        focal = 1 / np.tan(0.5 * self.fov)
        lens = np.array(
            [
                [focal / aspect, 0, 0, 0],
                [0, focal, 0, 0],
                [0, 0, -(far + near) / (far - near), -2 * far * near / (far - near)],
                [0, 0, -1, 0],
            ]
        )
        return lens @ view


@dataclass(frozen=True)
class CameraPath:
    """A camera at every instant: the target moves, the direction of view does not.

    times : (k,) s
    targets : (k, 3) m
    """

    times: np.ndarray
    targets: np.ndarray
    distance: float
    azimuth: float
    elevation: float
    fov: float

    def at(self, time: float) -> Camera:
        """Return the camera at a time in s."""
        target = np.array([np.interp(time, self.times, self.targets[:, k]) for k in range(3)])
        return Camera(target, self.distance, self.azimuth, self.elevation, self.fov)


def plan(motion: Motion, wishes: Mapping[str, Any] | None, *, aspect: float, speed: float = 1.0) -> CameraPath:
    """Return the camera of a motion.

    wishes : follow (name of a body or point), target (3,) m, distance m, azimuth, elevation, fov rad; what is
        absent or None is chosen so that the motion is seen whole
    aspect : width of the picture over its height
    speed : seconds of motion in one second of film (a following camera is smoothed in film time)
    """
    wish = dict[str, Any]((key, value) for key, value in (wishes or {}).items() if value is not None)
    unknown = set(wish) - {"follow", "target", "distance", "azimuth", "elevation", "fov"}
    if unknown:
        raise RenderError(
            f"camera: unknown key {sorted(unknown)[0]!r}; known: follow, target, distance, azimuth, elevation, fov"
        )
    times = motion.sample_times(FIT_INSTANTS)
    corners = outline(motion, times)
    azimuth, elevation = direction(without_strays(corners)[0])
    chosen = {"azimuth": azimuth, "elevation": elevation, "fov": FOV, **wish}
    azimuth, elevation, fov = (float(chosen[key]) for key in ("azimuth", "elevation", "fov"))
    free = False
    if "follow" in wish:
        path_times, path = follow(motion, wish["follow"], speed)
        corners = outline(motion, times, bodies=family(motion, motion.place(wish["follow"])[0]))
    elif "target" in wish:
        path_times, path = motion.times[:1], np.array(wish["target"], dtype=float).reshape(1, 3)
    else:
        corners, middle, far = without_strays(corners)
        still = (motion.times[:1], np.zeros((1, 3)))
        path_times, path = smooth(times, middle, speed) if far else still
        free = not far
    offset = np.stack([np.interp(times, path_times, path[:, k]) for k in range(3)], axis=1)
    probe = Camera(np.zeros(3), 1.0, azimuth, elevation, fov)
    centre, distance = fit((corners - offset[:, None]).reshape(-1, 3), probe, aspect, free=free)
    return CameraPath(path_times, path + centre, float(wish.get("distance", distance)), azimuth, elevation, fov)


def fit(points: np.ndarray, camera: Camera, aspect: float, *, free: bool) -> tuple[np.ndarray, float]:
    """Return target (3,) and distance from which all `points` (k, 3) are seen, in the direction of `camera`.

    free : whether the target may be chosen; otherwise it is the origin
    """
    points = points[np.isfinite(points).all(axis=1)]
    if not len(points):
        return np.zeros(3), 3.0
    origin = 0.5 * (points.min(axis=0) + points.max(axis=0)) if free else np.zeros(3)
    seen = (points - origin) @ camera.axes.T
    across, depth = seen[:, :2], -seen[:, 2]  # depth: farther from the eye than the target
    half = MARGIN * np.tan(0.5 * camera.fov)
    slope = np.array([half * aspect, half])
    # A point is in the picture when |across - centre| <= slope (distance + depth), on both axes.
    low = (across - slope * depth[:, None]).max(axis=0)
    high = (across + slope * depth[:, None]).min(axis=0)
    centre = 0.5 * (low + high) if free else np.zeros(2)
    distance = float(max(((low - centre) / slope).max(), ((centre - high) / slope).max(), 1e-3))
    distance = max(distance, 1.1 * float(-depth.min()))
    if free:
        centre[1] -= CAPTION_SHIFT * 2 * np.tan(0.5 * camera.fov) * distance
    return origin + centre @ camera.axes[:2], distance


def outline(motion: Motion, times: np.ndarray, bodies: list[int] | None = None) -> np.ndarray:
    """Return corners of the boxes around all shapes, ends of springs, ropes and trails, (len(times), k, 3) m.

    Shapes of the world count as far as they are near the moving bodies, so that a long beam or a
    wide wall does not push the camera away; planes where bodies are seen onto them.  bodies: only the shapes of these.
    """
    shapes = motion.shapes
    moving = [s for s in range(len(shapes)) if shapes.body[s] >= 0 and (bodies is None or shapes.body[s] in bodies)]
    still = [s for s in range(len(shapes)) if shapes.body[s] < 0 and bodies is None and shapes.kind[s] != "plane"]
    planes = [s for s in range(len(shapes)) if shapes.kind[s] == "plane" and bodies is None]
    boxes = np.stack([_corners(motion, s) for s in range(len(shapes))]) if len(shapes) else np.zeros((0, 8, 3))
    found = []
    for time in times:
        p_WB, R_WB = motion.poses(time)
        body = shapes.body[moving]
        corners = p_WB[body][:, None] + boxes[moving] @ R_WB[body].transpose(0, 2, 1)
        origins = p_WB[:-1] if bodies is None else p_WB[bodies]
        tied = [part.ends((p_WB, R_WB)).reshape(-1, 3) for part in (motion.springs, motion.ropes)]
        ends = np.concatenate(tied) if bodies is None else origins[:0]
        drawn = motion.trailing(time) if bodies is None else origins[:0]
        found.append(np.concatenate([corners.reshape(-1, 3), origins, ends, drawn]))
    seen = np.stack(found)
    if (still or planes) and np.isfinite(seen).any():
        low, high = np.nanmin(seen, axis=(0, 1)), np.nanmax(seen, axis=(0, 1))
        reach = 0.5 * np.linalg.norm(high - low)
        feet = [_feet(motion, s, low, high) for s in planes]
        near = np.clip(np.concatenate([*boxes[still], *feet]), low - reach, high + reach)
        seen = np.concatenate([seen, np.broadcast_to(near, (len(times), *near.shape))], axis=1)
    return seen


def _feet(motion: Motion, shape: int, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Return the corners (8, 3) of the box from low to high, seen straight onto a plane."""
    shapes = motion.shapes
    normal = rotation.matrix(shapes.quat[shape])[:, 2]
    corners = np.array([[x, y, z] for x in (0, 1) for y in (0, 1) for z in (0, 1)]) * (high - low) + low
    return corners - ((corners - shapes.position[shape]) @ normal)[:, None] * normal


def _corners(motion: Motion, shape: int) -> np.ndarray:
    """Return the corners (8, 3) of the box around a shape, in its body's axes."""
    shapes = motion.shapes
    half = np.array(shapes.size[shape], float)
    if shapes.kind[shape] in ("box", "mesh"):
        half = 0.5 * half
    elif shapes.kind[shape] in ("capsule", "cylinder"):
        half[2] = 0.5 * half[2] + (half[0] if shapes.kind[shape] == "capsule" else 0.0)
    signs = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
    return shapes.position[shape] + (signs * half) @ rotation.matrix(shapes.quat[shape]).T


def without_strays(corners: np.ndarray) -> tuple[np.ndarray, np.ndarray, bool]:
    """Return corners with not-a-number for strays, the middle (t, 3) of most, and whether that travels far."""
    with np.errstate(invalid="ignore"):
        middle = np.nanmedian(corners, axis=1)
        away = np.linalg.norm(corners - middle[:, None], axis=2)
    if not np.isfinite(away).any():
        return corners, np.zeros((len(corners), 3)), False
    reach = np.nanpercentile(away, 85)
    kept = np.where((away > STRAY * reach)[..., None], np.nan, corners)
    drift = np.linalg.norm(np.nanmax(middle, axis=0) - np.nanmin(middle, axis=0))
    return kept, middle, bool(drift > FAR_TRAVEL * 2 * reach)


def direction(corners: np.ndarray) -> tuple[float, float]:
    """Return azimuth and elevation that look across the motion rather than along it.

    The view is square to the plane in which the motion is widest, turned aside a little so that
    depth is seen.
    """
    points = corners.reshape(-1, 3)
    points = points[np.isfinite(points).all(axis=1)]
    if len(points) < 2:
        return np.deg2rad(-65), np.deg2rad(12)
    _, axes = np.linalg.eigh(np.cov(points.T))
    normal = axes[:, 0]
    if abs(normal[2]) > 0.8:  # it lies flat: look down on it
        normal, elevation = np.cross(axes[:, 2], [0, 0, 1.0]), np.deg2rad(50)
    else:
        elevation = np.deg2rad(12)
    # Figures look along x: seen from the side they go to the right, else they are seen from the front.
    if normal[1] > 0 if abs(normal[1]) >= abs(normal[0]) else normal[0] < 0:
        normal = -normal
    return float(np.arctan2(normal[1], normal[0]) + np.deg2rad(25)), float(elevation)


def family(motion: Motion, body: int) -> list[int]:
    """Return the bodies of the same figure (same prefix of the name) as `body`; all where it has no prefix.

    body : index; -1: the world, which has none
    """
    prefix = "" if body < 0 else motion.body_names[body].rpartition(".")[0]
    return [k for k, name in enumerate(motion.body_names) if not prefix or name.startswith(prefix + ".")]


def follow(motion: Motion, name: str, speed: float) -> tuple[np.ndarray, np.ndarray]:
    """Return times (k,) and the smoothed position (k, 3) of a body's centre of mass, or of a point."""
    path = motion.path(f"{name}.com" if name in motion.body_names else name)
    return smooth(motion.times, path, speed)


def smooth(times: np.ndarray, path: np.ndarray, speed: float) -> tuple[np.ndarray, np.ndarray]:
    """Return times (k,), evenly spaced, and `path` (n, 3) there, smoothed by a Gaussian over time."""
    if times[-1] <= times[0]:
        return times[:1], path[:1]
    step = 0.04 * SMOOTHING * speed
    even = np.linspace(times[0], times[-1], max(2, round((times[-1] - times[0]) / step) + 1))
    raw = np.stack([np.interp(even, times, path[:, k]) for k in range(3)], axis=1)
    width = (even[1] - even[0]) / (SMOOTHING * speed)
    reach = int(np.ceil(3 / width))
    kernel = np.exp(-0.5 * (width * np.arange(-reach, reach + 1)) ** 2)
    kernel /= kernel.sum()
    # Reflecting through the end points keeps the velocity there, so the camera neither lags nor jumps.
    before = 2 * raw[0] - raw[np.minimum(np.arange(reach, 0, -1), len(raw) - 1)]
    after = 2 * raw[-1] - raw[np.maximum(len(raw) - 1 - np.arange(1, reach + 1), 0)]
    padded = np.concatenate([before, raw, after])
    return even, np.stack([np.convolve(padded[:, k], kernel, mode="valid") for k in range(3)], axis=1)


VIEWS = {  # azimuth and elevation in degrees
    "front": (0, 5), "back": (180, 5), "left": (90, 5), "right": (-90, 5), "side": (-90, 5),
    "top": (-90, 89), "corner": (-50, 20),
}  # fmt: skip


def parse(text: str) -> dict[str, Any]:
    """Read the text of an option: ``front``, ``side``, ``top`` or ``azimuth=60,elevation=10,follow=monkey.torso``.

    Angles are in degrees here, since a person types them; ``target=0/0/1`` and ``distance=4`` in m.
    """
    wishes: dict[str, Any] = {}
    for word in filter(None, (part.strip() for part in text.split(","))):
        key, equals, value = (part.strip() for part in word.partition("="))
        if not equals and key in VIEWS:
            wishes["azimuth"], wishes["elevation"] = (float(a) for a in np.deg2rad(VIEWS[key]))
        elif key == "follow" and value:
            wishes["follow"] = value
        elif key in ("target", "distance", "azimuth", "elevation", "fov") and value:
            wishes[key] = _number(key, value)
        else:
            keys = "follow=BODY or BODY.POINT, target=X/Y/Z, distance=M, azimuth=DEG, elevation=DEG, fov=DEG"
            raise RenderError(f"camera: {word!r} is not one of {', '.join(VIEWS)}, {keys}")
    return wishes


def _number(key: str, value: str) -> Any:
    try:
        if key == "target":
            x, y, z = (float(part) for part in value.split("/"))
            return [x, y, z]
        number = float(value.removesuffix("deg").removesuffix("m").strip())
    except ValueError:
        form = "three numbers, target=0/0/1" if key == "target" else f"a number, {key}=4"
        raise RenderError(f"camera: {key}={value}: expected {form}") from None
    return number if key == "distance" else float(np.deg2rad(number))
