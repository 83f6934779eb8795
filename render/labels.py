"""Words in a picture: the time, the name of the scene, captions of events; drawn by Pillow."""

from __future__ import annotations

import functools
import importlib.util
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from render.view import Event
from sim.scene.shown import one_line

INK = (38, 43, 51)
FAINT = (104, 112, 122)
PAPER = (255, 255, 255)
SHOWN = 2.5  # s of film that a caption stays
FADE = 0.25  # s of film in which it comes and goes
MOST = 3  # captions at a time


@functools.lru_cache(maxsize=32)
def font(size: int, bold: bool = False) -> ImageFont.FreeTypeFont:
    """Return DejaVu Sans, which knows most alphabets, from the files of matplotlib."""
    found = importlib.util.find_spec("matplotlib")
    name = "DejaVuSans-Bold.ttf" if bold else "DejaVuSans.ttf"
    path = Path(str(found.origin)).parent / "mpl-data/fonts/ttf" / name if found else Path(name)
    try:
        return ImageFont.truetype(str(path), size)
    except OSError:
        default = ImageFont.load_default(size)
        assert isinstance(default, ImageFont.FreeTypeFont)
        return default


@functools.lru_cache(maxsize=256)
def _mask(text: str, size: int, bold: bool) -> np.ndarray:
    """Return how much of each pixel the text covers, (height, width) in [0, 1]; all lines of one height."""
    face = font(size, bold)
    ascent, descent = face.getmetrics()
    image = Image.new("L", (max(1, round(face.getlength(text))) + 2, ascent + descent))
    ImageDraw.Draw(image).text((1, 0), text, fill=255, font=face)
    return np.asarray(image, np.float32) / 255


@functools.lru_cache(maxsize=64)
def _panel(height: int, width: int) -> np.ndarray:
    """Return the mask of a panel with round corners."""
    scale = 4
    image = Image.new("L", (scale * width, scale * height))
    ImageDraw.Draw(image).rounded_rectangle(
        (0, 0, scale * width - 1, scale * height - 1), scale * height // 4, fill=255
    )
    return np.asarray(image.resize((width, height), Image.Resampling.BOX), np.float32) / 255


def _blend(
    picture: np.ndarray, mask: np.ndarray, left: int, top: int, color: tuple[int, int, int], opacity: float
) -> None:
    """Paint `color` through `mask` into the picture, in place, cutting off what lies outside."""
    height, width = picture.shape[:2]
    x, y = max(left, 0), max(top, 0)
    mask = mask[y - top : height - top, x - left : width - left, None] * opacity
    if mask.size:
        part = picture[y : y + mask.shape[0], x : x + mask.shape[1]]
        part[:] = (part + mask * (np.array(color, np.float32) - part) + 0.5).astype(np.uint8)


def write(picture: np.ndarray, text: str, place: tuple[float, float], size: int, **style: object) -> None:
    """Write one line into the picture, in place.

    place : left or middle, and top, in pixels
    style : bold, color, opacity, panel (a light panel behind), middle (place is the middle)
    """
    mask = _mask(one_line(text), size, bool(style.get("bold")))
    opacity = float(style.get("opacity", 1.0))  # type: ignore[arg-type]
    left = int(place[0] - 0.5 * mask.shape[1]) if style.get("middle") else int(place[0])
    top = int(place[1])
    if style.get("panel"):
        across, along = size // 2, size // 4
        panel = _panel(mask.shape[0] + 2 * along, mask.shape[1] + 2 * across)
        _blend(picture, panel, left - across, top - along, PAPER, 0.82 * opacity)
    _blend(picture, mask, left, top, style.get("color", INK), opacity)  # type: ignore[arg-type]


def text_size(height: int) -> int:
    """Return the size of the words for a picture of this height, in pixels."""
    return max(11, round(height / 30))


def shorten(text: str, size: int, width: float, bold: bool = False) -> str:
    """Cut a text that is wider than `width` pixels, with an ellipsis."""
    text = one_line(text)
    face = font(size, bold)
    if face.getlength(text) <= width:
        return text
    while text and face.getlength(text + "…") > width:
        text = text[:-1]
    return text.rstrip() + "…"


def annotate(
    picture: np.ndarray, time: float | None, name: str, shown: Sequence[tuple[Event, float]], scale: str = ""
) -> None:
    """Write name, time, scale and captions into a picture of a film, in place.

    time : s, None for a drawing
    shown : events with their opacity, oldest first
    scale : width of the squares behind
    """
    height, width = picture.shape[:2]
    size = text_size(height)
    edge = round(0.75 * size)
    if name:
        write(picture, shorten(name, size, 0.6 * width), (edge, edge), size, color=FAINT, panel=True)
    if time is not None:
        text = f"{time:.2f} s"
        write(picture, text, (width - edge - font(size).getlength("0" * len(text)), edge), size, panel=True)
    if scale:
        small = max(10, round(0.72 * size))
        place = (width - edge - font(small).getlength(scale), height - edge - 1.2 * small)
        write(picture, scale, place, small, color=FAINT)
    large = round(1.25 * size)
    line = round(1.9 * large)
    for above, (event, opacity) in enumerate(reversed(shown[-MOST:])):
        words = shorten(event.words, large, 0.9 * width, bold=True)
        place = (0.5 * width, height - edge - (above + 1) * line + (line - large) // 2)
        write(picture, words, place, large, bold=True, middle=True, panel=True, opacity=opacity)


def opacity(age: float) -> float:
    """Return how strongly a caption is seen, `age` seconds of film after its event."""
    return float(np.clip(min(age / FADE + 0.34, (SHOWN - age) / FADE), 0, 1))
