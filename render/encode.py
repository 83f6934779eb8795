"""Files that are whole or not there: pictures and films, written by imageio."""

from __future__ import annotations

import contextlib
import errno
import logging
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any

import imageio.v2 as imageio
import numpy as np
from PIL import Image

from render.view import RenderError
from sim.recording.drafts import Folder, replacing, tidy

# What it would say of a broken pipe is said by this module, in a sentence.
logging.getLogger("imageio_ffmpeg").addHandler(logging.NullHandler())

BT709 = ["-colorspace", "bt709", "-color_primaries", "bt709", "-color_trc", "bt709"]
H264 = ["-f", "mp4", "-vf", "scale=out_color_matrix=bt709", "-preset", "veryfast", "-crf", "18", *BT709]
H264 += ["-movflags", "+faststart"]
PALETTE = 16  # pixels, the sides of a picture of 256 colours
# The first picture that comes holds the colours in its corner, the others are those of the film.
GIF = ["-f", "gif", "-loop", "0", "-lavfi", (
    f"split[a][b];[a]trim=end_frame=1,crop={PALETTE}:{PALETTE}:0:0[colors];"
    "[b]trim=start_frame=1,setpts=PTS-STARTPTS[film];[film][colors]paletteuse=dither=none:diff_mode=rectangle"
)]  # fmt: skip


@contextlib.contextmanager
def whole(path: Path, suffix: str | None = None) -> Iterator[Path]:
    """Give a temporary name beside `path`; rename it to `path` at the end, or delete it if anything fails.

    suffix : how the temporary name ends; None: as `path` does
    """
    tidy(path.parent)
    try:
        with replacing(path, path.suffix if suffix is None else suffix) as part:
            yield part
    except OSError as error:
        raise RenderError(cannot_write(path, error)) from error


def cannot_write(path: Path, error: OSError) -> str:
    """Return the sentence for a file that cannot be written."""
    if error.errno == errno.ENOSPC:
        return f"{path}: cannot be written: the disk is full"
    if not path.parent.exists():
        return f"{path}: cannot be written: there is no folder {path.parent}"
    return f"{path}: cannot be written: {(error.strerror or str(error)).lower()}"


def save_picture(picture: np.ndarray, path: Path) -> None:
    """Write (height, width, 3) uint8 as a picture; the suffix says which kind."""
    with whole(path) as part, part.open("wb") as stream:
        imageio.imwrite(stream, picture, format=path.suffix.lower())


def palette_of(pictures: list[np.ndarray]) -> np.ndarray:
    """Return 256 colours that serve all of `pictures`, as a picture (16, 16, 3) uint8."""
    together = Image.fromarray(np.concatenate(pictures)).quantize(
        256, method=Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE
    )
    entries = np.array(together.getpalette("RGB"), np.uint8).reshape(-1, 3)
    entries = np.concatenate([entries, np.repeat(entries[-1:], 256 - len(entries), axis=0)])
    return entries.reshape(PALETTE, PALETTE, 3)


class Encoder:
    """Turns pictures into a film, one by one, so that memory does not grow with its length.

    Parameters
    ----------
    path : Path
        Ends in .mp4 whatever the film is: imageio goes by the name, what is written by `palette`.
    size : (int, int)
        Width and height of the pictures; both sides of an mp4 are even, as its colours are kept for two by two pixels.
    fps : float
        Pictures per second.
    palette : (16, 16, 3) uint8, optional
        Colours from `palette_of`: the film is a gif.  Without, it is an mp4: H.264, yuv420p.

    Raises
    ------
    RenderError
        There is no ffmpeg.
    OSError
        Of `add` and the end of `with`: the film cannot be written.
    """

    def __init__(self, path: Path, size: tuple[int, int], fps: float, palette: np.ndarray | None = None):
        need_ffmpeg()
        self.path = path
        self._folder = Folder()
        self._log, self._progress = (self._folder.path / name for name in ("log", "progress"))
        coding: dict[str, Any] = {"codec": "libx264", "pixelformat": "yuv420p", "macro_block_size": 2}
        if palette is not None:
            coding = {"codec": "gif", "pixelformat": "pal8", "macro_block_size": 1}
        self._writer = imageio.get_writer(
            path.resolve(), format="FFMPEG", mode="I", fps=fps, quality=None, ffmpeg_log_level="quiet", **coding,
            output_params=["-progress", str(self._progress), *(H264 if palette is None else GIF)],
        )  # fmt: skip
        if palette is not None:
            first = np.zeros((size[1], size[0], 3), np.uint8)
            first[:PALETTE, :PALETTE] = palette
            self.add(first)

    def add(self, picture: np.ndarray) -> None:
        """Append one picture (height, width, 3) uint8."""
        # ffmpeg starts with the first picture, and writes what is wrong to the file that this variable names.
        try:
            with _environment("FFREPORT", f"file={_escaped(self._log)}:level=16"):
                self._writer.append_data(picture)
        except OSError as error:
            raise self._failure() from error

    def __enter__(self) -> Encoder:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self._writer.close()
            if kind is None and not self._came_to_its_end():
                raise self._failure()
        finally:
            self._folder.delete()

    def _came_to_its_end(self) -> bool:
        """Tell whether the film is whole: imageio does not tell how ffmpeg ended, so ffmpeg has to say it."""
        said = self._progress.read_text() if self._progress.exists() else ""
        return said.endswith("progress=end\n") and not self._words()

    def _failure(self) -> OSError:
        """Return what keeps the film from being written: what the system says, else the last words of ffmpeg."""
        try:
            with self.path.open("ab") as stream:
                stream.write(bytes(1 << 16))
        except OSError as error:
            return error
        words = self._words()
        if any("No space left" in word for word in words):
            return OSError(errno.ENOSPC, "No space left on device")
        return OSError(errno.EIO, words[-1].strip() if words else "ffmpeg ended before the film did")

    def _words(self) -> list[str]:
        """Return the errors that ffmpeg wrote, which stand below its command."""
        return self._log.read_text(errors="replace").splitlines()[2:] if self._log.exists() else []


def need_ffmpeg() -> None:
    """Raise RenderError where there is no ffmpeg."""
    import imageio_ffmpeg

    try:
        program = imageio_ffmpeg.get_ffmpeg_exe()
    except RuntimeError as error:
        raise RenderError(
            "films need ffmpeg, which imageio-ffmpeg did not bring: pip install imageio-ffmpeg"
        ) from error
    if shutil.which(program) is None:
        raise RenderError(f"films need ffmpeg, but IMAGEIO_FFMPEG_EXE names {program}, which is no program")


@contextlib.contextmanager
def _environment(name: str, value: str) -> Iterator[None]:
    """Set a variable of the environment for a while."""
    before = os.environ.get(name)
    os.environ[name] = value
    try:
        yield
    finally:
        del os.environ[name]
        if before is not None:
            os.environ[name] = before


def _escaped(path: Path) -> str:
    """Return a path as options of ffmpeg hold it, where colons and quotes part and group words."""
    return "".join("\\" + letter if letter in "\\':" else letter for letter in str(path))
