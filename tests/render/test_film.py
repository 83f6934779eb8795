"""Files: films read back, strips and pictures, and what happens when they cannot be written."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import imageio.v2 as imageio
import imageio_ffmpeg
import numpy as np
import pytest
from PIL import Image

from render import encode, film, labels
from render.view import Event, Motion, RenderError
from tests.render.synthetic import write_recording
from tests.support.processes import SIGNALS, start

pytestmark = [pytest.mark.film, pytest.mark.usefixtures("opengl")]

_WORDS = {signal.SIGINT: "interrupted\n"}
SMALL = {"size": [160, 90], "fps": 10}


@pytest.fixture(scope="module")
def recording(tmp_path_factory):
    return write_recording(tmp_path_factory.mktemp("film") / "r.h5", settings=SMALL)


def read_back(path):
    """Return frames (n, height, width, 3) and what the file says of itself."""
    reader = imageio_ffmpeg.read_frames(str(path))
    about = next(reader)
    width, height = about["size"]
    return np.array([np.frombuffer(f, np.uint8).reshape(height, width, 3) for f in reader]), about


def left_over(folder):
    return [p.name for p in Path(folder).iterdir() if ".part" in p.name]


def test_a_film_has_the_frames_size_and_rate_of_the_scene(recording, tmp_path):
    seen = []
    out = film.render_recording(recording, tmp_path / "x.mp4", progress=lambda done, total: seen.append((done, total)))
    frames, about = read_back(out)
    assert frames.shape == (10, 90, 160, 3) and about["fps"] == 10 and about["duration"] == pytest.approx(1.0)
    assert about["codec"] == "h264" and about["pix_fmt"].startswith("yuv420p")
    assert seen == [(k, 10) for k in range(1, 11)] and left_over(tmp_path) == []


def test_options_go_before_the_recording_and_sides_need_no_multiple_of_sixteen(recording, tmp_path):
    frames, about = read_back(film.render_recording(recording, tmp_path / "x.mp4", size=(202, 118), fps=20))
    assert frames.shape == (20, 118, 202, 3) and about["fps"] == 20


def test_the_film_shows_the_motion(recording, tmp_path):
    out = film.render_recording(recording, tmp_path / "x.mp4", size=(320, 180))
    motion = Motion.from_recording(recording)
    frames, _ = read_back(out)
    shot = film.Shot.of(motion, (320, 180))
    for k in (0, 4, 9):
        assert np.abs(frames[k].astype(int) - shot.picture(k / 10)).mean() < 3  # what H.264 loses
    assert np.abs(frames[0].astype(int) - frames[9]).mean() > 1


def test_slow_motion_makes_a_longer_film(tmp_path):
    path = write_recording(tmp_path / "r.h5", settings={**SMALL, "speed": 0.5})
    frames, _ = read_back(film.render_recording(path, tmp_path / "x.mp4"))
    assert len(frames) == 20


def test_a_gif_moves_and_has_the_colours(recording, tmp_path):
    out = film.render_recording(recording, tmp_path / "x.gif")
    with Image.open(out) as gif:
        assert gif.size == (160, 90) and gif.n_frames == 10 and gif.info["duration"] == 100 and gif.info["loop"] == 0
        first = np.asarray(gif.convert("RGB")).astype(int)
    expected = film.Shot.of(Motion.from_recording(recording), (160, 90)).picture(0.0)
    assert np.abs(first - expected).mean() < 4


def test_a_picture_at_a_time(recording, tmp_path):
    out = film.render_recording(recording, tmp_path / "x.png", time=0.25, size=(201, 111))
    picture = np.asarray(Image.open(out))
    assert picture.shape == (111, 201, 3)
    assert np.array_equal(picture, film.Shot.of(Motion.from_recording(recording), (201, 111)).picture(0.25))
    with pytest.raises(RenderError, match=r"time 3 s: the recording goes from 0 s to 1 s"):
        film.render_recording(recording, tmp_path / "y.png", time=3.0)


def test_a_strip_holds_the_pictures_asked_for(recording, tmp_path):
    out = film.render_recording(recording, tmp_path / "x.png", frames=6, size=(600, 400))
    page = np.asarray(Image.open(out)).astype(int)
    assert page.shape[1] <= 600 and page.shape[0] <= 400
    assert film.grid(8) == (4, 2) and film.grid(6) == (3, 2) and film.grid(1) == (1, 1) and film.grid(3) == (2, 2)
    with pytest.raises(RenderError, match="0 pictures"):
        film.strip(Motion.from_recording(recording), out, frames=0)


def test_a_strip_looks_just_after_each_event_and_keeps_both_ends(recording):
    motion = Motion.from_recording(recording)
    events = tuple(Event(time=t, name=f"at {t}", kind="scene", caption="") for t in (3.0, 3.1))
    motion = Motion(**{**vars(motion), "times": np.array([0.0, 7.0]), "events": events})
    times = film.strip_times(motion, 8)
    assert len(times) == 8 and times[0] == 0 and times[-1] == 7 and times == sorted(times)
    assert any(3.0 < t < 3.2 for t in times)
    assert np.diff(times).max() < 2.0


def test_words_are_where_they_belong():
    blank = np.full((360, 640, 3), 255, np.uint8)
    event = Event(time=1.0, name="", kind="scene", caption="the rope tears")
    written = blank.copy()
    labels.annotate(written, 1.25, "swing", [(event, 1.0)], "squares 20 cm")
    dark = (written < 128).all(axis=2)
    assert dark[:40, :120].any() and dark[:40, -90:].any()  # name and time
    assert dark[-60:, 220:420].any() and not dark[100:280].any()  # caption; nothing over the motion
    faded = blank.copy()
    labels.annotate(faded, None, "", [(event, 0.0)])
    assert np.array_equal(faded, blank)
    assert labels.shorten("a very long caption indeed", 20, 100).endswith("…")


@pytest.mark.fast
@pytest.mark.parametrize(
    ("time", "clock"), [(0.0, "0.00 s"), (1.254, "1.25 s"), (61.5, "61.50 s"), (3600.0, "3600.00 s")]
)
def test_the_words_of_a_picture(time, clock, monkeypatch):
    """What is written, letter by letter: dark pixels would also say another number, or minutes."""
    written = []
    monkeypatch.setattr(labels, "write", lambda picture, text, *_, **__: written.append(text))
    event = Event(time=1.0, name="", kind="scene", caption="the rope tears")
    labels.annotate(np.zeros((360, 640, 3), np.uint8), time, "swing", [(event, 1.0)], "squares 20 cm")
    assert sorted(written) == sorted(["swing", clock, "squares 20 cm", "the rope tears"])


def test_captions_can_be_switched_off(tmp_path):
    pictures = []
    for name, on in (("on", True), ("off", False)):
        path = write_recording(tmp_path / f"{name}.h5", settings={"size": [320, 180], "captions": on})
        pictures.append(film.Shot.of(Motion.from_recording(path), (320, 180)).picture(0.75).astype(int))
    different = np.abs(pictures[0] - pictures[1]).max(axis=2) > 20
    assert different[140:].any() and not different[:130].any()


def test_odd_sides_wrong_kinds_and_wrong_options_are_refused(recording, tmp_path):
    for out, options, words in (
        ("x.mp4", {"size": (161, 90)}, "161x90: both sides of an mp4 are even numbers; take 162x90"),
        ("x.avi", {}, "a film in .mp4 or .gif"),
        ("x.mp4", {"time": 0.5}, "neither one time"),
        ("x.mp4", {"fps": 100000}, "pictures per second"),
        ("x.png", {"size": (2, 2), "time": 0.0}, "from 16 to 8192"),
    ):
        with pytest.raises(RenderError, match=words):
            film.render_recording(recording, tmp_path / out, **options)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(RenderError, match="run it to film it"):
        film.render_drawing(Motion.from_recording(recording), tmp_path / "x.mp4")


def test_a_drawing_is_a_picture_without_a_time(recording, tmp_path):
    motion = Motion.from_recording(recording)
    drawing = Motion.from_drawing(
        name="drawn",
        body_names=motion.body_names,
        position=motion.position[0],
        quat=motion.quat[0],
        shapes=motion.shapes,
    )
    out = film.render_drawing(drawing, tmp_path / "x.png", size=(320, 180))
    assert np.asarray(Image.open(out)).std() > 5
    assert not (film.Shot.of(drawing, (320, 180)).picture(0.0)[:25, -70:] < 100).any()  # no time in the corner


def test_a_folder_that_cannot_be_written_is_said_before_anything_is_drawn(recording, tmp_path):
    drawn = []
    with pytest.raises(RenderError, match="there is no folder"):
        film.render_recording(recording, tmp_path / "none" / "x.mp4", progress=lambda *p: drawn.append(p))
    assert drawn == []


def test_films_and_pictures_are_written_by_imageio(recording, tmp_path, monkeypatch):
    written = []

    def noted(name):
        act = getattr(imageio, name)
        monkeypatch.setattr(imageio, name, lambda *to, **how: written.append((name, how["format"])) or act(*to, **how))

    noted("get_writer"), noted("imwrite")
    for name, options in (("x.mp4", {}), ("x.gif", {}), ("x.png", {"time": 0.5}), ("strip.png", {"frames": 2})):
        film.render_recording(recording, tmp_path / name, **options)
    assert written == [("get_writer", "FFMPEG")] * 2 + [("imwrite", ".png")] * 2
    heads = {name: (tmp_path / name).read_bytes()[:12] for name in ("x.mp4", "x.gif", "x.png")}
    assert heads["x.mp4"][4:8] == b"ftyp" and heads["x.gif"][:6] == b"GIF89a" and heads["x.png"][1:4] == b"PNG"


def test_a_film_where_nothing_moves_keeps_all_its_pictures(tmp_path):
    still = np.full((48, 64, 3), 90, np.uint8)
    for colors in (None, still[:16, :16]):
        with encode.Encoder(tmp_path / "x.mp4", (64, 48), 23.976, colors) as encoder:
            for _ in range(7):
                encoder.add(still)
        assert imageio_ffmpeg.count_frames_and_secs(tmp_path / "x.mp4") == (7, pytest.approx(7 / 23.976, abs=0.02))


@pytest.mark.parametrize("name", ["x.mp4", "x.gif", "x.png"])
@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_a_full_disk_leaves_a_sentence_and_no_half_file(recording, tmp_path, name, share):
    """The limit on the size of a file stands for the full disk, met early, on the way, and at the last byte."""
    time = 0.5 if name == "x.png" else None
    sure = film.render_recording(recording, tmp_path / name, size=(320, 180), fps=60, time=time)
    most = max(1000, int(share * (sure.stat().st_size - 1)))
    sure.unlink()
    code = (
        "import resource, signal, sys\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "from render import film, stage\n"
        "from render.view import RenderError\n"
        "stage.check()\n"
        f"resource.setrlimit(resource.RLIMIT_FSIZE, ({most}, {most}))\n"
        "try:\n"
        f"    film.render_recording(sys.argv[1], sys.argv[2], size=(320, 180), fps=60, time={time})\n"
        "except RenderError as error:\n"
        "    print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(recording), str(tmp_path / name)],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == f"{tmp_path / name}: cannot be written: file too large\n" and done.stderr == ""
    assert list(tmp_path.iterdir()) == []


def test_an_ffmpeg_that_is_none_or_fails_is_said(recording, tmp_path, monkeypatch):
    program, out = tmp_path / "ffmpeg", tmp_path / "x.mp4"
    monkeypatch.setenv("IMAGEIO_FFMPEG_EXE", str(program))
    with pytest.raises(RenderError, match=r"IMAGEIO_FFMPEG_EXE names .*ffmpeg, which is no program"):
        film.render_recording(recording, out)
    odd = tmp_path / "it's a: folder"  # a name that has to reach ffmpeg as it is
    odd.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(odd))
    script = "#!/bin/sh\nf=$(echo \"$FFREPORT\" | sed 's/^file=//; s/:level=16$//; s/\\\\//g')\n"
    script += "printf 'Command line:\\nffmpeg\\nUnknown encoder\\n' > \"$f\"\nexit 1\n"
    program.write_text(script)
    program.chmod(0o755)
    with pytest.raises(RenderError, match=r"x.mp4: cannot be written: unknown encoder"):
        film.render_recording(recording, out)
    monkeypatch.delenv("IMAGEIO_FFMPEG_EXE")
    assert read_back(film.render_recording(recording, out))[1]["codec"] == "h264"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["ffmpeg", odd.name, "x.mp4"]


@pytest.mark.parametrize("number", SIGNALS)
def test_signals_leave_no_half_file_and_no_ffmpeg(recording, tmp_path, number):
    code = (
        "import sys\n"
        "from sim.cli.outcome import guarded\n"
        "from render import film\n"
        "show = lambda done, total: print(done, flush=True)\n"
        "sys.exit(guarded(lambda: film.render_recording(sys.argv[1], sys.argv[2], fps=1000, progress=show)))\n"
    )
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    process = start(
        [sys.executable, "-c", code, str(recording), str(tmp_path / "x.mp4")],
        env={**os.environ, "TMPDIR": str(temporary)},
    )
    assert process.stdout is not None and process.stdout.readline() == "1\n"
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    assert children
    process.send_signal(number)
    _, words = process.communicate(timeout=20)
    assert (process.returncode, words) == (128 + number, _WORDS.get(number, f"ended by {number.name}\n"))
    assert list(tmp_path.iterdir()) == [temporary] and list(temporary.iterdir()) == []
    deadline = time.monotonic() + 5
    while any(Path(f"/proc/{child}").exists() for child in children) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(Path(f"/proc/{child}").exists() for child in children)


def test_memory_does_not_grow_with_the_length_of_the_film(recording, tmp_path):
    page = resource.getpagesize()
    used = {}

    def watch(done, total):
        if done in (60, total):
            used[done] = int(Path("/proc/self/statm").read_text().split()[1]) * page

    film.render_recording(recording, tmp_path / "x.mp4", size=(320, 180), fps=300, progress=watch)
    assert set(used) == {60, 300}
    assert used[300] - used[60] < 8e6  # 240 pictures of 173 kB are 41 MB


def test_equal_recordings_give_equal_films(recording, tmp_path):
    films = [film.render_recording(recording, tmp_path / name).read_bytes() for name in ("a.mp4", "b.mp4")]
    assert films[0] == films[1]
