"""Files that are whole or not there: pictures, and films through the ffmpeg of imageio-ffmpeg."""

from __future__ import annotations

import contextlib
import errno
import os
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType

import numpy as np
from PIL import Image

from render.view import RenderError


@contextlib.contextmanager
def whole(path: Path) -> Iterator[Path]:
    """Give a temporary name beside `path`; rename it to `path` at the end, or delete it if anything fails."""
    part = path.with_name(f".{path.stem}.{os.getpid()}.part{path.suffix}")
    try:
        part.open("wb").close()  # finds out now, not after an hour, whether the folder can be written
        yield part
        os.replace(part, path)
    except OSError as error:
        raise RenderError(cannot_write(path, error)) from error
    finally:
        part.unlink(missing_ok=True)


def cannot_write(path: Path, error: OSError) -> str:
    """Return the sentence for a file that cannot be written."""
    if error.errno == errno.ENOSPC:
        return f"{path}: cannot be written: the disk is full"
    if not path.parent.exists():
        return f"{path}: cannot be written: there is no folder {path.parent}"
    return f"{path}: cannot be written: {(error.strerror or str(error)).lower()}"


def save_picture(picture: np.ndarray, path: Path) -> None:
    """Write (height, width, 3) uint8 as a picture; the suffix says which kind."""
    with whole(path) as part:
        Image.fromarray(picture).save(part)


def palette_of(pictures: list[np.ndarray]) -> Image.Image:
    """Return 256 colours that serve all of `pictures`, as a 16 x 16 picture."""
    together = Image.fromarray(np.concatenate(pictures)).quantize(
        256, method=Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE
    )
    entries = np.array(together.getpalette("RGB"), np.uint8).reshape(-1, 3)
    entries = np.concatenate([entries, np.repeat(entries[-1:], 256 - len(entries), axis=0)])
    return Image.fromarray(entries.reshape(16, 16, 3))


class Encoder:
    """Turns pictures into a film, one by one, so that memory does not grow with its length.

    path : .mp4 (H.264, yuv420p, so both sides must be even) or .gif
    palette : for a gif, from `palette_of`
    """

    def __init__(self, path: Path, size: tuple[int, int], fps: float, palette: Image.Image | None = None):
        self.path = path
        self._folder = tempfile.TemporaryDirectory(prefix="brachiate-")
        self._log = (Path(self._folder.name) / "log").open("w+b")
        width, height = size
        source = ["-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{width}x{height}", "-r", f"{fps:.6g}", "-i", "-"]
        if palette is None:
            bt709 = ["-colorspace", "bt709", "-color_primaries", "bt709", "-color_trc", "bt709"]
            coding = ["-vf", "scale=out_color_matrix=bt709", "-c:v", "libx264", "-preset", "veryfast", "-crf", "18"]
            coding += ["-pix_fmt", "yuv420p", *bt709, "-movflags", "+faststart"]
        else:
            colors = Path(self._folder.name) / "palette.png"
            palette.save(colors)
            source += ["-i", str(colors)]
            coding = ["-lavfi", "paletteuse=dither=none:diff_mode=rectangle", "-loop", "0"]
        # Its own session: Ctrl-C reaches this process only, which then ends ffmpeg in order.
        self._process = subprocess.Popen(
            [_ffmpeg(), "-y", "-loglevel", "error", *source, *coding, str(path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=self._log,
            start_new_session=True,
        )

    def add(self, picture: np.ndarray) -> None:
        """Append one picture (height, width, 3) uint8."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(np.ascontiguousarray(picture).data)
        except BrokenPipeError:
            self._finish()

    def __enter__(self) -> Encoder:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if kind is None:
                self._finish()
        finally:
            if self._process.poll() is None:
                self._process.kill()
            with contextlib.suppress(BrokenPipeError):
                if self._process.stdin is not None:
                    self._process.stdin.close()
            self._process.wait()
            self._log.close()
            self._folder.cleanup()

    def _finish(self) -> None:
        """Wait until the film is complete; raise OSError where ffmpeg could not write it."""
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()
        if self._process.wait() == 0:
            return
        self._log.seek(0)
        words = self._log.read().decode(errors="replace").strip()
        if "No space left" in words:
            raise OSError(errno.ENOSPC, "No space left on device")
        reason = words.splitlines()[-1] if words else f"ffmpeg ended with code {self._process.returncode}"
        raise OSError(errno.EIO, reason)


def _ffmpeg() -> str:
    import imageio_ffmpeg

    try:
        return imageio_ffmpeg.get_ffmpeg_exe()
    except RuntimeError as error:
        raise RenderError(
            "films need ffmpeg, which imageio-ffmpeg did not bring: pip install imageio-ffmpeg"
        ) from error
