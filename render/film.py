"""Pictures, strips and films of a recording; pictures of a drawing."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from render import camera as cameras
from render import labels
from render.camera import CameraPath
from render.encode import Encoder, palette_of, save_picture, whole
from render.palette import rgb
from render.stage import Look, Stage
from render.view import Event, Motion, RenderError, captions, frame_times

Progress = Callable[[int, int], None]
Size = tuple[int, int]

SIZE = (1280, 720)
FPS = 30.0
GIF_WIDTH = 640  # pixels; a larger gif is rarely wanted and never small
GIF_FPS = 20.0
STRIP_WIDTH = 1920  # pixels
STRIP_FRAMES = 8
SQUARES = (0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0)  # m, widths of a square of the paper behind


@dataclass(frozen=True)
class Shot:
    """A stage with its camera: pictures of one motion at any time."""

    motion: Motion
    stage: Stage
    path: CameraPath
    speed: float
    captioned: bool

    @staticmethod
    def of(motion: Motion, size: Size, *, camera: Mapping[str, Any] | None = None, quality: int = 2) -> Shot:
        """Prepare pictures of a motion as its render settings say; `camera` overrides them key by key."""
        settings = motion.settings
        speed = float(settings.get("speed") or 1.0)
        wishes = {**(settings.get("camera") or {}), **{k: v for k, v in (camera or {}).items() if v is not None}}
        path = cameras.plan(motion, wishes, aspect=size[0] / size[1], speed=speed)
        stage = Stage(motion, size, look=look_of(motion, path), quality=quality)
        captioned = settings.get("captions")
        return Shot(motion, stage, path, speed, captioned is None or bool(captioned))

    def bare(self, time: float) -> np.ndarray:
        """Return the picture at a time, without words."""
        motion = self.motion
        return self.stage.draw(
            motion.poses(time), self.path.at(time), motion.forces(time), motion.touching(time), motion.trails(time)
        )

    def picture(self, time: float) -> np.ndarray:
        """Return the picture of a film at a time, with name, time and the captions of what just happened."""
        picture = self.bare(time)
        shown: list[tuple[Event, float]] = []
        if self.captioned:
            recent = captions(self.motion.events, time, since=time - labels.SHOWN * self.speed)
            shown = [(event, labels.opacity(age / self.speed)) for event, age in recent]
        still = len(self.motion.times) == 1 and not self.motion.events
        labels.annotate(picture, None if still else time, self.motion.name, shown, self.stage.look.scale)
        return picture


def look_of(motion: Motion, path: CameraPath) -> Look:
    """Return the stage of a motion: its background, its ground if it asked for one, else a wall of squared paper.

    No ground is drawn that bodies fall through, and no wall where planes of the scene carry the squares.
    The upright sheet behind everything shows scale and, when the camera follows, how the bodies travel.
    """
    settings = motion.settings
    width = 2 * path.distance * np.tan(0.5 * path.fov)
    cell = next((c for c in SQUARES if c >= width / 10), SQUARES[-1])
    background = background_of(settings.get("background"))
    corners, _, _ = cameras.without_strays(cameras.outline(motion, motion.sample_times(cameras.FIT_INSTANTS)))
    corners = corners[np.isfinite(corners).all(axis=2)]
    ground = settings.get("ground")
    if ground is not None and ground is not False:
        lowest = float(corners[:, 2].min()) if len(corners) else 0.0
        return Look(background=background, ground=lowest if ground is True else float(ground), cell=cell)
    if "plane" in motion.shapes.kind:
        return Look(background=background, floor=True, cell=cell)
    looks_down = abs(path.elevation) > np.deg2rad(40)
    wall = None if looks_down or not len(corners) else wall_behind(corners, path.at(motion.start), cell)
    return Look(background=background, wall=wall, cell=cell)


def background_of(value: Any) -> tuple[tuple[float, float, float], tuple[float, float, float]]:
    """Return top and bottom colours from `#rrggbb` or [r, g, b(, opacity)]; None: the soft default."""
    if value is None or (not isinstance(value, str) and not np.isfinite(value[0])):
        return Look().background
    color = rgb(value) if isinstance(value, str) else tuple(float(c) for c in value[:3])
    return color, color  # type: ignore[return-value]


def wall_behind(corners: np.ndarray, camera: cameras.Camera, cell: float) -> np.ndarray:
    """Return the upright plane (n, d), square to x or y, behind all `corners` (k, 3)."""
    axis = int(np.argmax(np.abs(camera.backward[:2])))
    normal = np.zeros(3)
    normal[axis] = np.sign(camera.backward[axis])
    return np.append(normal, (corners @ normal).min() - 0.5 * cell)


def render_recording(
    recording: str | Path,
    out: str | Path,
    *,
    time: float | None = None,
    size: Size | None = None,
    fps: float | None = None,
    camera: Mapping[str, Any] | None = None,
    frames: int | None = None,
    contacts: bool = False,
    trails: Sequence[str] = (),
    progress: Progress | None = None,
) -> Path:
    """Make a film (.mp4, .gif), a picture (.png with `time`) or a strip (.png) of a recording.

    Parameters
    ----------
    recording : str or Path
        File of the recording.
    out : str or Path
        File to write; its suffix says what.
    time : float
        Instant of a picture, s.
    size : (int, int)
        Width and height in pixels; for a strip, of the whole picture.
    fps : float
        Pictures in a second of film.
    camera : mapping
        Overrides keys of the recording's camera (follow, target, distance, azimuth, elevation, fov).
    frames : int
        Number of pictures in a strip.
    contacts : bool
        Draw points of contact over all else, and the forces there.
    trails : sequence of str
        Bodies and points that leave a trail, besides those of the recording's `render:` block.
    progress : callable
        Called with (pictures done, pictures in all).

    What is None comes from the recording's `render:` block.  Raises RenderError with a sentence.
    """
    out = Path(out)
    kind = out.suffix.lower()
    if kind not in (".mp4", ".gif", ".png"):
        raise RenderError(f"{out}: a picture ends in .png, a film in .mp4 or .gif")
    motion = Motion.from_recording(recording, contacts=contacts)
    if trails:
        both = dict.fromkeys([*(motion.settings.get("trails") or ()), *trails])
        motion = replace(motion, settings={**motion.settings, "trails": tuple(both)})
    if kind == ".png" and time is None:
        return strip(motion, out, frames=frames or STRIP_FRAMES, size=size, camera=camera, progress=progress)
    if kind == ".png":
        return picture(motion, out, time=time, size=size, camera=camera)
    if time is not None or frames is not None:
        raise RenderError(f"{out}: a film has neither one time nor a number of pictures; those are for .png")
    return film(motion, out, size=size, fps=fps, camera=camera, progress=progress)


def render_drawing(
    motion: Motion, out: str | Path, *, size: Size | None = None, camera: Mapping[str, Any] | None = None
) -> Path:
    """Make a picture (.png) of a drawing, a motion of one instant."""
    if Path(out).suffix.lower() != ".png":
        raise RenderError(f"{out}: a scene that has not run is drawn as a picture, .png; run it to film it")
    return picture(motion, out, time=motion.start, size=size, camera=camera)


def picture(
    motion: Motion,
    out: str | Path,
    *,
    time: float | None,
    size: Size | None = None,
    camera: Mapping[str, Any] | None = None,
) -> Path:
    """Write the picture at one time; raise RenderError when the motion has no such time."""
    time = motion.start if time is None else time
    if not motion.start - 1e-9 <= time <= motion.end + 1e-9:
        raise RenderError(f"time {time:g} s: the recording goes from {motion.start:g} s to {motion.end:g} s")
    shot = Shot.of(motion, checked_size(motion, size), camera=camera)
    save_picture(shot.picture(time), Path(out))
    return Path(out)


def film(
    motion: Motion,
    out: str | Path,
    *,
    size: Size | None = None,
    fps: float | None = None,
    camera: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
    quality: int = 2,
) -> Path:
    """Write a film of the whole motion, .mp4 or .gif by the suffix of `out`."""
    out = Path(out)
    moving = out.suffix.lower() == ".gif"
    size, fps = (
        (gif_size(motion, size), gif_fps(motion, fps)) if moving else (even_size(motion, size), film_fps(motion, fps))
    )
    shot = Shot.of(motion, size, camera=camera, quality=quality)
    times = frame_times(motion.start, motion.end, fps=fps, speed=shot.speed)
    with whole(out, suffix=".mp4") as part:
        samples = times[np.linspace(0, len(times) - 1, min(6, len(times))).astype(int)]
        colors = palette_of([shot.picture(t) for t in samples]) if moving else None
        with Encoder(part, size, fps, colors) as encoder:
            for done, time in enumerate(times, start=1):
                encoder.add(shot.picture(time))
                if progress is not None:
                    progress(done, len(times))
    return out


def checked_size(motion: Motion, size: Size | None) -> Size:
    """Return the size of a picture: `size`, else the recording's, else 1280 x 720."""
    width, height = (int(side) for side in (size or motion.settings.get("size") or SIZE))
    if not (16 <= width <= 8192 and 16 <= height <= 8192):
        raise RenderError(f"size {width}x{height}: each side has from 16 to 8192 pixels")
    return width, height


def even_size(motion: Motion, size: Size | None) -> Size:
    """Return the size of an mp4; raise RenderError when a side is odd, which its colours cannot hold."""
    width, height = checked_size(motion, size)
    if width % 2 or height % 2:
        even = f"{width + width % 2}x{height + height % 2}"
        raise RenderError(f"size {width}x{height}: both sides of an mp4 are even numbers; take {even}")
    return width, height


def gif_size(motion: Motion, size: Size | None) -> Size:
    """Return the size of a gif: as asked, else that of the film, at most 640 wide."""
    width, height = checked_size(motion, size)
    if size is None and width > GIF_WIDTH:
        return GIF_WIDTH, round(height * GIF_WIDTH / width)
    return width, height


def film_fps(motion: Motion, fps: float | None) -> float:
    """Return the pictures per second: `fps`, else the recording's, else 30."""
    fps = float(fps or motion.settings.get("fps") or FPS)
    if not 0.1 <= fps <= 1000:
        raise RenderError(f"{fps:g} pictures per second: expected 0.1 to 1000")
    return fps


def gif_fps(motion: Motion, fps: float | None) -> float:
    """Return the pictures per second of a gif: as asked, else that of the film, at most 20."""
    return film_fps(motion, fps) if fps else min(GIF_FPS, film_fps(motion, None))


def strip(
    motion: Motion,
    out: str | Path,
    *,
    frames: int = STRIP_FRAMES,
    size: Size | None = None,
    camera: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
) -> Path:
    """Write the motion as one picture of `frames` instants in a grid, each with its time and what happened.

    size : of the whole picture; None: 1920 wide, cells of the shape that the film has
    """
    if not 1 <= frames <= 100:
        raise RenderError(f"{frames} pictures in a strip: expected 1 to 100")
    columns, rows = grid(frames)
    film_width, film_height = checked_size(motion, None)
    width = size[0] if size else STRIP_WIDTH
    gap = max(2, width // 320)
    cell_width = (width - gap * (columns - 1)) // columns
    title = round(0.035 * width)
    aspect = min(film_height / film_width, 0.75)
    cell_height = (size[1] - title - gap * (rows - 1)) // rows if size else round(cell_width * aspect)
    if cell_width < 64 or cell_height < 48:
        raise RenderError(f"size: {frames} pictures do not fit into {width}x{size[1] if size else 0} pixels")
    shot = Shot.of(motion, (cell_width, cell_height), camera=camera)
    height = title + rows * cell_height + (rows - 1) * gap
    page = np.full((height, cell_width * columns + gap * (columns - 1), 3), 255, np.uint8)
    times = strip_times(motion, frames)
    for k, time in enumerate(times):
        top = title + (k // columns) * (cell_height + gap)
        left = (k % columns) * (cell_width + gap)
        cell = _cell(shot, time, previous=times[k - 1] if k else -np.inf)
        page[top : top + cell_height, left : left + cell_width] = cell
        if progress is not None:
            progress(k + 1, len(times))
    words = f"{motion.name}   {motion.start:g} to {motion.end:g} s" if len(times) > 1 else motion.name
    labels.write(page, words, (gap, 0.2 * title), round(0.5 * title), color=labels.INK)
    save_picture(page, Path(out))
    return Path(out)


def grid(frames: int) -> tuple[int, int]:
    """Return columns and rows of a strip: about twice as many columns as rows, no empty row."""
    columns = min(frames, max(1, round(np.sqrt(2.0 * frames))))
    return columns, -(-frames // columns)


def strip_times(motion: Motion, frames: int) -> Sequence[float]:
    """Return instants spread evenly, each moved to just after an event with words where one is near.

    Both ends of the motion stay, and an event that no instant was moved to is told in the next cell.
    """
    times = np.linspace(motion.start, motion.end, frames)
    step = times[1] - times[0] if frames > 1 else 0.0
    taken: set[int] = set()
    for event in motion.events:
        wanted = event.time + 0.1 * step
        free = [k for k in range(1, frames - 1) if k not in taken and abs(times[k] - wanted) <= 0.6 * step]
        if event.words and free:
            k = min(free, key=lambda k: abs(times[k] - wanted))
            times[k] = wanted
            taken.add(k)
    return np.sort(times).tolist()


def _cell(shot: Shot, time: float, previous: float) -> np.ndarray:
    """Return one picture of a strip: its time, and the captions since the previous one."""
    cell = shot.bare(time)
    height, width = cell.shape[:2]
    size = max(11, round(height / 18))
    edge = size // 2
    labels.write(cell, f"{time:.2f} s", (edge, edge), size, color=labels.INK, bold=True)
    told = captions(shot.motion.events, time, since=previous) if shot.captioned else []
    for above, (event, _) in enumerate(reversed(told[-4:])):
        words = labels.shorten(event.words, size, 0.9 * width, bold=True)
        place = (0.5 * width, height - edge - (above + 1) * 1.75 * size)
        labels.write(cell, words, place, size, bold=True, middle=True, panel=True)
    return cell
