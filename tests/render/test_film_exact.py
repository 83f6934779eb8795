"""Films, strips and pictures without OpenGL: what is drawn when, and where every word and cell stands."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from PIL import Image, ImageDraw

from render import camera as cameras
from render import film, labels
from render.camera import Camera, CameraPath
from render.palette import rgb
from render.view import Event, Motion, RenderError, Shapes, captions, frame_times

pytestmark = pytest.mark.fast
PLAIN = (rgb("#f6f6f3"), rgb("#d9dee3"))


def motion_of(settings=None, end=2.0, events=(), kinds=("sphere",)) -> Motion:
    """Return one body that moves along x and rises, in `end` seconds."""
    times = np.linspace(0.5, 0.5 + end, 9) if end else np.array([0.5])
    count, n = len(kinds), len(times)
    position = np.stack([times, 0.1 * times, 0.5 * times + 1.0], axis=1)[:, None]
    shapes = Shapes(
        body=np.array([0] + [-1] * (count - 1)),
        kind=kinds,
        position=np.zeros((count, 3)),
        quat=np.tile([1.0, 0, 0, 0], (count, 1)),
        size=np.full((count, 3), 0.3),
        color=np.full((count, 4), np.nan),
    )
    return Motion(
        name="mime", times=times, body_names=("a",), position=position, quat=np.tile([1.0, 0, 0, 0], (n, 1, 1)),
        velocity=np.tile([1.0, 0.1, 0.5], (n, 1, 1)), angular_velocity=np.zeros((n, 1, 3)), com=np.zeros((1, 3)),
        shapes=shapes, settings=settings or {}, events=tuple(events),
    )  # fmt: skip


def event(time, name="e", caption="", kind="scene"):
    return Event(time=time, name=name, kind=kind, caption=caption)


@pytest.fixture
def studio(monkeypatch):
    """A stage that paints the time on each picture, and words and files that are noted."""
    noted = SimpleNamespace(stages=[], drawn=[], written=[], saved=[], encoded=[])

    class Stage:
        def __init__(self, motion, size, *, look, quality=2):
            self.size, self.look = size, look
            noted.stages.append((size, look, quality))

        def draw(self, poses, camera, forces, touching, trails):
            noted.drawn.append((poses[0][0, 0], camera, forces.shape, touching[0].shape, trails.shape))
            return np.full((self.size[1], self.size[0], 3), round(10 * poses[0][0, 0] + 1e-6), np.uint8)

    class Encoder:
        def __init__(self, part, size, fps, colors):
            self.pictures = []
            noted.encoded.append((part.suffix, size, fps, colors, self.pictures))

        def __enter__(self):
            return self

        def __exit__(self, *_):
            pass

        def add(self, picture):
            self.pictures.append(picture)

    def write(picture, text, place, size, **style):
        noted.written.append((text, place, size, style))

    monkeypatch.setattr(film, "Stage", Stage)
    monkeypatch.setattr(film, "Encoder", Encoder)
    monkeypatch.setattr(film, "palette_of", lambda pictures: [int(p[0, 0, 0]) for p in pictures])
    monkeypatch.setattr(film, "save_picture", lambda picture, path: noted.saved.append((picture, path)))
    monkeypatch.setattr(labels, "write", write)
    return noted


# --- looks ------------------------------------------------------------------------------------------


def path_of(**more) -> CameraPath:
    values = {"distance": 4.0, "azimuth": 0.7, "elevation": 0.3, "fov": 0.6, **more}
    return CameraPath(np.array([0.5]), np.array([[1.0, 2.0, 3.0]]), **values)


@pytest.mark.parametrize(
    ("distance", "cell"),
    [
        (0.8, 0.05),
        (0.9, 0.1),
        (1.6, 0.1),
        (1.7, 0.2),
        (4.0, 0.5),
        (8.0, 0.5),
        (8.1, 1.0),
        (70.0, 5.0),
        (900.0, 50.0),
        (9000.0, 50.0),
    ],
)
def test_squares_are_about_a_tenth_of_the_picture(distance, cell):
    width = 2 * distance * np.tan(0.3)
    found = film.look_of(motion_of({"ground": 0.0}), path_of(distance=distance)).cell
    steps = [0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50]
    assert found == min([c for c in steps if c >= width / 10] or [50]) and found == cell


@pytest.mark.parametrize(
    ("settings", "kinds", "elevation", "ground", "wall", "floor"),
    [
        ({"ground": 0.25}, ("sphere",), 0.3, 0.25, False, False),
        ({"ground": 0}, ("sphere", "plane"), 0.3, 0.0, False, False),
        ({"ground": True}, ("sphere",), 0.3, 0.95, False, False),
        ({"ground": False}, ("sphere",), 0.3, None, True, False),
        ({}, ("sphere",), 0.3, None, True, False),
        ({}, ("sphere", "plane"), 0.3, None, False, True),
        ({}, ("sphere",), np.deg2rad(39.9), None, True, False),
        ({}, ("sphere",), np.deg2rad(40.1), None, False, False),
        ({}, ("sphere",), np.deg2rad(-40.1), None, False, False),
    ],
)
def test_squares_are_on_the_ground_or_the_wall_or_the_planes(settings, kinds, elevation, ground, wall, floor):
    look = film.look_of(motion_of(settings, kinds=kinds), path_of(elevation=elevation))
    assert look.ground == (None if ground is None else pytest.approx(ground)) and look.floor is floor
    assert (look.wall is not None) == wall and look.background == PLAIN and look.light is None
    if wall:
        # Square to x, which the camera looks along more than along y, half a square behind the lowest corner.
        assert look.wall == pytest.approx([1.0, 0, 0, 0.5 - 0.3 - 0.25])
    assert film.look_of(motion_of({**settings, "background": "#102030"}, kinds=kinds), path_of()).background[0] == rgb(
        "#102030"
    )


@pytest.mark.parametrize(
    ("azimuth", "normal", "offset"),
    [(0.7, (1, 0, 0), 1.0), (0.9, (0, 1, 0), 2.0), (-2.5, (-1, 0, 0), -4.0), (-1.2, (0, -1, 0), -7.0)],
)
def test_a_wall_is_behind_all_corners(azimuth, normal, offset):
    corners = np.array([[1.0, 7.0, 0], [4.0, 2.0, 1], [3.0, 3.0, 9]])
    wall = film.wall_behind(corners, Camera(np.zeros(3), 2.0, azimuth, 0.1, 0.5), 0.4)
    assert wall == pytest.approx([*normal, offset - 0.2])


def test_backgrounds_are_codes_or_numbers():
    assert film.background_of(None) == film.background_of([np.nan, 0, 0, 1]) == PLAIN
    assert film.background_of("#3366ff") == ((0.2, 0.4, 1.0),) * 2
    assert film.background_of([0.1, 0.2, 0.3, 0.4]) == film.background_of((0.1, 0.2, 0.3)) == ((0.1, 0.2, 0.3),) * 2


# --- shots ------------------------------------------------------------------------------------------


def test_a_shot_is_as_the_settings_say_and_what_is_wished_goes_before(studio, monkeypatch):
    planned = []
    plan = cameras.plan
    monkeypatch.setattr(
        cameras, "plan", lambda motion, wishes, **more: planned.append((wishes, more)) or plan(motion, wishes, **more)
    )
    settings = {"speed": 0.5, "camera": {"azimuth": 0.1, "distance": 3.0}, "captions": False}
    shot = film.Shot.of(motion_of(settings), (90, 60), camera={"distance": 4.0, "fov": None}, quality=1)
    assert planned == [({"azimuth": 0.1, "distance": 4.0}, {"aspect": 1.5, "speed": 0.5})]
    assert (shot.speed, shot.captioned, shot.path.distance) == (0.5, False, 4.0)
    assert studio.stages[0][0] == (90, 60) and studio.stages[0][2] == 1
    for settings, captioned in (
        ({}, True),
        ({"captions": True}, True),
        ({"captions": None, "camera": None, "speed": None}, True),
    ):
        shot = film.Shot.of(motion_of(settings), (90, 60))
        assert shot.captioned is captioned and shot.speed == 1.0 and studio.stages[-1][2] == 2


def test_pictures_hold_what_is_there_at_their_time(studio, monkeypatch):
    told = []
    monkeypatch.setattr(labels, "annotate", lambda picture, *given: told.append(given))
    events = [event(0.5, "first"), event(1.0, "second"), event(1.4, "engine", kind="mode"), event(1.5, "third")]
    shot = film.Shot.of(motion_of({"speed": 0.5, "ground": 0.0}, events=events), (90, 60))
    picture = shot.picture(1.6)
    assert picture.shape == (60, 90, 3) and (picture == 16).all()
    (x, camera, *shapes), (time, name, shown, scale) = studio.drawn[-1], told[-1]
    assert x == pytest.approx(1.6) and shapes == [(0, 3), (0, 3), (0, 9, 3)]
    assert camera.target == pytest.approx(shot.path.at(1.6).target)
    assert (time, name, scale) == (1.6, "mime", shot.stage.look.scale) and scale.startswith("squares ")
    assert [(e.name, pytest.approx(o)) for e, o in shown] == [
        ("first", labels.opacity(2.2)),
        ("second", 1.0),
        ("third", labels.opacity(0.2)),
    ]
    shot.picture(0.5 + 1.25)
    assert [e.name for e, _ in told[-1][2]] == ["second", "third"]  # a caption stays for 2.5 s of film
    replace(shot, captioned=False).picture(1.6)
    assert told[-1] == (1.6, "mime", [], scale)
    film.Shot.of(motion_of(end=0.0), (90, 60)).picture(0.5)
    assert told[-1][0] is None
    film.Shot.of(motion_of(end=0.0, events=[event(0.5)]), (90, 60)).picture(0.5)
    assert told[-1][0] == 0.5


# --- numbers ----------------------------------------------------------------------------------------


def test_sizes_go_from_16_to_8192():
    motion = motion_of({"size": [200, 100]})
    assert film.checked_size(motion_of(), None) == (1280, 720) and film.checked_size(motion, None) == (200, 100)
    for size in ((16, 16), (8192, 16), (16, 8192), (8192, 8192)):
        assert film.checked_size(motion, size) == size
    for size in ((15, 16), (16, 15), (8193, 16), (16, 8193)):
        with pytest.raises(RenderError, match=f"size {size[0]}x{size[1]}: each side has from 16 to 8192 pixels"):
            film.checked_size(motion, size)
    for size, even in (((21, 20), "22x20"), ((20, 21), "20x22"), ((21, 21), "22x22")):
        with pytest.raises(RenderError, match=f"both sides of an mp4 are even numbers; take {even}$"):
            film.even_size(motion, size)
    assert film.even_size(motion, (22, 20)) == (22, 20)


def test_gifs_are_smaller_and_slower_unless_asked():
    wide = motion_of({"size": [1000, 501], "fps": 25})
    assert film.gif_size(wide, None) == (640, 321) and film.gif_size(wide, (1000, 700)) == (1000, 700)
    assert film.gif_size(motion_of({"size": [640, 480]}), None) == (640, 480)
    assert film.gif_size(motion_of({"size": [641, 480]}), None) == (640, 479)
    assert film.gif_fps(wide, None) == 20.0 and film.gif_fps(wide, 50) == 50.0
    assert film.gif_fps(motion_of({"fps": 12}), None) == 12.0
    assert (
        film.film_fps(motion_of(), None) == 30.0
        and film.film_fps(wide, None) == 25.0
        and film.film_fps(wide, 10) == 10.0
    )
    for fps in (0.1, 1000):
        assert film.film_fps(wide, fps) == fps
    for fps in (0.09, 1001):
        with pytest.raises(RenderError, match=f"{fps:g} pictures per second: expected 0.1 to 1000"):
            film.film_fps(wide, fps)


def test_frames_begin_at_the_start_and_are_as_many_as_fit():
    assert frame_times(0.5, 2.5, fps=4, speed=2.0).tolist() == [0.5, 1.0, 1.5, 2.0]
    assert frame_times(0.5, 0.5, fps=4).tolist() == [0.5] and len(frame_times(0.0, 1.1, fps=4)) == 4
    assert len(frame_times(0.0, 1.2, fps=4)) == 5


@pytest.mark.parametrize(
    ("frames", "grid"),
    [
        (1, (1, 1)),
        (2, (2, 1)),
        (3, (2, 2)),
        (4, (3, 2)),
        (5, (3, 2)),
        (6, (3, 2)),
        (8, (4, 2)),
        (12, (5, 3)),
        (50, (10, 5)),
        (100, (14, 8)),
    ],
)
def test_strips_are_about_twice_as_wide_as_high(frames, grid):
    assert film.grid(frames) == grid


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        ([], [0, 1, 2, 3, 4]),
        ([event(1.2)], [0, 1.3, 2, 3, 4]),
        ([event(1.55)], [0, 1, 1.65, 3, 4]),
        ([event(1.2), event(1.3)], [0, 1.3, 1.4, 3, 4]),
        ([event(0.2)], [0, 1, 2, 3, 4]),
        ([event(0.35)], [0, 0.45, 2, 3, 4]),
        ([event(3.6)], [0, 1, 2, 3, 4]),
        ([event(1.2, kind="mode")], [0, 1, 2, 3, 4]),
        ([event(1.9), event(1.95), event(2.0)], [0, 1, 2.0, 3, 4]),
        ([event(1.45), event(1.45)], [0, 1.55, 1.55, 3, 4]),
    ],
)
def test_instants_of_a_strip_go_to_just_after_events(events, expected):
    motion = motion_of(events=events)
    object.__setattr__(motion, "times", np.array([0.0, 4.0]))
    assert film.strip_times(motion, 5) == pytest.approx(expected)
    assert film.strip_times(motion, 1) == [0.0]


def test_captions_are_those_since_and_up_to_a_time():
    events = [event(1.0, "a"), event(2.0, "b"), event(3.0, "c")]
    found = captions(events, 2.0, since=1.0)
    assert [(e.name, age) for e, age in found] == [("b", 0.0)]
    assert [e.name for e, _ in captions(events, 2.0 - 0.9e-9, since=-9)] == ["a", "b"]
    assert [e.name for e, _ in captions(events, 2.0 - 2e-9, since=-9)] == ["a"]


# --- files ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "settings", "options", "size", "fps", "count"),
    [
        ("x.mp4", {}, {}, (1280, 720), 30.0, 60),
        ("x.mp4", {"size": [64, 48], "fps": 4, "speed": 0.5}, {}, (64, 48), 4.0, 16),
        ("x.mp4", {}, {"size": (90, 60), "fps": 2, "quality": 1}, (90, 60), 2.0, 4),
        ("x.GIF", {}, {}, (640, 360), 20.0, 40),
        ("x.gif", {}, {"size": (91, 61), "fps": 2}, (91, 61), 2.0, 4),
    ],
)
def test_a_film_has_a_picture_for_each_of_its_times(studio, tmp_path, name, settings, options, size, fps, count):
    seen = []
    motion = motion_of(settings)
    out = film.film(motion, tmp_path / name, progress=lambda *at: seen.append(at), **options)
    ((suffix, told_size, told_fps, colors, pictures),) = studio.encoded
    assert out == tmp_path / name and (suffix, told_size, told_fps) == (".mp4", size, fps)
    times = 0.5 + np.arange(count) * settings.get("speed", 1.0) / fps
    assert [int(p[0, 0, 0]) for p in pictures] == [round(10 * t + 1e-6) for t in times]
    assert seen == [(k, count) for k in range(1, count + 1)] and studio.stages[0][2] == options.get("quality", 2)
    if name.lower().endswith("gif"):
        chosen = [times[int(k * (count - 1) / (min(6, count) - 1))] for k in range(min(6, count))]
        assert colors == [round(10 * t + 1e-6) for t in chosen]
    else:
        assert colors is None
    film.film(motion_of(settings, end=0.0), tmp_path / name, **options)
    assert len(studio.encoded[-1][4]) == 1


@pytest.fixture
def dispatched(monkeypatch):
    """The functions that make each kind of file, which note what they are given."""
    made = []
    motion = motion_of({"trails": ["a"], "fps": 5})
    monkeypatch.setattr(
        Motion, "from_recording", lambda recording, contacts: made.append(("read", recording, contacts)) or motion
    )
    for name in ("strip", "picture", "film"):

        def note(motion, out, name=name, **more):
            made.append((name, motion.settings.get("trails"), out, more))
            return out

        monkeypatch.setattr(film, name, note)
    return made


@pytest.mark.parametrize(
    ("out", "options", "kind", "more"),
    [
        ("x.png", {}, "strip", {"frames": 8, "size": None, "camera": None, "progress": None}),
        (
            "x.PNG",
            {"frames": 3, "size": (9, 9), "camera": {"fov": 1}},
            "strip",
            {"frames": 3, "size": (9, 9), "camera": {"fov": 1}, "progress": None},
        ),
        ("x.png", {"time": 0.0, "size": (9, 9)}, "picture", {"time": 0.0, "size": (9, 9), "camera": None}),
        (
            "x.gif",
            {"fps": 2.5, "progress": print},
            "film",
            {"size": None, "fps": 2.5, "camera": None, "progress": print},
        ),
        ("x.mp4", {"camera": {"fov": 1}}, "film", {"size": None, "fps": None, "camera": {"fov": 1}, "progress": None}),
    ],
)
def test_the_suffix_says_what_is_made(dispatched, out, options, kind, more):
    assert film.render_recording("r.h5", out, **options) == Path(out)
    assert dispatched == [("read", "r.h5", False), (kind, ["a"], Path(out), more)]


def test_trails_are_added_to_those_of_the_recording(dispatched):
    film.render_recording("r.h5", "x.mp4", trails=("b", "a"), contacts=True)
    assert dispatched[0] == ("read", "r.h5", True) and dispatched[1][1] == ("a", "b")


@pytest.mark.parametrize(
    ("out", "options", "words"),
    [
        ("x.avi", {}, "x.avi: a picture ends in .png, a film in .mp4 or .gif"),
        ("x.mp4", {"time": 0.0}, "x.mp4: a film has neither one time nor a number of pictures; those are for .png"),
        ("x.gif", {"frames": 3}, "x.gif: a film has neither one time nor a number of pictures; those are for .png"),
    ],
)
def test_what_no_film_has_is_refused(dispatched, out, options, words):
    with pytest.raises(RenderError) as caught:
        film.render_recording("r.h5", out, **options)
    assert str(caught.value) == words


def test_a_picture_is_of_a_time_of_the_recording(studio):
    motion = motion_of()
    for time, shown in ((None, 5), (0.5, 5), (0.5 - 0.9e-9, 5), (2.5, 25), (2.5 + 0.9e-9, 25), (1.0, 10)):
        assert film.picture(motion, "x.png", time=time, size=(90, 60), camera={"distance": 3.0}) == Path("x.png")
        picture, path = studio.saved[-1]
        assert picture[30, 45, 0] == shown and path == Path("x.png") and studio.drawn[-1][1].distance == 3.0
    for time in (0.5 - 2e-9, 2.5 + 2e-9):
        with pytest.raises(RenderError, match=rf"time {time:g} s: the recording goes from 0.5 s to 2.5 s"):
            film.picture(motion, "x.png", time=time)
    assert film.render_drawing(motion, "y.PNG", size=(90, 60)) == Path("y.PNG") and studio.saved[-1][0][30, 45, 0] == 5
    with pytest.raises(
        RenderError, match=r"^y.gif: a scene that has not run is drawn as a picture, .png; run it to film it$"
    ):
        film.render_drawing(motion, "y.gif")


@pytest.mark.parametrize(
    ("settings", "options", "width", "cell", "title", "gap", "columns", "rows"),
    [
        ({}, {"frames": 6}, 1920, (636, 358), 67, 6, 3, 2),
        ({"size": [400, 400]}, {"frames": 2}, 1920, (957, 718), 67, 6, 2, 1),
        ({}, {"frames": 5, "size": (641, 400)}, 641, (212, 188), 22, 2, 3, 2),
        ({}, {}, 1920, (475, 267), 67, 6, 4, 2),
        ({}, {"frames": 1, "size": (320, 200)}, 320, (320, 189), 11, 2, 1, 1),
    ],
)
def test_cells_of_a_strip_stand_in_a_grid_below_the_title(
    studio, settings, options, width, cell, title, gap, columns, rows
):
    frames = options.get("frames", 8)
    seen = []
    motion = motion_of(settings)
    assert film.strip(motion, "x.png", progress=lambda *at: seen.append(at), **options) == Path("x.png")
    ((page, path),) = studio.saved
    assert path == Path("x.png") and studio.stages[0][0] == cell
    assert page.shape == (title + rows * cell[1] + (rows - 1) * gap, columns * cell[0] + (columns - 1) * gap, 3)
    expected = np.full(page.shape[:2], 255)
    for k, time in enumerate(np.linspace(0.5, 2.5, frames)):
        top, left = title + (k // columns) * (cell[1] + gap), (k % columns) * (cell[0] + gap)
        expected[top : top + cell[1], left : left + cell[0]] = round(10 * time)
    assert (page == expected[..., None]).all()
    assert seen == [(k, frames) for k in range(1, frames + 1)]
    text, place, size, style = studio.written[-1]
    assert text == ("mime   0.5 to 2.5 s" if frames > 1 else "mime") and style == {"color": (38, 43, 51)}
    assert place == pytest.approx((gap, 0.2 * title)) and size == round(0.5 * title)


@pytest.mark.parametrize(
    ("frames", "size", "words"),
    [
        (0, None, "0 pictures in a strip: expected 1 to 100"),
        (101, None, "101 pictures in a strip: expected 1 to 100"),
        (2, (128, 200), "size: 2 pictures do not fit into 128x200 pixels"),
        (2, (130, 52), "size: 2 pictures do not fit into 130x52 pixels"),
        (100, (800, 2000), "size: 100 pictures do not fit into 800x2000 pixels"),
    ],
)
def test_strips_that_do_not_fit_are_refused(studio, frames, size, words):
    with pytest.raises(RenderError) as caught:
        film.strip(motion_of(), "x.png", frames=frames, size=size)
    assert str(caught.value) == words
    for fits in ((130, 53), (130, 200)):
        film.strip(motion_of(), "x.png", frames=2, size=fits)
    film.strip(motion_of(), "x.png", frames=100, size=(930, 600))


def test_cells_tell_their_time_and_what_happened_since_the_last(studio):
    events = [event(0.5, "first"), event(0.6, "two"), event(0.7, "three"), event(2.5, "last")]
    film.strip(motion_of(events=events), "x.png", frames=2, size=(900, 300))
    texts = [entry[0] for entry in studio.written]
    assert texts == ["0.50 s", "first", "2.50 s", "last", "three", "two", "mime   0.5 to 2.5 s"]


def test_a_cell_has_its_words_at_the_foot(studio):
    events = [event(0.6 + 0.1 * k, f"event {k}") for k in range(6)]
    shot = film.Shot.of(motion_of(events=events), (400, 270))
    cell = film._cell(shot, 1.25, previous=0.65)
    assert (cell == 13).all() and cell.shape == (270, 400, 3)
    first, *told = studio.written
    assert first == ("1.25 s", (7, 7), 15, {"color": (38, 43, 51), "bold": True})
    assert [entry[0] for entry in told] == ["event 5", "event 4", "event 3", "event 2"]
    for above, (_, place, size, style) in enumerate(told):
        assert place == pytest.approx((200.0, 270 - 7 - (above + 1) * 26.25)) and size == 15
        assert style == {"bold": True, "middle": True, "panel": True}
    studio.written.clear()
    film._cell(replace(shot, captioned=False), 1.25, previous=0.65)
    assert len(studio.written) == 1
    small = film.Shot.of(motion_of(events=[event(0.6, "x" * 200)]), (100, 60))
    studio.written.clear()
    film._cell(small, 1.0, previous=-np.inf)
    assert studio.written[0][1:3] == ((5, 5), 11)
    assert studio.written[1][0] == labels.shorten("x" * 200, 11, 90.0, bold=True)


# --- words in pictures ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("age", "strength"),
    [
        (-0.1, 0.0),
        (0.0, 0.34),
        (0.1, 0.74),
        (0.165, 1.0),
        (1.0, 1.0),
        (2.25, 1.0),
        (2.3, 0.8),
        (2.4, 0.4),
        (2.5, 0.0),
        (3.0, 0.0),
    ],
)
def test_captions_come_and_go(age, strength):
    assert labels.opacity(age) == pytest.approx(strength)


@pytest.mark.parametrize(("height", "size"), [(90, 11), (330, 11), (346, 12), (720, 24), (1080, 36)])
def test_words_grow_with_the_picture(height, size):
    assert labels.text_size(height) == size


def test_words_are_cut_to_a_width():
    face = labels.font(20)
    text = "a very long caption indeed"
    whole = face.getlength(text)
    assert labels.shorten(text, 20, whole) == text
    cut = labels.shorten(text, 20, whole - 0.5)
    assert cut.endswith("…") and text.startswith(cut[:-1].rstrip()) and face.getlength(cut) <= whole - 0.5
    assert labels.shorten("ab cd", 20, face.getlength("ab …")) == "ab…"
    assert labels.shorten(text, 20, 0) == "…"
    assert len(labels.shorten(text, 20, 150, bold=True)) < len(labels.shorten(text, 20, 150))


def covered(text: str, size: int, bold: bool = False) -> np.ndarray:
    face = labels.font(size, bold)
    image = Image.new("L", (round(face.getlength(text)) + 2, sum(face.getmetrics())))
    ImageDraw.Draw(image).text((1, 0), text, fill=255, font=face)
    return np.asarray(image, float) / 255


def painted(picture, mask, left, top, color, strength):
    """Paint through a mask, pixel by pixel."""
    for y in range(mask.shape[0]):
        for x in range(mask.shape[1]):
            if 0 <= top + y < picture.shape[0] and 0 <= left + x < picture.shape[1]:
                part = picture[top + y, left + x]
                picture[top + y, left + x] = np.floor(part + strength * mask[y, x] * (np.array(color) - part) + 0.5)


@pytest.mark.parametrize("place", [(10.7, 5.9), (-6.2, -3.5), (60.0, 30.0), (300.0, 5.0)])
@pytest.mark.parametrize(
    "style",
    [
        {},
        {"color": (200, 30, 60), "opacity": 0.5},
        {"middle": True, "bold": True},
        {"panel": True},
        {"panel": True, "middle": True, "opacity": 0.3},
    ],
)
def test_words_are_painted_over_the_picture(place, style):
    picture = np.random.default_rng(2).integers(0, 255, (40, 80, 3)).astype(np.uint8)
    expected = picture.astype(float)
    labels.write(picture, "let go", place, 13, **style)
    mask = covered("let go", 13, style.get("bold", False))
    left = int(place[0] - 0.5 * mask.shape[1]) if style.get("middle") else int(place[0])
    top, strength = int(place[1]), style.get("opacity", 1.0)
    if style.get("panel"):
        height, width = mask.shape[0] + 6, mask.shape[1] + 12
        image = Image.new("L", (4 * width, 4 * height))
        ImageDraw.Draw(image).rounded_rectangle((0, 0, 4 * width - 1, 4 * height - 1), height, fill=255)
        panel = np.asarray(image.resize((width, height), Image.Resampling.BOX), float) / 255
        painted(expected, panel, left - 6, top - 3, (255, 255, 255), 0.82 * strength)
    painted(expected, mask, left, top, style.get("color", (38, 43, 51)), strength)
    assert np.abs(picture - expected).max() <= 1


def test_every_word_of_a_picture_has_its_place(studio):
    """At the edge, three quarters of a letter's height away; captions at the foot, the latest lowest."""
    picture = np.zeros((720, 1280, 3), np.uint8)
    shown = [(event(0, f"e{k}"), 0.25 * k) for k in range(5)]
    labels.annotate(picture, 1.25, "mime", shown, "squares 1 m")
    name, time, scale, *told = studio.written
    assert name == ("mime", (18, 18), 24, {"color": (104, 112, 122), "panel": True})
    assert time == ("1.25 s", (1280 - 18 - labels.font(24).getlength("000000"), 18), 24, {"panel": True})
    assert scale[0] == "squares 1 m" and scale[2:] == (17, {"color": (104, 112, 122)})
    assert scale[1] == pytest.approx((1280 - 18 - labels.font(17).getlength("squares 1 m"), 720 - 18 - 20.4))
    assert [entry[0] for entry in told] == ["e4", "e3", "e2"]
    for above, (_, place, size, style) in enumerate(told):
        assert size == 30 and place == (640.0, 720 - 18 - (above + 1) * 57 + 13)
        assert style == {"bold": True, "middle": True, "panel": True, "opacity": 1.0 - 0.25 * above}
    studio.written.clear()
    labels.annotate(picture, None, "", [], "")
    assert studio.written == []
    labels.annotate(np.zeros((90, 160, 3), np.uint8), None, "x" * 90, [(event(0, "y" * 90), 1.0)], "squares")
    name, scale, caption = studio.written
    assert name[0] == labels.shorten("x" * 90, 11, 96.0) and scale[2] == 10
    assert caption[0] == labels.shorten("y" * 90, 14, 144.0, bold=True)


def test_fonts_are_those_of_matplotlib():
    assert labels.font(20).getname() == ("DejaVu Sans", "Book") and labels.font(20, True).getname() == (
        "DejaVu Sans",
        "Bold",
    )
    assert labels.font(20).size == 20


def test_masks_are_of_one_height_and_have_a_pixel_at_least():
    assert labels._mask("", 12, False).shape[1] == 3 and labels._mask("", 12, False).max() == 0
    assert (
        labels._mask("g", 12, False).shape[0]
        == labels._mask("É", 12, False).shape[0]
        == sum(labels.font(12).getmetrics())
    )
