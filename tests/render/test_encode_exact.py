"""How films and pictures are written: what the encoder is told, and every way in which it can end."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from render import encode
from render.encode import Encoder
from render.view import RenderError

pytestmark = pytest.mark.fast


@pytest.fixture
def ffmpeg(monkeypatch, tmp_path):
    """An ffmpeg that notes what it is told; `said` and `log` are what it leaves behind."""
    noted = SimpleNamespace(pictures=[], reports=[], said="frame=1\nprogress=end\n", log="", fails=False)

    class Writer:
        def append_data(self, picture):
            noted.reports.append(os.environ["FFREPORT"])
            if noted.fails:
                raise OSError("broken pipe")
            noted.pictures.append(np.array(picture))

        def close(self):
            noted.closed = True
            if noted.said:
                noted.encoder._progress.write_text(noted.said)
            if noted.log:
                noted.encoder._log.write_text(noted.log)

    def get_writer(path, **options):
        noted.path, noted.options = path, options
        return Writer()

    monkeypatch.setattr(encode.imageio, "get_writer", get_writer)
    monkeypatch.setattr(encode, "need_ffmpeg", lambda: None)
    monkeypatch.chdir(tmp_path)

    def make(palette=None):
        noted.encoder = Encoder(Path("x.mp4"), (64, 48), 23.976, palette)
        return noted.encoder

    noted.make = make
    return noted


def test_an_mp4_is_h264_with_the_colours_of_television(ffmpeg, tmp_path):
    picture = np.arange(64 * 48 * 3, dtype=np.uint8).reshape(48, 64, 3)
    with ffmpeg.make() as encoder:
        encoder.add(picture)
    bt709 = ["-colorspace", "bt709", "-color_primaries", "bt709", "-color_trc", "bt709"]
    assert ffmpeg.path == tmp_path / "x.mp4" and ffmpeg.closed
    assert ffmpeg.options == {
        "format": "FFMPEG",
        "mode": "I",
        "fps": 23.976,
        "quality": None,
        "ffmpeg_log_level": "quiet",
        "codec": "libx264",
        "pixelformat": "yuv420p",
        "macro_block_size": 2,
        "output_params": [
            "-progress",
            str(encoder._progress),
            "-f",
            "mp4",
            "-vf",
            "scale=out_color_matrix=bt709",
            "-preset",
            "veryfast",
            "-crf",
            "18",
            *bt709,
            "-movflags",
            "+faststart",
        ],
    }
    assert len(ffmpeg.pictures) == 1 and np.array_equal(ffmpeg.pictures[0], picture)
    assert ffmpeg.reports == [f"file={encoder._log}:level=16"] and "FFREPORT" not in os.environ
    assert not encoder._log.parent.exists()


def test_a_gif_begins_with_its_colours(ffmpeg):
    colors = np.random.default_rng(1).integers(0, 255, (16, 16, 3)).astype(np.uint8)
    with ffmpeg.make(colors):
        pass
    (first,) = ffmpeg.pictures
    assert first.shape == (48, 64, 3) and np.array_equal(first[:16, :16], colors)
    assert not first[16:].any() and not first[:, 16:].any()
    options = ffmpeg.options
    assert (options["codec"], options["pixelformat"], options["macro_block_size"]) == ("gif", "pal8", 1)
    kind, loop, graph = options["output_params"][2:4], options["output_params"][4:6], options["output_params"][7]
    assert kind == ["-f", "gif"] and loop == ["-loop", "0"] and "crop=16:16:0:0[colors]" in graph


def test_256_colours_serve_all_pictures():
    few = np.zeros((20, 30, 3), np.uint8)
    few[:10], few[10:, :15], few[10:, 15:] = [200, 30, 60], [10, 20, 240], [90, 90, 90]
    found = encode.palette_of([few[:, :15], few[:, 15:]])
    assert found.shape == (16, 16, 3) and found.dtype == np.uint8
    colors = found.reshape(-1, 3)
    assert {(200, 30, 60), (10, 20, 240), (90, 90, 90)} <= {tuple(c) for c in colors.tolist()}
    many = np.random.default_rng(2).integers(0, 255, (40, 40, 3)).astype(np.uint8)
    assert len({tuple(c) for c in encode.palette_of([many]).reshape(-1, 3).tolist()}) > 200


@pytest.mark.parametrize(
    ("said", "log", "words"),
    [
        ("frame=1\nprogress=end\n", "a\nb\n", None),
        ("frame=1\nprogress=continue\n", "", "ffmpeg ended before the film did"),
        ("", "", "ffmpeg ended before the film did"),
        ("progress=end\n", "a\nb\nc\n no codec \n", "no codec"),
        ("", "a\nb\nNo space left on device\nlater\n", "No space left on device"),
    ],
)
def test_a_film_is_whole_when_ffmpeg_says_so(ffmpeg, said, log, words):
    ffmpeg.said, ffmpeg.log = said, log
    if words is None:
        with ffmpeg.make():
            pass
        return
    with pytest.raises(OSError) as caught, ffmpeg.make():
        pass
    assert caught.value.strerror == words
    assert caught.value.errno == (errno.ENOSPC if "space" in words else errno.EIO)
    assert not ffmpeg.encoder._log.parent.exists()


def test_a_picture_that_cannot_be_added_ends_the_film(ffmpeg, monkeypatch):
    ffmpeg.fails = True
    with pytest.raises(OSError, match="ffmpeg ended before the film did") as caught, ffmpeg.make() as encoder:
        encoder.add(np.zeros((48, 64, 3), np.uint8))
    assert str(caught.value.__cause__) == "broken pipe" and Path("x.mp4").stat().st_size == 1 << 16
    assert "FFREPORT" not in os.environ
    ffmpeg.fails, ffmpeg.said = False, ""
    with pytest.raises(ZeroDivisionError), ffmpeg.make():  # what went wrong before stays what went wrong
        raise ZeroDivisionError
    Path("x.mp4").unlink()
    Path("x.mp4").mkdir()
    with pytest.raises(IsADirectoryError), ffmpeg.make():
        pass


def test_variables_of_the_environment_come_back(monkeypatch):
    monkeypatch.setenv("FFREPORT", "mine")
    with pytest.raises(ZeroDivisionError), encode._environment("FFREPORT", "ours"):
        assert os.environ["FFREPORT"] == "ours"
        raise ZeroDivisionError
    assert os.environ["FFREPORT"] == "mine"
    monkeypatch.delenv("FFREPORT")
    with encode._environment("FFREPORT", "ours"):
        pass
    assert "FFREPORT" not in os.environ
    assert encode._escaped(Path("a:b/c'd\\e")) == "a\\:b/c\\'d\\\\e"


@pytest.mark.parametrize(
    ("number", "text", "folder", "words"),
    [
        (errno.ENOSPC, "No space left", True, "the disk is full"),
        (errno.EACCES, "Permission denied", True, "permission denied"),
        (errno.ENOENT, "No such file", False, "there is no folder {}"),
        (None, "Odd Thing", True, "odd thing"),
    ],
)
def test_a_file_that_cannot_be_written_is_told(tmp_path, number, text, folder, words):
    error = OSError(text) if number is None else OSError(number, text)
    path = (tmp_path if folder else tmp_path / "none") / "x.png"
    assert encode.cannot_write(path, error) == f"{path}: cannot be written: {words.format(path.parent)}"
    if folder:
        with pytest.raises(RenderError, match=r"x.png: cannot be written: ") as caught, encode.whole(path):
            raise error
        assert caught.value.__cause__ is error and list(tmp_path.iterdir()) == []


def test_a_file_is_whole_or_not_there(tmp_path):
    out = tmp_path / "x.gif"
    for suffix, expected in ((None, ".gif"), (".mp4", ".mp4")):
        with encode.whole(out, suffix) as part:
            assert part.suffix == expected and part.parent == tmp_path and not out.exists()
            part.write_text("all")
        assert out.read_text() == "all" and [p.name for p in tmp_path.iterdir()] == ["x.gif"]
        out.unlink()


def test_pictures_are_written_as_their_suffix_says(tmp_path):
    from PIL import Image

    picture = np.random.default_rng(3).integers(0, 255, (12, 17, 3)).astype(np.uint8)
    encode.save_picture(picture, tmp_path / "x.PNG")
    with Image.open(tmp_path / "x.PNG") as image:
        assert image.format == "PNG" and np.array_equal(np.asarray(image), picture)


@pytest.mark.parametrize("there", [True, False])
def test_ffmpeg_is_found_or_told(monkeypatch, there):
    import imageio_ffmpeg

    monkeypatch.setattr(imageio_ffmpeg, "get_ffmpeg_exe", lambda: "/bin/ffmpeg")
    monkeypatch.setattr(encode.shutil, "which", lambda name: name if there else None)
    if there:
        encode.need_ffmpeg()

        def absent():
            raise RuntimeError("none")

        monkeypatch.setattr(imageio_ffmpeg, "get_ffmpeg_exe", absent)
        with pytest.raises(RenderError, match="films need ffmpeg, which imageio-ffmpeg did not bring: pip install"):
            encode.need_ffmpeg()
    else:
        with pytest.raises(RenderError, match="IMAGEIO_FFMPEG_EXE names /bin/ffmpeg, which is no program"):
            encode.need_ffmpeg()
